<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\WordPress\Tests;

use PHPUnit\Framework\Attributes\Depends;

require_once __DIR__ . '/SiteTestCase.php';

/** Tests the page that frees blocked clients, on a site and on a network of sites. */
final class AdminTest extends SiteTestCase
{
    public function testAnAdministratorFreesABlockedClient(): void
    {
        self::$site->addUser('blocked');
        self::$site->addUser('subscriber');
        $this->freesTheBlockedClient('/wp-admin/tools.php?page=tokenbucket', '192.0.2.1');
    }

    public function testThePageEscapesWhatItShows(): void
    {
        self::$site->run('return update_site_option("tokenbucket_blocks", ["<i>" => ["limit" => "<u>", "account" => "", "network" => "<img src=x onerror=alert(1)>", "until" => time() + 900]]);');
        [$page] = self::$site->send([['path' => '/wp-admin/tools.php?page=tokenbucket', 'cookie' => self::$site->logIn('owner', '192.0.2.90')]]);
        self::assertStringContainsString('<td>&lt;u&gt;</td><td></td><td>&lt;img src=x onerror=alert(1)&gt;</td>', $page['body']);
        self::assertStringContainsString('name="id" value="&lt;i&gt;"', $page['body']);
        self::assertStringNotContainsString('<img src=x', $page['body']);
        self::$site->run('return delete_site_option("tokenbucket_blocks");');
    }

    public function testTheSearchFindsABlockThatIsNotListed(): void
    {
        self::$site->addUser('unlisted', 'unlisted@example.org');
        self::$site->send(self::requests(8, fn (int $i) => Site::form('unlisted', "wrong $i", '192.0.2.8')));
        $cookie = self::$site->logIn('owner', '192.0.2.90');
        $search = fn (string $query) => self::$site->send([['path' => "/wp-admin/tools.php?page=tokenbucket&$query", 'cookie' => $cookie]])[0]['body'];
        foreach (['user=unlisted@example.org&address=192.0.2.8' => true, 'user=unlisted&address=192.0.2.9' => false, 'user=%3Ci%3E&address=%3Cu%3E' => false, 'user[]=&address[]=' => false] as $query => $isFound) {
            self::$site->run('return delete_site_option("tokenbucket_blocks");');
            $page = $search($query);
            self::assertSame($isFound, str_contains($page, '<td>unlisted</td><td>192.0.2.8</td>'), $query);
            self::assertStringNotContainsString('<u>', $page);
        }
        self::assertStringContainsString('Also enter the IP address', $search('user=unlisted'));
    }

    #[Depends('testAnAdministratorFreesABlockedClient')]
    public function testTheLimitsOfANetworkAreThoseOfAllItsSites(): void
    {
        self::$site->makeNetwork();
        self::$site->run('update_site_option("registration", "user"); return wpmu_create_blog("localhost", "/second/", "Second", 1);');
        self::$site->run('grant_super_admin(1); return 1;');
        self::$site->count();
        $guess = fn (int $i) => ['path' => $i % 2 ? '/second/wp-login.php' : '/wp-login.php'] + Site::form('blocked', "wrong $i", '192.0.2.3');
        self::assertAnswers([200 => 5, 429 => 5], 5, self::requests(10, $guess));
        $page = self::$site->send([['path' => '/second/wp-admin/tools.php?page=tokenbucket', 'cookie' => self::$site->logIn('owner', '192.0.2.90')]])[0];
        self::assertSame(403, $page['status']);
        // An administrator of one site is not allowed to free clients of all sites.
        self::$site->run('return add_user_to_blog(1, get_user_by("login", "subscriber")->ID, "administrator");');
        $this->freesTheBlockedClient('/wp-admin/network/settings.php?page=tokenbucket', '192.0.2.4');
        [$page] = self::$site->send([['path' => '/wp-signup.php']]);
        preg_match("~name='signup_form_id' value='(\d+)'.*name=\"_signup_form\" value=\"(\w+)\"~s", $page['body'], $nonce);
        $signUp = fn (string $name, array $lines = []) => ['path' => '/wp-signup.php', 'body' => http_build_query(['stage' => 'validate-user-signup', 'user_name' => $name, 'user_email' => "$name@example.com", 'signup_for' => 'user', 'signup_form_id' => $nonce[1], '_signup_form' => $nonce[2]]), 'address' => '192.0.2.5', 'lines' => $lines];
        self::$site->send(self::requests(8, fn (int $i) => $signUp("plain$i", self::PLAIN)));
        $responses = self::$site->send(self::requests(8, fn (int $i) => $signUp("member$i")));
        self::assertSame(3, self::statuses($responses)[429]);
        self::assertSame(8 + 5, (int) self::$site->run('return $GLOBALS["wpdb"]->get_var("SELECT COUNT(*) FROM {$GLOBALS["wpdb"]->signups}");'));
    }

    private function freesTheBlockedClient(string $path, string $address): void
    {
        self::assertAnswers([200 => 5, 429 => 3], 5, self::requests(8, fn (int $i) => Site::form('blocked', "wrong $i", $address)));
        $cookie = self::$site->logIn('owner', '192.0.2.90');
        $show = fn (string $cookie) => self::$site->send([['path' => $path, 'cookie' => $cookie]])[0];
        $page = $show($cookie);
        self::assertSame(200, $page['status']);
        preg_match_all('~<tr><td>([\w ]+)</td><td>(\w*)</td><td>([\w.:/]*)</td>.*?name="_wpnonce" value="(\w+)".*?name="id" value="(\w+)"~s', $page['body'], $rows, PREG_SET_ORDER);
        $row = array_values(array_filter($rows, fn (array $row) => $row[3] === $address))[0];
        self::assertSame(['Wrong passwords for this account from this network', 'blocked', $address], array_slice($row, 1, 3));

        $free = fn (string $cookie, string $nonce) => ['path' => '/wp-admin/admin-post.php', 'cookie' => $cookie, 'body' => http_build_query(['action' => 'tokenbucket_free', 'id' => $row[5], '_wpnonce' => $nonce])];
        $other = self::$site->logIn('subscriber', '192.0.2.91');
        self::assertNotSame(200, $show($other)['status']);
        self::assertSame([403, 403], array_column(self::$site->send([$free($cookie, 'wrong'), $free($other, $row[4])]), 'status'));
        self::assertAnswers([429 => 1], 0, [Site::form('blocked', 'right password', $address)]);
        self::assertStringContainsString("aria-label=\"End the block: $row[1] blocked $address\"", $page['body']);
        [$freed] = self::$site->send([$free($cookie, $row[4])]);
        self::assertSame(302, $freed['status']);
        self::assertMatchesRegularExpression('/^Location: .*ended=1/mi', $freed['head']);
        self::assertStringContainsString('The block has ended.', self::$site->send([['path' => "$path&ended=1", 'cookie' => $cookie]])[0]['body']);
        self::assertStringNotContainsString(">$address<", $show($cookie)['body']);
        self::assertAnswers([302 => 1], 1, [Site::form('blocked', 'right password', $address)]);
    }
}
