<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\WordPress\Tests;

require_once __DIR__ . '/SiteTestCase.php';

/** Tests the command that frees blocked clients, over a segment that both processes share. */
final class CommandTest extends SiteTestCase
{
    private static string $folder;

    public static function setUpBeforeClass(): void
    {
        self::$folder = sys_get_temp_dir() . '/tokenbucket-command-' . getmypid();
        mkdir(self::$folder, 0700);
        self::$site = new Site('', ['tokenbucket.shm_path' => self::$folder . '/segment']);
    }

    public static function tearDownAfterClass(): void
    {
        parent::tearDownAfterClass();
        exec('rm -rf ' . escapeshellarg(self::$folder));
    }

    public function testFreesBlockedClients(): void
    {
        self::$site->addUser('blocked');
        $guesses = self::requests(7, fn (int $i) => Site::form('blocked', "wrong $i", '192.0.2.1'));
        self::assertAnswers([200 => 5, 429 => 2], 5, $guesses);
        $shared = ['tokenbucket.shm_path' => self::$folder . '/segment'];
        $lines = $this->command(['list'], $shared);
        self::assertCount(1, $lines, implode("\n", $lines));
        [$list] = $lines;
        self::assertMatchesRegularExpression('/^(\w{32})\tlogin_lockout\tblocked\t192\.0\.2\.1\t\S+$/', $list);
        $id = substr($list, 0, 32);
        self::assertStringStartsWith('Error: This process does not share', $this->command(['free', $id], [])[0]);
        self::assertSame(['Error: There is no such block.'], $this->command(['free', 'unknown'], $shared));
        self::assertAnswers([429 => 1], 0, [Site::form('blocked', 'right password', '192.0.2.1')]);
        self::assertSame(['Success: Freed: 1.'], $this->command(['free', $id], $shared));
        self::assertAnswers([302 => 1], 1, [Site::form('blocked', 'right password', '192.0.2.1')]);
        self::assertAnswers([200 => 5, 429 => 2], 5, $guesses);
        self::assertSame(['Success: Freed: 1.'], $this->command(['free', '--all'], $shared));
        self::assertSame([], $this->command(['list'], $shared));
    }

    public function testTheAdministrationPagesNameAMissingExtensionAndUnknownSettings(): void
    {
        $code = 'require "$argv[1]/wp-load.php"; wp_set_current_user(1); do_action("admin_notices");';
        self::assertSame([], $this->wordpress($code));
        self::assertSame(['<div class="notice notice-error"><p>Nothing is limited, because the PHP extension tokenbucket is missing.</p></div>'], $this->wordpress($code, false));
        $unknown = 'define("TOKENBUCKET_STORGE", "<i>"); define("TOKENBUCKET_TIMEOUT", 1); ';
        self::assertSame(['<div class="notice notice-error"><p>The plugin Token bucket has no setting TOKENBUCKET_STORGE, which wp-config.php defines.</p></div>'], $this->wordpress($unknown . $code));
        $invalid = 'define("TOKENBUCKET_STORAGE", "redis://127.0.0.1"); define("TOKENBUCKET_TIMEOUT", -1); ';
        self::assertStringContainsString('TOKENBUCKET_TIMEOUT in wp-config.php: ', implode("\n", $this->wordpress($invalid . $code)));
    }

    public function testAnUnknownLimitIsReportedAndAMissingOneHasItsDefault(): void
    {
        self::$site->addUser('filtered');
        $lines = $this->wordpress(<<<'PHP'
            require "$argv[1]/wp-load.php";
            add_action('doing_it_wrong_run', fn ($name, $message) => print "$name: $message\n", 10, 2);
            add_filter('tokenbucket_limits', fn () => ['lgoin_lockout' => [1, 900, 2, 86_400]], 20);
            for ($i = 1; $i <= 6; $i++) {
                echo wp_authenticate('filtered', "wrong $i")->get_error_code(), "\n";
            }
            PHP);
        self::assertSame(['tokenbucket_limits: There is no limit &quot;lgoin_lockout&quot;.', ...array_fill(0, 5, 'incorrect_password'), 'too_many_attempts'], $lines);
    }

    public function testThePolyfillLimitsOverTheProcessesOfAHostWithoutTheExtension(): void
    {
        self::$site->addUser('shared');
        $code = 'require ' . var_export(dirname(__DIR__, 2) . '/polyfill/src/autoload.php', true) . ';
            require "$argv[1]/wp-load.php";
            wp_set_current_user(1);
            do_action("admin_notices");
            echo wp_authenticate("shared", "wrong")->get_error_code();';
        $ini = ['tokenbucket.polyfill_folder' => self::$folder . '/polyfill'];
        $codes = array_map(fn () => $this->wordpress($code, false, $ini), range(1, 6));
        self::assertSame([...array_fill(0, 5, ['incorrect_password']), ['too_many_attempts']], $codes);
    }

    public function testAHostThatDisablesFunctionsOfThePolyfillLetsPeopleLogIn(): void
    {
        self::$site->addUser('disabled');
        $code = 'require ' . var_export(dirname(__DIR__, 2) . '/polyfill/src/autoload.php', true) . ';
            require "$argv[1]/wp-load.php";
            wp_set_current_user(1);
            do_action("admin_notices");
            for ($i = 0; $i < 6; $i++) {
                echo wp_authenticate("disabled", "wrong")->get_error_code(), "\n";
            }';
        $ini = ['tokenbucket.polyfill_folder' => self::$folder . '/polyfill'];
        $notice = '<div class="notice notice-error"><p>Nothing is limited, because the PHP extension tokenbucket is missing. (disable_functions: flock)</p></div>';
        self::assertSame([$notice . 'incorrect_password', ...array_fill(0, 5, 'incorrect_password')], $this->wordpress($code, false, $ini + ['disable_functions' => 'flock']));
        // Without these, the polyfill works.
        $lines = $this->wordpress($code, false, $ini + ['disable_functions' => 'tmpfile,getmypid,posix_geteuid']);
        self::assertSame([...array_fill(0, 5, 'incorrect_password'), 'too_many_attempts'], $lines);
    }

    /** @return list<string> the printed lines */
    private function command(array $arguments, array $ini): array
    {
        $command = [__DIR__ . '/command.php', self::$site->folder . '/site', ...$arguments];
        $options = example_arguments(Site::EXTENSIONS, $ini + ['display_errors' => '1']);
        exec(escapeshellarg(PHP_BINARY) . " $options " . implode(' ', array_map(escapeshellarg(...), $command)) . ' 2>&1', $lines);
        return $lines;
    }

    /**
     * Runs code that loads WordPress from the folder $argv[1].
     *
     * @return list<string> the printed lines
     */
    private function wordpress(string $code, bool $hasExtension = true, array $ini = []): array
    {
        $options = example_arguments(Site::EXTENSIONS, $ini + ['display_errors' => '1']);
        if (!$hasExtension) {
            $options = str_replace(escapeshellarg('extension=' . getenv('TOKENBUCKET')), 'log_errors=0', $options);
        }
        $code = '$_SERVER["HTTP_HOST"] = "localhost"; $_SERVER["REMOTE_ADDR"] = "192.0.2.20"; ' . $code;
        exec(escapeshellarg(PHP_BINARY) . " $options -r " . escapeshellarg($code) . ' -- ' . escapeshellarg(self::$site->folder . '/site') . ' 2>&1', $lines);
        return $lines;
    }
}
