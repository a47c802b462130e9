<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\WordPress\Tests;

require_once __DIR__ . '/SiteTestCase.php';

/** Tests limits of logins together with other plugins that take part in logins. */
final class OtherPluginsTest extends SiteTestCase
{
    /** Verifies the password, prints a form for a code and exits. Another page gets the code. */
    private const SECOND_FACTOR = <<<'PHP'
        add_filter('authenticate', function ($user, $name, $password) {
            $found = $name === 'factor' ? get_user_by('login', $name) : false;
            if ($found && wp_check_password($password, $found->user_pass, $found->ID)) {
                exit('Your code');
            }
            return $user;
        }, 50, 3);
        add_action('login_init', function () {
            if (($_GET['who'] ?? '') === 'factor' && $_GET['code'] === '7') {
                $user = get_user_by('login', $_GET['who']);
                wp_set_auth_cookie($user->ID);
                do_action('wp_login', $user->user_login, $user);
                wp_safe_redirect(admin_url());
                exit;
            }
        });
        PHP;

    private static string $plugins;

    public static function setUpBeforeClass(): void
    {
        parent::setUpBeforeClass();
        self::$plugins = self::$site->folder . '/site/wp-content/mu-plugins';
    }

    public function testAPasswordThatAnotherPluginVerifiesBeforeCoreIsLimited(): void
    {
        self::addPlugin('early', <<<'PHP'
            add_filter('authenticate', fn ($user, $name, $password) => $name === 'early' && $password === 'key' ? get_user_by('login', 'early') : $user, -1, 3);
            PHP);
        self::$site->addUser('early');
        self::assertAnswers([302 => 1], 0, [Site::form('early', 'key', '192.0.2.1')]);
        self::assertAnswers([200 => 5, 429 => 2], 5, self::requests(7, fn (int $i) => Site::form('early', "wrong $i", '192.0.2.1')));
        self::assertAnswers([429 => 1], 0, [Site::form('early', 'key', '192.0.2.1')]);
    }

    public function testACallInsideACallGivesNoGuesses(): void
    {
        self::addPlugin('inside', <<<'PHP'
            add_filter('authenticate', function ($user, $name) {
                $name === 'inside' && wp_authenticate('', '');
                return $user;
            }, 10, 2);
            PHP);
        self::$site->addUser('inside');
        self::assertAnswers([200 => 5, 429 => 2], 5, self::requests(7, fn (int $i) => Site::form('inside', "wrong $i", '192.0.2.2')));
        self::assertAnswers([429 => 1], 0, [Site::form('inside', 'right password', '192.0.2.2')]);
    }

    public function testANameThatOnlyAnotherPluginKnowsIsLimitedAsAnAccount(): void
    {
        self::addPlugin('phone', <<<'PHP'
            add_filter('authenticate', fn ($user, $name, $password) => $name === '555 0100' ? wp_authenticate('phone', $password) : $user, 30, 3);
            PHP);
        self::$site->addUser('phone');
        for ($i = 0; $i < 12; $i++) {
            self::assertAnswers([302 => 1], 1, [Site::form('555 0100', 'right password', '192.0.2.3')]);
        }
        for ($i = 0; $i < 5; $i++) {
            self::assertAnswers([200 => 1], 1, [Site::form('555 0100', "wrong $i", '192.0.2.3')]);
        }
        self::assertAnswers([429 => 1], 0, [Site::form('555 0100', 'right password', '192.0.2.3')]);
    }

    public function testADeniedCallRunsNoCallbackThatEndsTheRequest(): void
    {
        self::addPlugin('factor', self::SECOND_FACTOR);
        self::$site->addUser('factor');
        $guess = fn (int $i) => Site::form('factor', "wrong $i", '192.0.2.6');
        // Core and the other plugin verify each of five guesses.
        self::assertAnswers([200 => 5, 429 => 15], 10, self::requests(20, $guess));
        [$right] = self::assertAnswers([429 => 1], 0, [Site::form('factor', 'right password', '192.0.2.6')]);
        self::assertStringNotContainsString('Your code', $right['body']);
    }

    public function testALoginWithASecondFactorIsASuccess(): void
    {
        self::addPlugin('factor', self::SECOND_FACTOR);
        // A plugin that verifies the password and asks for the code before core does.
        self::addPlugin('factor-early', str_replace(["'factor'", ', 50,'], ["'early-factor'", ', 5,'], self::SECOND_FACTOR));
        self::addPlugin('factor-cookie', str_replace(["'factor'", ', 50,', "do_action('wp_login', \$user->user_login, \$user);"], ["'cookie-factor'", ', 5,', ''], self::SECOND_FACTOR));
        foreach (['factor' => '192.0.2.7', 'early-factor' => '192.0.2.8', 'cookie-factor' => '192.0.2.10'] as $name => $address) {
            $name === 'factor' || self::$site->addUser($name);
            for ($i = 0; $i < 25; $i++) {
                [$page] = self::$site->send([Site::form($name, 'right password', $address)]);
                self::assertSame([200, true], [$page['status'], str_contains($page['body'], 'Your code')], "$name $i");
                [$in] = self::$site->send([['path' => "/wp-login.php?who=$name&code=7", 'address' => $address]]);
                self::assertSame([302, true], [$in['status'], str_contains($in['head'], 'logged_in')], "$name $i");
            }
        }
        // The password was right, although no code follows.
        for ($i = 0; $i < 25; $i++) {
            [$page] = self::$site->send([Site::form('factor', 'right password', '192.0.2.7')]);
            self::assertSame(200, $page['status'], "$i");
        }
        // The control: other callbacks that end the request do not make a wrong password right.
        self::assertAnswers([200 => 5, 429 => 3], 10, self::requests(8, fn (int $i) => Site::form('factor', "wrong $i", '192.0.2.7')));
    }

