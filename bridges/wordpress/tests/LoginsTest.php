<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\WordPress\Tests;

use RedisServer;

require_once __DIR__ . '/../../../tools/testkit/php/servers.php';
require_once __DIR__ . '/SiteTestCase.php';

/** Tests which guesses are verified, and which clients are denied. */
final class LoginsTest extends SiteTestCase
{
    protected const SETTINGS = <<<'PHP'
        define('TOKENBUCKET_EXEMPT', $_SERVER['HTTP_X_EXEMPT'] ?? ['203.0.113.9', '2001:db8:9::1', '2001:db8:8::/64']);
        if (isset($_SERVER['HTTP_X_STORAGE'])) {
            define('TOKENBUCKET_STORAGE', $_SERVER['HTTP_X_STORAGE']);
            define('TOKENBUCKET_TIMEOUT', 20);
        }
        // As behind a CDN.
        $_SERVER['REMOTE_ADDR'] = $_SERVER['HTTP_X_CDN'] ?? $_SERVER['REMOTE_ADDR'];
        PHP;

    public function testAFloodFromOneAddressIsVerifiedFiveTimes(): void
    {
        self::$site->addUser('single');
        foreach (['192.0.2.1' => Site::form(...), '192.0.2.2' => Site::xmlRpc(...)] as $address => $request) {
            self::assertAnswers([200 => 5, 429 => 7], 5, self::requests(12, fn (int $i) => $request(['single', 'SINGLE', 'single@example.com'][$i % 3], "wrong $i", $address)));
            [$right] = self::assertAnswers([429 => 1], 0, [$request('single', 'right password', $address)]);
            self::assertMatchesRegularExpression('/^Retry-After: [1-9]\d*\r?$/mi', $right['head']);
            self::assertMatchesRegularExpression('/^Cache-Control: .*no-cache/mi', $right['head']);
            self::assertStringContainsString('Too many attempts', $right['body']);
        }
        self::assertAnswers([302 => 1], 1, [Site::form('single', 'right password', '198.51.100.7')]);
    }

    public function testAFloodOfApplicationPasswordsIsVerifiedAsOftenAsTheLockoutAllows(): void
    {
        $password = self::$site->addApplicationPassword(self::$site->addUser('app'));
        // Requests with the right password are not limited, even if they are sent at the same time.
        self::assertAnswers([200 => 24], 24, self::requests(24, fn () => Site::rest('app', $password, '192.0.2.4')));
        self::assertAnswers([401 => 10, 429 => 10], 10, self::requests(20, fn (int $i) => Site::rest('app', "wrong $i", '192.0.2.4')));
        [$right] = self::assertAnswers([429 => 1], 0, [Site::rest('app', $password, '192.0.2.4')]);
        self::assertMatchesRegularExpression('/^Retry-After: [1-9]\d*\r?$/mi', $right['head']);
        self::assertSame('too_many_attempts', json_decode($right['body'], true)['code']);
        self::assertAnswers([200 => 1], 1, [Site::rest('app', $password, '198.51.100.8')]);
        // Other requests of this address are answered.
        self::assertAnswers([200 => 1], 0, [['path' => '/index.php?rest_route=/wp/v2/posts', 'address' => '192.0.2.4']]);
    }

    public function testANetworkMayFailTwentyTimesWithAnyAccounts(): void
    {
        foreach (range(0, 4) as $i) {
            self::$site->addUser("neighbour$i");
        }
        // Five attempts of an account may be in flight.
        $right = fn (int $i) => Site::form('neighbour' . $i % 5, 'right password', '2001:db8::1');
        self::assertAnswers([302 => 25], 25, self::requests(25, $right));
        self::assertAnswers([200 => 20, 429 => 10], 0, self::requests(30, fn (int $i) => Site::form("nobody$i", 'wrong', "2001:db8::$i")));
        self::assertAnswers([429 => 1], 0, [$right(0)]);
    }

