<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\WordPress\Tests;

use Chromium;

require_once __DIR__ . '/../../../tools/testkit/php/chromium.php';
require_once __DIR__ . '/SiteTestCase.php';

/** Frees a blocked client in Chromium. With SCREENSHOT=1, it makes docs/images/wordpress.png. */
final class BrowserTest extends SiteTestCase
{
    public static function setUpBeforeClass(): void
    {
        // With the default limits, blocks may end before a busy machine shows them.
        self::$site = new Site(getenv('SCREENSHOT') ? "define('DEFAULT_LIMITS', true);" : '');
    }

    public function testAnAdministratorFreesABlockedClient(): void
    {
        if (!Chromium::is_installed()) {
            self::markTestSkipped('Chromium is missing: run scripts/setup chromium');
        }
        self::$site->addUser('alice');
        self::$site->send(self::requests(7, fn () => Site::form('alice', 'wrong', '198.51.100.7')));
        self::$site->send(self::requests(7, fn () => Site::form('admin', 'wrong', '2001:db8:1:2::3')));
        self::$site->send(self::requests(25, fn (int $i) => Site::form('alice', 'wrong', "192.0.2.$i")));
        self::$site->send(self::requests(25, fn (int $i) => Site::form("name$i", 'wrong', '203.0.113.5')));
        $url = 'http://127.0.0.1:' . self::$site->nginx->port;
        $browser = new Chromium();
        $browser->show_as(980, 'light');
        $browser->open("$url/wp-login.php");
        $browser->run('document.querySelector("#user_login").value = "owner"; document.querySelector("#user_pass").value = "right password"; document.querySelector("#loginform").submit();');
        $browser->wait_for('document.querySelector("#wpadminbar")');
        $browser->open("$url/wp-admin/tools.php?page=tokenbucket");
        $browser->wait_for('document.querySelectorAll("tbody form").length === 4');
        if (getenv('SCREENSHOT')) {
            file_put_contents(dirname(__DIR__, 3) . '/docs/images/wordpress.png', $browser->screenshot(980, 480));
        }
        $browser->run('document.querySelector("tbody button").click();');
        $browser->wait_for('document.querySelectorAll("tbody form").length === 3');
        $browser->kill();
        self::assertAnswers([200 => 1], 0, [Site::form('nobody', 'wrong', '203.0.113.5')]);
    }
}
