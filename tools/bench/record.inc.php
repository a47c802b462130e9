<?php
/**
 * Saves the measured rows for tools/bench/results.json.
 *
 * scripts/bench starts a file with begin(). Each program adds its rows to the file that
 * TOKENBUCKET_BENCH_ROWS names, one line of JSON for each row. finish() turns the file into one
 * document. Without that variable nothing is saved.
 */
final class Record
{
    private const JSON = JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_THROW_ON_ERROR;

    private static string $title = '';

    /** Sets the title of the following rows. */
    public static function title(string $title): void
    {
        self::$title = $title;
    }

    /**
     * @param array<string, mixed> $figures the figures of the row. Times are in nanoseconds. Three
     *        numbers are the median, the low and the high value
     */
    public static function row(string $name, array $figures): void
    {
        $file = getenv('TOKENBUCKET_BENCH_ROWS');
        if ($file === false) {
            return;
        }
        $row = ['program' => basename($_SERVER['SCRIPT_FILENAME'], '.php'), 'title' => self::$title, 'name' => $name] + $figures;
        file_put_contents($file, json_encode(self::rounded($row), self::JSON) . "\n", FILE_APPEND);
    }

    /**
     * Prints the circumstances in one line of JSON: the date, the machine, and the versions of the
     * measured programs.
     */
    public static function begin(string $command = 'scripts/bench'): void
    {
        echo json_encode([
            'date' => gmdate('Y-m-d\TH:i:s\Z'),
            'command' => $command,
            'commit' => self::first_line('git rev-parse HEAD'),
            // False if the work tree differs from that commit.
            'clean' => self::first_line('git status --porcelain --untracked-files=no -- . ":!tools/bench/*.json" ":!docs"') === '',
            'machine' => [
                'processor' => self::value_in('/proc/cpuinfo', 'model name') ?: php_uname('m'),
                'processors' => count(preg_grep('/^processor\s*:/', file('/proc/cpuinfo'))),
                'hypervisor' => preg_match('/^flags\s*:.* hypervisor\b/m', file_get_contents('/proc/cpuinfo')) === 1,
                'memory' => self::value_in('/proc/meminfo', 'MemTotal'),
                'kernel' => php_uname('s') . ' ' . php_uname('r'),
                // The load at the start. Above about 0.5, the machine was busy.
                'load' => (float) explode(' ', file_get_contents('/proc/loadavg'))[0],
            ],
            'versions' => self::versions(),
        ], self::JSON), "\n";
    }

    /** @return array<string, string> the architecture, and the versions of the measured programs */
    public static function versions(): array
    {
        return ['architecture' => php_uname('m'), 'php' => PHP_VERSION, 'tokenbucket' => phpversion('tokenbucket'), 'rustc' => self::first_line('rustc --version')] + self::packages(
            'php8.2-apcu',
            'php8.2-redis',
            'php8.2-memcached',
            'redis-server',
            'memcached',
            'mariadb-server',
            'postgresql',
            'php-symfony-rate-limiter',
            'php-illuminate-cache',
            'valgrind'
        );
    }

    /** Writes the circumstances and the rows that $measure adds into a file of JSON. */
    public static function save(string $command, string $file, callable $measure): void
    {
        $rows = tempnam(sys_get_temp_dir(), 'rows');
        ob_start();
        self::begin($command);
        file_put_contents($rows, ob_get_clean());
        putenv("TOKENBUCKET_BENCH_ROWS=$rows");
        $measure();
        ob_start();
        self::finish($rows);
        file_put_contents($file, ob_get_clean());
        unlink($rows);
    }

    /** Prints a file of circumstances and rows as one JSON document, with each row on a line. */
    public static function finish(string $file): void
    {
        $rows = file($file, FILE_IGNORE_NEW_LINES);
        $decode = fn (string $line): array => json_decode($line, true, 512, JSON_THROW_ON_ERROR);
        $circumstances = $decode(array_shift($rows));
        array_map($decode, $rows);
        echo "{\n";
        foreach ($circumstances as $name => $value) {
            printf("\"%s\": %s,\n", $name, json_encode($value, self::JSON));
        }
        echo "\"rows\": [\n", implode(",\n", $rows), "\n]}\n";
    }

    /** Returns the first line that a command prints, or an empty string. */
    private static function first_line(string $command): string
    {
        exec("$command 2>/dev/null", $lines);
        return $lines[0] ?? '';
    }

    /** Returns the value of a name, for example "model name", in a file of /proc. */
    private static function value_in(string $file, string $name): string
    {
        preg_match("/^$name\s*:\s*(.*)$/m", (string) @file_get_contents($file), $found);
        return $found[1] ?? '';
    }

    /** @return array<string, string> the installed version of each Debian package */
    private static function packages(string ...$names): array
    {
        $versions = [];
        foreach ($names as $name) {
            $versions[$name] = self::first_line("dpkg-query --show --showformat='\${Version}\\n' " . escapeshellarg($name));
        }
        return $versions;
    }

    /** Rounds floats to six digits, because more would be noise. */
    private static function rounded(mixed $value): mixed
    {
        return match (true) {
            is_array($value) => array_map(self::rounded(...), $value),
            is_float($value) => (float) sprintf('%.6g', $value),
            default => $value,
        };
    }
}
