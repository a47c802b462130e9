<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\WordPress\Tests;

require_once __DIR__ . '/SiteTestCase.php';

/** Tests lost passwords, comments and registrations, with the plugin and without it. */
final class FormsTest extends SiteTestCase
{
    public function testAnAccountGetsThreeMailsForALostPassword(): void
    {
        self::$site->addUser('lost');
        $request = fn (string $name, array $lines = [], string $address = '192.0.2.1') => ['path' => '/wp-login.php?action=lostpassword', 'body' => http_build_query(['user_login' => $name]), 'address' => $address, 'lines' => $lines];
        self::$site->count('mails');
        self::assertSame([302 => 8], self::statuses(self::$site->send(self::requests(8, fn () => $request('lost', self::PLAIN)))));
        self::assertSame(8, self::$site->count('mails'), 'without the plugin');
        self::assertSame([302 => 3, 429 => 5], self::statuses(self::$site->send(self::requests(8, fn (int $i) => $request(['lost', 'lost@example.com'][$i % 2], [], "10.0.0.$i")))));
        self::assertSame(3, self::$site->count('mails'));
        // The answer is the same for an unknown account, and a network may ask five times.
        $unknown = self::$site->send(self::requests(6, fn () => $request('nobody', [], '192.0.2.2')));
        self::assertSame([200 => 3, 429 => 3], self::statuses($unknown));
        foreach ($unknown as $response) {
            self::assertSame($response['status'] === 200, str_contains($response['body'], 'no account'));
        }
        self::assertSame([200 => 2, 429 => 4], self::statuses(self::$site->send(self::requests(6, fn (int $i) => $request("nobody$i", [], '192.0.2.2')))));
    }

    public function testANetworkMaySendTenCommentsByFormAndRestApi(): void
    {
        $form = fn (int $i, array $lines = []) => ['path' => '/wp-comments-post.php', 'body' => http_build_query(['comment' => "form $i", 'author' => 'A', 'email' => "form$i@example.com", 'comment_post_ID' => 1]), 'address' => '192.0.2.3', 'lines' => $lines];
        $rest = fn (int $i, array $lines = []) => ['path' => '/index.php?rest_route=/wp/v2/comments', 'body' => http_build_query(['content' => "rest $i", 'author_name' => 'A', 'author_email' => "rest$i@example.com", 'post' => 1]), 'address' => '192.0.2.3', 'lines' => $lines];
        $comments = fn () => (int) self::$site->run('return get_comments(["count" => true, "status" => "all"]);');
        $before = $comments();
        self::$site->send(self::requests(12, fn (int $i) => $form($i, self::PLAIN)));
        self::$site->send(self::requests(12, fn (int $i) => $rest($i, self::PLAIN)));
        self::assertSame($before + 24, $comments(), 'without the plugin');
        $responses = self::$site->send(self::requests(24, fn (int $i) => $i % 2 ? $form($i + 100) : $rest($i + 100)));
        self::assertSame($before + 34, $comments());
        self::assertSame(14, self::statuses($responses)[429]);
        [$denied] = self::$site->send([$rest(200)]);
        self::assertSame('comment_flood', json_decode($denied['body'], true)['code']);
        self::assertMatchesRegularExpression('/^Retry-After: [1-9]\d*\r?$/mi', $denied['head']);
    }

    public function testCommentsByXmlRpcAndTrackbacksCountToo(): void
    {
        self::$site->addUser('commenter');
        $comments = fn () => (int) self::$site->run('return get_comments(["count" => true, "status" => "all"]);');
        $before = $comments();
        $responses = [];
        for ($i = 0; $i < 7; $i++) {
            array_push($responses, ...self::$site->send([
                Site::xmlRpcComment('commenter', "XML-RPC $i", '192.0.2.6'),
                ['path' => '/wp-trackback.php?tb_id=1&p=1', 'body' => http_build_query(['url' => "http://192.0.2.6/$i", 'title' => "T$i", 'excerpt' => "E$i", 'blog_name' => 'B']), 'address' => '192.0.2.6'],
            ]));
        }
        self::assertSame($before + 10, $comments());
        self::assertSame([200 => 10, 429 => 4], self::statuses($responses));
    }

    public function testANetworkMayRegisterFiveTimes(): void
    {
        self::$site->run('return update_option("users_can_register", 1);');
        $request = fn (string $name, array $lines = []) => ['path' => '/wp-login.php?action=register', 'body' => http_build_query(['user_login' => $name, 'user_email' => "$name@example.com"]), 'address' => '192.0.2.4', 'lines' => $lines];
        self::assertSame([302 => 8], self::statuses(self::$site->send(self::requests(8, fn (int $i) => $request("plain$i", self::PLAIN)))), 'without the plugin');
        self::assertSame([302 => 5, 429 => 3], self::statuses(self::$site->send(self::requests(8, fn (int $i) => $request("new$i")))));
        self::assertSame(5, self::$site->run('return count(get_users(["search" => "new*"]));'));
    }
}