    /** As the plugin "Two Factor" does for users with a second factor. */
    public function testARightPasswordThatAnotherPluginRefusesOverXmlRpcIsNoGuess(): void
    {
        self::addPlugin('api', "add_filter('authenticate', fn (\$user) => \$user instanceof WP_User && \$user->user_login === 'api-factor' && defined('XMLRPC_REQUEST') ? new WP_Error('invalid_application_credentials', 'Disabled.') : \$user, 31);");
        self::$site->addUser('api-factor');
        $call = fn (string $password): string => self::$site->send([Site::xmlRpc('api-factor', $password, '192.0.2.12')])[0]['body'];
        for ($i = 0; $i < 25; $i++) {
            $body = $call('right password');
            self::assertSame([false, false], [str_contains($body, 'isAdmin'), str_contains($body, 'Too many')], "$i: $body");
        }
        // The attempts are taken back, and earlier failures stay counted.
        for ($i = 0; $i < 4; $i++) {
            $call("wrong $i");
            $call('right password');
        }
        [$in] = self::$site->send([Site::form('api-factor', 'right password', '192.0.2.12')]);
        self::assertSame(302, $in['status']);
        for ($i = 0; $i < 5; $i++) {
            self::assertStringNotContainsString('Too many', $call("wrong $i"), "$i");
            $i === 4 || $call('right password');
        }
        self::assertStringContainsString('Too many', $call('right password'));
    }

    public function testAVerifierThatThrowsCountsNoGuess(): void
    {
        self::addPlugin('directory', "add_filter('authenticate', fn (\$user, \$name) => \$name === 'directory' && is_file(__DIR__ . '/down') ? throw new RuntimeException('The directory is down') : \$user, 15, 2);");
        self::$site->addUser('directory');
        touch(self::$plugins . '/down');
        for ($i = 0; $i < 25; $i++) {
            self::assertAnswers([500 => 1], 0, [Site::form('directory', 'right password', '192.0.2.9')], "$i");
        }
        unlink(self::$plugins . '/down');
        file_put_contents(self::$site->folder . '/counters/errors', '');
        self::assertAnswers([302 => 1], 1, [Site::form('directory', 'right password', '192.0.2.9')]);
        self::assertAnswers([200 => 5, 429 => 3], 5, self::requests(8, fn (int $i) => Site::form('directory', "wrong $i", '192.0.2.9')));
    }

    public function testTheWebServersOwnPasswordIsNoApplicationPasswordOfAUserWhoIsLoggedIn(): void
    {
        self::addPlugin('api', "add_filter('application_password_is_api_request', '__return_true');");
        self::$site->addApplicationPassword(self::$site->addUser('staging'));
        $cookie = self::$site->logIn('staging', '192.0.2.4');
        [$nonce] = self::$site->send([['path' => '/wp-admin/admin-ajax.php?action=rest-nonce', 'cookie' => $cookie]]);
        // Browsers send only this cookie to pages outside of wp-admin.
        preg_match('/wordpress_logged_in_[^;]+/', $cookie, $loggedIn);
        $lines = ["X-WP-Nonce: $nonce[body]", 'Authorization: Basic ' . base64_encode('visitor:of the staging site')];
        $request = ['path' => '/index.php?rest_route=/wp/v2/users/me', 'address' => '192.0.2.4', 'cookie' => $loggedIn[0], 'lines' => $lines];
        self::assertAnswers([200 => 40], 0, self::requests(40, fn () => $request));
    }

    public function testAWrongNumberNamesTheFilterAndLogsNoPassword(): void
    {
        self::addPlugin('wrong', "isset(\$_SERVER['HTTP_X_WRONG']) && add_filter('tokenbucket_limits', fn (\$limits) => json_decode(wp_unslash(\$_SERVER['HTTP_X_WRONG']), true) + \$limits, 100);");
        foreach (['{"login_network": [0, 3600]}', '{"login_network": [5, 0]}', '{"login_network": [5]}', '{"login_network": "5"}', '{"login_lockout": [5, 900, 0.5, 3600]}'] as $wrong) {
            [$page] = self::assertAnswers([500 => 1], 0, [Site::form('owner', 'right password', '192.0.2.5', ["X-Wrong: $wrong"])]);
            self::assertStringContainsString('tokenbucket_limits: login_', $page['body']);
        }
    }

    private static function addPlugin(string $name, string $code): void
    {
        file_put_contents(self::$plugins . "/$name.php", "<?php\n$code");
        chmod(self::$plugins . "/$name.php", 0644);
    }
}
