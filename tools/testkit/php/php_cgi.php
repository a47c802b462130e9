<?php
/** Programs of web servers, with the settings of the php that runs the test. */

/**
 * The folder into which scripts/setup has unpacked this PHP, or an empty string if this PHP is
 * installed. Next to this folder are scripts that start its programs with its libraries.
 */
define('PHP_ROOT', (static function (): string {
    $root = dirname(getenv('TEST_PHP_EXECUTABLE') ?: PHP_BINARY) . '/root';
    return is_dir($root) ? $root : '';
})());
/** PHP's embed library, its headers, PHP's module for Apache, and php-cgi, if this PHP has them. */
const EMBED_LIBRARY = PHP_ROOT . '/usr/lib/libphp' . PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION . '.so';
define('EMBED_HEADERS', PHP_ROOT . '/usr/include/php/' . basename(PHP_EXTENSION_DIR));
const MOD_PHP = PHP_ROOT . '/usr/lib/apache2/modules/libphp' . PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION . '.so';
define('PHP_CGI_PATH', (PHP_ROOT === '' ? '/usr/bin' : dirname(PHP_ROOT)) . '/php-cgi' . PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION);
/** The words of a command before a program that loads libraries of this PHP. */
define('WITH_LIBRARIES', PHP_ROOT === '' ? [] : [dirname(PHP_ROOT) . '/with-libraries']);

/**
 * Writes a php.ini and the script php-cgi into a folder.
 *
 * @param array<string, string> $ini settings, added to those of the test
 */
function write_php_cgi(string $folder, array $ini): void
{
    file_put_contents("$folder/php.ini", settings_text($folder, $ini));
    file_put_contents("$folder/php-cgi", "#!/bin/sh\nexport PHPRC=$folder PHP_INI_SCAN_DIR=\nexec " . PHP_CGI_PATH . "\n");
    chmod("$folder/php-cgi", 0755);
}

/** Returns the php.ini. Copies the extension, because the server's user may lack access to it. */
function settings_text(string $folder, array $ini): string
{
    $text = '';
    preg_match_all('/-d "((?:[^"\\\\]|\\\\.)*)"/', (string) getenv('TEST_PHP_EXTRA_ARGS'), $arguments);
    foreach (array_map(stripslashes(...), $arguments[1]) as $setting) {
        [$name, $value] = explode('=', $setting, 2);
        if ($name === 'extension' && is_file($value)) {
            copy($value, $copy = "$folder/" . basename($value));
            $value = $copy;
        }
        // In quotes, php.ini's words such as Off would be plain text.
        $text .= preg_match('/^\w*$/', $value) ? "$name=$value\n" : "$name=\"$value\"\n";
    }
    foreach ($ini as $name => $value) {
        $text .= "$name=\"$value\"\n";
    }
    return $text;
}