    public function testAnUnknownAccountIsLimitedAsAKnownOne(): void
    {
        self::$site->addUser('known');
        foreach (['known' => '192.0.2.11', 'other' => '192.0.2.12'] as $name => $address) {
            $guess = Site::form($name, 'wrong', $address);
            self::assertAnswers([200 => 5, 429 => 2], $name === 'known' ? 5 : 0, self::requests(7, fn () => $guess));
            $answer = self::$site->send([$guess])[0];
            // Removes the name, the date, and numbers such as the time until the block ends.
            $answers[] = preg_replace('/\b' . $name . '\b|^Date:.*$|\d+/m', '', $answer['head'] . $answer['body']);
        }
        self::assertSame($answers[0], $answers[1]);
    }

    public function testFieldsOfTheRequestDoNotChangeTheNetwork(): void
    {
        self::$site->addUser('fields');
        $fields = fn (int $i) => array_map(fn (string $name) => "$name: 10.0.0.$i", ['Client-IP', 'X-Real-IP', 'X-Client-IP', 'X-Cluster-Client-IP', 'CF-Connecting-IP', 'True-Client-IP', 'X-Forwarded']) + [7 => "Forwarded: for=10.0.0.$i"];
        self::assertAnswers([200 => 5, 429 => 5], 5, self::requests(10, fn (int $i) => Site::form('fields', "wrong $i", '192.0.2.16', $fields($i))));
    }

    public function testNamesThatTheDatabaseFindsEqualAreOneUnknownAccount(): void
    {
        $accounts = self::$site->run('return array_map(TokenBucket\Bridge\WordPress\Limits::unknown(...), ["nobody", " NOBODY", "nöbodÿ", "NÖBODY", "somebody"]);');
        self::assertSame([$accounts[0], $accounts[4]], array_values(array_unique($accounts)));
    }

    public function testAnInvalidAddressIsShortAndPrintable(): void
    {
        $networks = self::$site->run('return array_map(TokenBucket\Bridge\WordPress\Limits::networkOf(...), ["192.0.2.1", "192.0.2.1, 192.0.2.2", "\e[2J\xff\n", str_repeat("a", 9000)]);');
        self::assertSame(['192.0.2.1', '192.0.2.1,?192.0.2.2', '?[2J??', str_repeat('a', 64)], $networks);
    }

    public function testAUserNameThatIsTheEmailAddressOfAnotherAccountGivesNoGuesses(): void
    {
        self::$site->addUser('target', 'target@example.com');
        self::$site->addUser('target@example.com', 'attacker@example.com');
        $guess = fn (int $i) => Site::form($i % 3 === 2 ? 'attacker@example.com' : 'target@example.com', $i % 3 === 2 ? 'right password' : "wrong $i", '192.0.2.13');
        foreach (self::requests(12, $guess) as $request) {
            self::$site->send([$request]);
        }
        self::assertAnswers([429 => 1], 0, [Site::form('target', 'right password', '192.0.2.13')]);
    }

    public function testTheConstantOfWpConfigExemptsAClient(): void
    {
        self::$site->addUser('exempt');
        foreach (['203.0.113.9', '2001:db8:9::2', '2001:db8:8::3'] as $address) {
            self::assertAnswers([200 => 8], 8, self::requests(8, fn (int $i) => Site::form('exempt', "wrong $i", $address)));
        }
    }

    public function testAnAddressThatWpConfigRestoresIsTheNetwork(): void
    {
        $user = fn (int $i, string $password) => Site::form("behind$i", $password, '192.0.2.17', ["X-CDN: 198.51.100.$i"]);
        self::assertAnswers([200 => 26], 0, self::requests(26, fn (int $i) => $user($i, 'wrong')));
        self::assertAnswers([200 => 4, 429 => 4], 0, self::requests(8, fn () => $user(0, 'wrong')));
    }

