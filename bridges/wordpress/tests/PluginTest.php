<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\WordPress\Tests;

use PHPUnit\Framework\Attributes\Depends;

require_once __DIR__ . '/SiteTestCase.php';

/** Installs, activates and deletes the archive of scripts/wordpress by WordPress' own pages. */
final class PluginTest extends SiteTestCase
{
    protected const SETTINGS = "define('WITHOUT_PLUGIN', true); define('FS_METHOD', 'direct');";
    private const FILE = 'tokenbucket/tokenbucket.php';

    private static string $archive;

    public static function setUpBeforeClass(): void
    {
        parent::setUpBeforeClass();
        self::makeWritable();
        exec(escapeshellarg(dirname(__DIR__, 3) . '/scripts/wordpress') . ' zip ' . escapeshellarg(self::$site->folder), $output, $code);
        $code === 0 || throw new \RuntimeException('scripts/wordpress zip failed');
        self::$archive = $output[0];
    }

    public function testDeletingThePluginRemovesItsData(): void
    {
        self::$site->addUser('single');
        $cookie = self::$site->logIn('owner', '192.0.2.90');
        self::install('/wp-admin/', $cookie);
        self::assertAnswers([200 => 7], 7, self::guesses('single', '192.0.2.1'), 'installed');
        self::follow('/wp-admin/plugins.php', $cookie, 'activate');
        self::assertAnswers([200 => 5, 429 => 2], 5, self::guesses('single', '192.0.2.1'), 'active');
        self::assertAnswers([302 => 1], 1, [Site::form('single', 'right password', '192.0.2.2')]);
        self::assertSame(['tokenbucket_blocks', 'tokenbucket_networks'], self::data());
        $autoload = self::$site->run('return $GLOBALS["wpdb"]->get_var("SELECT autoload FROM {$GLOBALS["wpdb"]->options} WHERE option_name = \'tokenbucket_blocks\'");');
        self::assertContains($autoload, ['no', 'off']);
        self::follow('/wp-admin/plugins.php', $cookie, 'deactivate');
        self::assertAnswers([200 => 7], 7, self::guesses('single', '192.0.2.1'), 'inactive');
        self::delete('/wp-admin/', $cookie);
        self::assertSame([], self::data());
    }

    #[Depends('testDeletingThePluginRemovesItsData')]
    public function testANetworkOfSitesHasOnePlugin(): void
    {
        self::$site->makeNetwork();
        self::$site->run('update_site_option("registration", "user"); wpmu_create_blog("localhost", "/second/", "Second", 1); grant_super_admin(1); return 1;');
        $cookie = self::$site->logIn('owner', '192.0.2.90');
        self::install('/wp-admin/network/', $cookie);
        // The plugin cannot be activated for one site.
        [$plugins] = self::$site->send([['path' => '/second/wp-admin/plugins.php', 'cookie' => $cookie]]);
        self::assertSame([200, false], [$plugins['status'], str_contains($plugins['body'], rawurlencode(self::FILE))]);
        self::follow('/wp-admin/network/plugins.php', $cookie, 'activate');
        $guesses = self::guesses('single', '192.0.2.3');
        $guesses[2]['path'] = $guesses[5]['path'] = '/second/wp-login.php';
        self::assertAnswers([200 => 5, 429 => 2], 5, $guesses, 'active');
        self::assertAnswers([302 => 1], 1, [Site::form('single', 'right password', '192.0.2.4')]);
        self::assertSame(['tokenbucket_blocks', 'tokenbucket_networks'], self::data());
        self::follow('/wp-admin/network/plugins.php', $cookie, 'deactivate');
        self::assertAnswers([200 => 7], 7, $guesses, 'inactive');
        // The network was a single site before, which may have left this option.
        self::$site->run('return add_option("tokenbucket_blocks", []);');
        self::delete('/wp-admin/network/', $cookie);
        self::assertSame([], self::data());
    }

    #[Depends('testANetworkOfSitesHasOnePlugin')]
    public function testThePluginCanBeAMustUsePlugin(): void
    {
        $folder = self::$site->folder . '/site/wp-content/mu-plugins';
        exec('unzip -q ' . escapeshellarg(self::$archive) . ' -d ' . escapeshellarg($folder));
        // The file of docs/how-to/wordpress.md.
        file_put_contents("$folder/tokenbucket.php", "<?php\nrequire __DIR__ . '/tokenbucket/tokenbucket.php';\n");
        chmod("$folder/tokenbucket.php", 0644);
        self::assertAnswers([200 => 5, 429 => 2], 5, self::guesses('single', '192.0.2.5'));
        // A second copy counts nothing.
        $cookie = self::$site->logIn('owner', '192.0.2.90');
        self::install('/wp-admin/network/', $cookie);
        self::follow('/wp-admin/network/plugins.php', $cookie, 'activate');
        self::assertAnswers([200 => 5, 429 => 2], 5, self::guesses('single', '192.0.2.6'));
    }

