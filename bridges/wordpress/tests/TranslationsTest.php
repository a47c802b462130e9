<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\WordPress\Tests;

require_once __DIR__ . '/SiteTestCase.php';

/** Tests the texts of the plugin in another language. */
final class TranslationsTest extends SiteTestCase
{
    private const LANGUAGES = __DIR__ . '/../languages';

    public static function setUpBeforeClass(): void
    {
        parent::setUpBeforeClass();
        // WordPress offers the languages of these files.
        mkdir(self::$site->folder . '/site/wp-content/languages');
        copy(self::LANGUAGES . '/tokenbucket-de_DE.mo', self::$site->folder . '/site/wp-content/languages/de_DE.mo');
    }

    public function testADeniedLoginIsAnsweredInTheLanguageOfThePage(): void
    {
        self::$site->addUser('deutsch');
        $guess = ['path' => '/wp-login.php?wp_lang=de_DE'] + Site::form('deutsch', 'wrong', '192.0.2.1');
        $responses = self::assertAnswers([200 => 5, 429 => 2], 5, self::requests(7, fn () => $guess));
        foreach ($responses as $response) {
            self::assertSame($response['status'] === 429, str_contains($response['body'], 'Zu viele Versuche.'));
        }
        [$english] = self::assertAnswers([429 => 1], 0, [Site::form('deutsch', 'wrong', '192.0.2.1')]);
        self::assertStringContainsString('Too many attempts.', $english['body']);
    }

    public function testThePageOfBlocksIsInTheLanguageOfTheSite(): void
    {
        $cookie = self::$site->logIn('owner', '192.0.2.90');
        self::$site->run('return update_option("WPLANG", "de_DE");');
        [$page, $plugins] = self::$site->send(array_map(fn (string $path) => ['path' => $path, 'cookie' => $cookie], ['/wp-admin/tools.php?page=tokenbucket', '/wp-admin/index.php']));
        foreach (['<h1>Gesperrte Clients</h1>', '>Zu viele<', '>Konto<', '>Netz<', '>Endet<', '>Sperre aufheben<', '>Suchen<'] as $text) {
            self::assertStringContainsString($text, $page['body']);
        }
        // The menu.
        self::assertStringContainsString('>Gesperrte Clients<', $plugins['body']);
        self::assertStringNotContainsString('Blocked clients', $page['body']);
        self::$site->run('return update_option("WPLANG", "");');
    }

    public function testTheTemplateAndTheTranslationsHaveAllTexts(): void
    {
        if (exec('command -v xgettext') === '') {
            self::markTestSkipped('gettext is missing: run scripts/setup bridges');
        }
        $folder = self::$site->folder . '/languages';
        mkdir($folder);
        exec(escapeshellarg(dirname(__DIR__, 3) . '/scripts/wordpress') . ' translations ' . escapeshellarg($folder) . ' 2>&1', $output, $code);
        self::assertSame(0, $code, implode("\n", $output));
        self::assertSameSize(glob("$folder/*"), glob(self::LANGUAGES . '/*'));
        foreach (glob("$folder/*") as $file) {
            self::assertSame(file_get_contents($file), file_get_contents(self::LANGUAGES . '/' . basename($file)), 'Run scripts/wordpress translations');
        }
        foreach (glob("$folder/*.po") as $file) {
            exec('msgattrib --untranslated --no-obsolete ' . escapeshellarg($file), $untranslated);
            self::assertSame([], $untranslated, basename($file));
        }
    }

    public function testEachTextNamesTheTextDomain(): void
    {
        foreach ([__DIR__ . '/../tokenbucket.php', ...glob(__DIR__ . '/../src/*.php')] as $file) {
            $code = file_get_contents($file);
            $calls = preg_match_all('/\b(?:esc_html|esc_attr)?__\(/', $code);
            $right = preg_match_all("/\b(?:esc_html|esc_attr)?__\('(?:[^'\\\\]|\\\\.)*', 'tokenbucket'\)/", $code);
            self::assertSame($calls, $right, basename($file));
        }
    }
}
