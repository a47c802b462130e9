<?php

/**
 * Runs the .phpt of the classes in shared memory on this package, without the extension.
 *
 * php tests/phpt.php [FOLDER]: the tests are copied to the folder, with the changes that
 * differences.php lists. Fails if a listed change does not fit the test.
 */

declare(strict_types=1);

$root = dirname(__DIR__, 3);
$work = $argv[1] ?? sys_get_temp_dir() . '/tokenbucket-phpt-' . bin2hex(random_bytes(8));
$differences = require __DIR__ . '/differences.php';
mkdir("$work/php-tests/01_token_bucket", recursive: true);
foreach (['tools', 'bridges', 'docs', 'examples'] as $linked) {
    symlink("$root/$linked", "$work/$linked");
}
$wrong = 0;
foreach (glob("$root/php-tests/01_token_bucket/*") as $file) {
    $name = basename($file, '.phpt');
    if (isset($differences['without'][$name])) {
        continue;
    }
    $text = file_get_contents($file);
    foreach ($differences['cut'] as $tests) {
        foreach ($tests[$name] ?? [] as $line) {
            // A line that begins the next one keeps that one.
            [$cut, $kept] = [...explode("\n", $line, 2), ''];
            $changes["$cut\n$kept"] = $kept;
        }
    }
    foreach ($differences['replace'] as $tests) {
        $changes = [...$changes ?? [], ...$tests[$name] ?? []];
    }
    foreach ($changes as $from => $to) {
        if (substr_count($text, $from) !== 1) {
            echo "FAIL $name: not once in the test: $from\n";
            $wrong++;
        }
        $text = str_replace($from, $to, $text);
    }
    $changes = [];
    file_put_contents("$work/php-tests/01_token_bucket/" . basename($file), $text);
}
chdir($work);
$command = [PHP_BINARY, '-n', "$root/target/run-tests.php", '-p', PHP_BINARY, '-n', '-q', '--no-color', '--show-diff', '--set-timeout', '300', '-j3',
    '-d', 'extension_dir=' . ini_get('extension_dir'), '-d', 'auto_prepend_file=' . __DIR__ . '/prepend.php', 'php-tests/01_token_bucket'];
passthru(implode(' ', array_map(escapeshellarg(...), $command)), $code);
if ($code === 0 && $wrong === 0) {
    exec('rm -rf ' . escapeshellarg($work));
} else {
    echo "The files of failed tests are in $work.\n";
}
exit($code === 0 && $wrong === 0 ? 0 : 1);