    public function testWithoutTheExtensionThePluginOnlySaysSo(): void
    {
        $plain = self::$site;
        $extension = (string) getenv('TOKENBUCKET');
        // Another extension in its place.
        putenv('TOKENBUCKET=' . getenv('PHP_EXTENSIONS') . '/posix.so');
        try {
            self::$site = new Site(self::SETTINGS);
        } finally {
            putenv("TOKENBUCKET=$extension");
        }
        try {
            exec('unzip -q ' . escapeshellarg(self::$archive) . ' -d ' . escapeshellarg(self::$site->folder . '/site/wp-content/plugins'));
            self::makeWritable();
            $cookie = self::$site->logIn('owner', '192.0.2.90');
            self::follow('/wp-admin/plugins.php', $cookie, 'activate');
            $text = 'Nothing is limited, because the PHP extension tokenbucket is missing.';
            $dashboard = fn (string $cookie) => self::$site->send([['path' => '/wp-admin/index.php', 'cookie' => $cookie]])[0];
            self::assertStringContainsString($text, $dashboard($cookie)['body']);
            self::assertStringNotContainsString('page=tokenbucket', $dashboard($cookie)['body']);
            self::$site->addUser('guessed');
            $page = $dashboard(self::$site->logIn('guessed', '192.0.2.91'));
            self::assertSame([200, false], [$page['status'], str_contains($page['body'], $text)]);
            self::assertAnswers([200 => 7], 7, self::guesses('guessed', '192.0.2.1'));
            self::assertSame([], self::data());
            self::delete('/wp-admin/', $cookie, active: true);
            self::assertNoErrors();
        } finally {
            self::$site->stop();
            self::$site = $plain;
        }
    }

    /** The workers may run as another user. */
    private static function makeWritable(): void
    {
        exec('chmod -R a+rwX ' . escapeshellarg(self::$site->folder . '/site/wp-content'));
    }

    private static function guesses(string $name, string $address): array
    {
        return self::requests(7, fn (int $i) => Site::form($name, "wrong $i", $address));
    }

    /** Uploads the archive. */
    private static function install(string $folder, string $cookie): void
    {
        [$page] = self::$site->send([['path' => "{$folder}plugin-install.php?tab=upload", 'cookie' => $cookie]]);
        self::assertSame(1, preg_match('~name="_wpnonce" value="(\w+)"~', $page['body'], $nonce), $page['body']);
        $fields = ['_wpnonce' => $nonce[1], 'pluginzip' => new \CURLFile(self::$archive, 'application/zip')];
        [$page] = self::$site->send([['path' => "{$folder}update.php?action=upload-plugin", 'cookie' => $cookie, 'body' => $fields]]);
        self::assertStringContainsString('Plugin installed successfully.', $page['body']);
    }

    /** Follows the link of an action on the plugin. */
    private static function follow(string $path, string $cookie, string $action): void
    {
        [$page] = self::$site->send([['path' => $path, 'cookie' => $cookie]]);
        $pattern = '~href="(plugins\.php\?action=' . $action . '&amp;plugin=' . preg_quote(rawurlencode(self::FILE)) . '[^"]*)"~';
        self::assertSame(1, preg_match($pattern, $page['body'], $link), "No link to $action the plugin");
        [$response] = self::$site->send([['path' => dirname($path) . '/' . html_entity_decode($link[1]), 'cookie' => $cookie]]);
        self::assertMatchesRegularExpression("~^Location: .*plugins\.php\?$action=true~mi", $response['head'] . $response['body']);
    }

    /** Deletes the plugin, as WordPress' page does after a confirmation. */
    private static function delete(string $folder, string $cookie, bool $active = false): void
    {
        $active && self::follow("{$folder}plugins.php", $cookie, 'deactivate');
        [$page] = self::$site->send([['path' => "{$folder}plugins.php", 'cookie' => $cookie]]);
        preg_match('~id="bulk-action-form">.*?name="_wpnonce" value="(\w+)"~s', $page['body'], $nonce);
        $fields = ['action' => 'delete-selected', 'verify-delete' => 1, 'checked' => [self::FILE], '_wpnonce' => $nonce[1]];
        [$response] = self::$site->send([['path' => "{$folder}plugins.php", 'cookie' => $cookie, 'body' => http_build_query($fields)]]);
        self::assertMatchesRegularExpression('~^Location: .*plugins\.php\?deleted~mi', $response['head'] . $response['body']);
        self::assertDirectoryDoesNotExist(self::$site->folder . '/site/wp-content/plugins/tokenbucket');
    }

    /** @return list<string> the names of our options and metadata, in all tables of the database */
    private static function data(): array
    {
        return self::$site->run(<<<'PHP'
            global $wpdb;
            $found = [];
            foreach ($wpdb->get_col('SHOW TABLES') as $table) {
                foreach ($wpdb->get_results("SELECT * FROM `$table`", ARRAY_A) as $row) {
                    preg_match_all('/tokenbucket_\w+/', implode("\n", $row), $names);
                    array_push($found, ...$names[0]);
                }
            }
            sort($found);
            return array_values(array_unique($found));
            PHP);
    }
}
