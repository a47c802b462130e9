<?php

/**
 * Runs two kinds of .phpt without the extension: the tests of this package, and those tests of the
 * extension that it should pass. Those are the tests of buckets in shared memory, of permits, and
 * of races between processes, also under php-fpm. They run with the changes that differences.php
 * lists.
 *
 *   php tests/phpt.php RUN-TESTS [NAME]    RUN-TESTS is PHP's run-tests.php. NAME selects one test
 *
 * Fails if a listed change does not fit its test.
 */

declare(strict_types=1);

/** Returns the test with the listed changes. */
function changed(string $name, string $text, array $differences): string
{
    $changes = [];
    foreach ($differences['cut'] as $tests) {
        foreach ($tests[$name] ?? [] as $line) {
            // The start of the next line, which is kept, distinguishes the line to cut from equal
            // lines.
            [$cut, $kept] = [...explode("\n", $line, 2), ''];
            $changes["$cut\n$kept"] = $kept;
        }
    }
    foreach ($differences['replace'] as $tests) {
        $changes += $tests[$name] ?? [];
    }
    foreach ($changes as $from => $to) {
        if (substr_count($text, $from) !== 1) {
            exit("differences.php does not fit $name: $from\n");
        }
        $text = str_replace($from, $to, $text);
    }
    return $text;
}

[, $runner, $only] = [...$argv, '*'];
$root = dirname(__DIR__, 3);
$work = sys_get_temp_dir() . '/tokenbucket-phpt-' . bin2hex(random_bytes(8));
$differences = require __DIR__ . '/differences.php';
$folders = ['php-tests/01_token_bucket', 'php-tests/02_shared_memory', 'php-tests/03_php_fpm', 'php-tests/10_concurrency', 'bridges/polyfill/tests'];
foreach ($folders as $folder) {
    mkdir("$work/$folder", recursive: true);
    foreach (glob("$root/$folder/*.php{,t}", GLOB_BRACE) as $file) {
        $name = basename($file, '.phpt');
        $isAble = in_array($name, $differences['with'][basename($folder)] ?? [$name], true) && !isset($differences['without'][basename($folder) . "/$name"]);
        $isSelected = !str_ends_with($file, '.phpt') || $isAble && fnmatch($only, $name);
        $isSelected && file_put_contents("$work/$folder/" . basename($file), changed($name, file_get_contents($file), $differences));
    }
}
// The workers of php-fpm run as another user, who may not be allowed to read the package.
exec('cp -r ' . escapeshellarg("$root/bridges/polyfill/src") . ' ' . escapeshellarg("$root/bridges/polyfill/classes") . ' ' . escapeshellarg("$work/bridges/polyfill"));
exec('chmod -R a+rX ' . escapeshellarg($work));
mkdir("$work/folders");
chmod("$work/folders", 0777);
foreach (['tools', 'docs', 'examples', 'stubs', 'php-tests/00_module', 'bridges/*', 'bridges/polyfill/*'] as $pattern) {
    foreach (glob("$root/$pattern") as $original) {
        $link = $work . substr($original, strlen($root));
        file_exists($link) || symlink($original, $link);
    }
}
passthru(implode(' ', array_map(escapeshellarg(...), [PHP_BINARY, '-n', "$root/tools/testkit/php/run_tests.php", $runner, "$work/run-tests.php"])));
chdir($work);
$command = [
    PHP_BINARY, '-n', 'run-tests.php', '-p', PHP_BINARY, '-n', '-q', '--no-color', '--show-diff', '--set-timeout', '300', '-j3',
    '-d', 'extension_dir=' . ini_get('extension_dir'), '-d', "auto_prepend_file=$work/bridges/polyfill/tests/prepend.php",
    ...$folders,
];
passthru(implode(' ', array_map(escapeshellarg(...), $command)), $code);
$code === 0 ? exec('rm -rf ' . escapeshellarg($work)) : print("The files of failed tests are in $work.\n");
exit($code);
