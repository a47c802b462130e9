<?php
/** Prints in one line of JSON when, on what, of what and with what is measured: the head of bench/results.json. */

/** The first line that a command prints, or nothing. */
function said(string $command): string
{
    exec("$command 2>/dev/null", $lines);
    return $lines[0] ?? '';
}

/** What a file of /proc says of a name, as "model name". */
function told(string $file, string $name): string
{
    preg_match("/^$name\s*:\s*(.*)$/m", (string) @file_get_contents($file), $found);
    return $found[1] ?? '';
}

/** @return array<string, string> by package of Debian */
function packages(string ...$names): array
{
    $versions = [];
    foreach ($names as $name) {
        $versions[$name] = said("dpkg-query --show --showformat='\${Version}\\n' " . escapeshellarg($name));
    }
    return $versions;
}

echo json_encode([
    'date' => gmdate('Y-m-d\TH:i:s\Z'),
    'command' => 'scripts/bench',
    'commit' => said('git rev-parse HEAD'),
    // Whether that commit is all there is to it.
    'clean' => said('git status --porcelain --untracked-files=no -- . ":!bench/results.json"') === '',
    'machine' => [
        'processor' => told('/proc/cpuinfo', 'model name') ?: php_uname('m'),
        'processors' => count(preg_grep('/^processor\s*:/', file('/proc/cpuinfo'))),
        'hypervisor' => preg_match('/^flags\s*:.* hypervisor\b/m', file_get_contents('/proc/cpuinfo')) === 1,
        'memory' => told('/proc/meminfo', 'MemTotal'),
        'kernel' => php_uname('s') . ' ' . php_uname('r'),
        // At the start: above 0.5 or so, others were at work.
        'load' => (float) explode(' ', file_get_contents('/proc/loadavg'))[0],
    ],
    'versions' => ['php' => PHP_VERSION, 'tokenbucket' => phpversion('tokenbucket'), 'rustc' => said('rustc --version')] + packages(
        'php8.2-apcu',
        'php8.2-redis',
        'php8.2-memcached',
        'php8.2-memcache',
        'redis-server',
        'memcached',
        'mariadb-server',
        'postgresql',
        'php-symfony-rate-limiter',
        'php-illuminate-cache',
        'nginx-light',
        'apache2-utils'
    ),
], JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR), "\n";