    public function testANewPasswordEndsTheLockoutOfItsAccount(): void
    {
        $id = self::$site->addUser('forgetful');
        self::assertAnswers([200 => 5, 429 => 3], 5, self::requests(8, fn (int $i) => Site::form('forgetful', "wrong $i", '192.0.2.18')));
        // A flood from other networks.
        self::$site->send(self::requests(20, fn (int $i) => Site::form('forgetful', 'wrong', "198.51.$i.1")));
        self::assertAnswers([429 => 1], 0, [Site::form('forgetful', 'right password', '192.0.2.19')]);
        $set = function (string $address) use ($id): void {
            $key = self::$site->run("return get_password_reset_key(get_userdata($id));");
            [$link] = self::$site->send([['path' => "/wp-login.php?action=rp&key=$key&login=forgetful", 'address' => $address]]);
            preg_match('/^Set-Cookie: (wp-resetpass-[^=]+=[^;]+)/mi', $link['head'], $cookie);
            $passwords = ['pass1' => 'right password', 'pass2' => 'right password', 'rp_key' => $key, 'pw_weak' => 'on'];
            [$page] = self::$site->send([['path' => '/wp-login.php?action=resetpass', 'cookie' => $cookie[1], 'body' => http_build_query($passwords), 'address' => $address]]);
            self::assertStringContainsString('has been reset', $page['body']);
        };
        $set('192.0.2.18');
        self::assertAnswers([302 => 1], 1, [Site::form('forgetful', 'right password', '192.0.2.18')]);
        // A form of WooCommerce.
        self::$site->send(self::requests(8, fn (int $i) => Site::form('forgetful', "wrong $i", '192.0.2.18')));
        self::assertAnswers([429 => 1], 0, [Site::form('forgetful', 'right password', '192.0.2.18')]);
        self::$site->send([['path' => '/run.php', 'body' => "do_action('password_reset', get_userdata($id), 'right password'); wp_set_password('right password', $id);", 'address' => '192.0.2.18']]);
        self::assertAnswers([302 => 1], 1, [Site::form('forgetful', 'right password', '192.0.2.18')]);
        // The flood goes on.
        self::$site->send(self::requests(30, fn (int $i) => Site::form('forgetful', 'wrong', "198.51.$i.2")));
        self::assertAnswers([429 => 1], 0, [Site::form('forgetful', 'right password', '192.0.2.19')]);
        self::assertAnswers([302 => 1], 1, [Site::form('forgetful', 'right password', '192.0.2.18')]);
    }

    public function testTwoSitesOnOneRedisShareNoLimits(): void
    {
        $redis = RedisServer::start();
        chmod($redis->socket, 0777);
        $other = new Site(self::SETTINGS);
        try {
            foreach ([self::$site, $other] as $site) {
                $site->addUser('shared');
                $guess = fn (int $i) => Site::form('shared', "wrong $i", '192.0.2.20', ["X-Storage: unix://$redis->socket"]);
                self::assertSame([200 => 5, 429 => 5], self::statuses($site->send(self::requests(10, $guess))));
            }
            $client = new \Redis();
            $client->connect($redis->socket);
            self::assertGreaterThan(0, $client->dbSize());
        } finally {
            $other->stop();
            $redis->kill();
        }
    }

    public function testAnInvalidConstantIsNamed(): void
    {
        foreach ([
            'X-Exempt: 203.0.113.0/24' => 'TOKENBUCKET_EXEMPT in wp-config.php: 203.0.113.0/24 is not an address',
            'X-Exempt: 1' => 'TOKENBUCKET_EXEMPT in wp-config.php: 1 is not an address',
            'X-Exempt: owner.example' => 'TOKENBUCKET_EXEMPT in wp-config.php: owner.example is not an address',
            'X-Storage: redis://:port' => 'TOKENBUCKET_STORAGE in wp-config.php: ',
        ] as $line => $message) {
            [$page] = self::assertAnswers([500 => 1], 0, [Site::form('exempt', 'wrong', '192.0.2.15', [$line])]);
            self::assertStringContainsString($message, $page['body']);
        }
    }
}
