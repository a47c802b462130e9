<?php
/** Programs of web servers, with the settings of the php that runs the test. */

/** PHP's embed library, and its headers, if they are installed. */
const EMBED_LIBRARY = '/usr/lib/libphp' . PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION . '.so';
define('EMBED_HEADERS', '/usr/include/php/' . basename(PHP_EXTENSION_DIR));
const PHP_CGI_PATH = '/usr/bin/php-cgi' . PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION;

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
