<?php
/** Keeps what is measured: a line of JSON a row, in the file that scripts/bench names. Without one, nothing is kept. */
final class Record
{
    private static string $title = '';

    /** What the rows from here on have in common. */
    public static function title(string $title): void
    {
        self::$title = $title;
    }

    /** @param array<string, mixed> $figures of the row; times are in nanoseconds, three numbers are median, low and high */
    public static function row(string $name, array $figures): void
    {
        $file = getenv('TOKENBUCKET_BENCH_ROWS');
        if ($file === false) {
            return;
        }
        $row = ['program' => basename($_SERVER['SCRIPT_FILENAME'], '.php'), 'title' => self::$title, 'name' => $name] + $figures;
        file_put_contents($file, json_encode(self::rounded($row), JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_THROW_ON_ERROR) . "\n", FILE_APPEND);
    }

    /** Six digits: more would be noise. */
    private static function rounded(mixed $value): mixed
    {
        return match (true) {
            is_array($value) => array_map(self::rounded(...), $value),
            is_float($value) => (float) sprintf('%.6g', $value),
            default => $value,
        };
    }
}
