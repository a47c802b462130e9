<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\WordPress\Tests;

use Flood;
use PHPUnit\Framework\Attributes\Group;

require_once __DIR__ . '/../../../tools/testkit/php/flood.php';
require_once __DIR__ . '/GuardedServer.php';
require_once __DIR__ . '/SiteTestCase.php';

/** Floods a site of 500 posts, without the plugin, beside people who have logged in. */
#[Group('crawlers')]
final class CrawlersTest extends SiteTestCase
{
    protected const SETTINGS = 'const WITHOUT_PLUGIN = true;';
    private const THEME = ['style.css' => '/* Theme Name: Plain */', 'index.php' => '<?php wp_head(); while (have_posts()) { the_post(); the_title(); the_content(); } wp_footer();'];

    public function testStrangersGetTheLimitAndPeopleTheirPages(): void
    {
        $site = self::$site->folder . '/site';
        mkdir("$site/wp-content/themes/plain", 0777, true);
        array_map(fn (string $name, string $text) => file_put_contents("$site/wp-content/themes/plain/$name", $text), array_keys(self::THEME), self::THEME);
        $posts = self::$site->run('switch_theme("plain"); return array_map(fn ($i) => get_permalink(wp_insert_post(["post_title" => "Post $i", "post_content" => str_repeat("word ", 500), "post_status" => "publish"])), range(1, 500));');
        $people = array_map(fn (int $person) => "person$person", range(1, Flood::PEOPLE));
        array_map(self::$site->addUser(...), $people);
        $cookies = array_map(fn (string $name) => self::$site->logIn($name, '198.51.100.1', 'localhost'), $people);
        $flood = new Flood('wordpress_logged_in_*', fn (int $page) => parse_url($posts[$page], PHP_URL_PATH), $cookies, 'id="wpadminbar"', self::$site->folder . '/counters/strangers');
        file_put_contents("$site/wp-content/mu-plugins/strangers.php", "<?php $flood->recording");
        file_put_contents("$site/status.php", Flood::STATUS);
        $this->expectOutputString('');
        foreach ([GuardedServer::NGINX, 'Apache and php-fpm'] as $name) {
            foreach (['observe', 'enforce'] as $mode) {
                $server = new GuardedServer(self::$site, $name, $flood->settings($mode));
                $flood->check("WordPress, $name", self::$site->port, $mode);
                $server->stop();
            }
        }
    }

    protected function tearDown(): void
    {
        $errors = preg_replace('~^.* exceeds "unless cookie .*" and would be denied in the mode "enforce"\n~m', '', self::$site->errors(), count: $observed);
        self::assertSame(['', true], [$errors, $observed > 0]);
    }
}
