<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\WordPress\Tests;

use PHPUnit\Framework\TestCase;

/** Tests readme.txt by the rules of WordPress' plugin directory. */
final class ReadmeTest extends TestCase
{
    public function testTheReadmeStatesWhatTheHeaderStates(): void
    {
        [$readme, $header] = [$this->fields('readme.txt', ''), $this->fields('tokenbucket.php', ' \* ')];
        self::assertSame($header['Version'], $readme['Stable tag']);
        foreach (['Requires at least', 'Requires PHP', 'License', 'License URI'] as $name) {
            self::assertSame($header[$name], $readme[$name]);
        }
        self::assertSame(['tokenbucket', '/languages'], [$header['Text Domain'], $header['Domain Path']]);
        self::assertStringStartsWith("=== {$header['Plugin Name']} ===\n", $this->text('readme.txt'));
        self::assertMatchesRegularExpression('/^\d+\.\d+$/', $readme['Tested up to']);
        self::assertGreaterThanOrEqual(1, preg_match_all('/^= ' . preg_quote($header['Version']) . ' =$/m', $this->text('readme.txt')));
    }

    public function testTheReadmeHasWhatTheDirectoryShows(): void
    {
        $readme = $this->fields('readme.txt', '');
        self::assertNotSame('', $readme['Contributors']);
        self::assertLessThanOrEqual(5, count(explode(',', $readme['Tags'])));
        preg_match('/\n\n(.*)\n\n== Description ==\n/', $this->text('readme.txt'), $description);
        self::assertLessThanOrEqual(150, strlen($description[1]));
        preg_match_all('/^== (.*) ==$/m', $this->text('readme.txt'), $sections);
        self::assertSame(['Description', 'Installation', 'Frequently Asked Questions', 'Screenshots', 'Changelog'], $sections[1]);
    }

    /** @return array<string, string> fields by name */
    private function fields(string $file, string $prefix): array
    {
        preg_match_all("/^$prefix([A-Z][A-Za-z ]+): (.+)$/m", substr($this->text($file), 0, 1000), $fields);
        return array_combine($fields[1], $fields[2]);
    }

    private function text(string $file): string
    {
        return file_get_contents(dirname(__DIR__) . "/$file");
    }
}
