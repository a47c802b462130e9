<?php
/**
 * Draws docs/images/*.svg from results.json and kills.json, each for light and for dark pages:
 *
 *   granted   tokens granted of 1,000 by eight processes
 *   decision  microseconds per decision, on a logarithmic scale
 *   kills     tokens granted while workers are killed
 *
 * The charts have no background of their own and use the fonts of the reader's system.
 */

require __DIR__ . '/figures.inc.php';

const WIDTH = 800;
const FONT = '-apple-system, BlinkMacSystemFont, &quot;Segoe UI&quot;, &quot;Noto Sans&quot;, &quot;DejaVu Sans&quot;, Helvetica, Arial, sans-serif';
const THEMES = [
    'light' => ['text' => '#1f2328', 'muted' => '#59636e', 'grid' => '#d8dee4', 'ours' => '#0969da', 'exact' => '#8c959f', 'bad' => '#cf222e', 'stuck' => '#9a6700', 'page' => '#ffffff'],
    'dark' => ['text' => '#e6edf3', 'muted' => '#9198a1', 'grid' => '#30363d', 'ours' => '#4493f8', 'exact' => '#7d8590', 'bad' => '#f85149', 'stuck' => '#d29922', 'page' => '#0d1117'],
];
/** The titles of the charts' sections, by the title in tools/bench/peers.php. */
const HOMES = [
    "One host's memory" => "In one host's memory (others on APCu)",
    'Redis, Unix socket' => 'On Redis (Unix socket)',
    'memcached, TCP' => 'On memcached (TCP)',
    'MariaDB, Unix socket' => 'In a MariaDB table (Unix socket)',
];

/** A drawing in one theme. */
final class Drawing
{
    private string $body = '';

    /** @param array<string, string> $colours by their purpose */
    public function __construct(public readonly array $colours)
    {
    }

    /** Writes a text. $at is the part of the text that is at $x: start, middle or end. */
    public function text(float $x, float $y, string $text, string $colour = 'text', string $at = 'start', int $size = 13, bool $bold = false): void
    {
        $weight = $bold ? ' font-weight="600"' : '';
        $anchor = $at === 'start' ? '' : " text-anchor=\"$at\"";
        $this->body .= sprintf("<text x=\"%s\" y=\"%s\" fill=\"%s\" font-size=\"%d\"%s%s>%s</text>\n", self::n($x), self::n($y), $this->colours[$colour], $size, $anchor, $weight, htmlspecialchars($text));
    }

    public function line(float $x1, float $y1, float $x2, float $y2, string $colour = 'grid', float $width = 1, string $dashes = ''): void
    {
        $this->path([[$x1, $y1], [$x2, $y2]], $colour, $width, $dashes);
    }

    /** @param list<array{float, float}> $points the x and y of each corner */
    public function path(array $points, string $colour, float $width, string $dashes = '', string $clip = ''): void
    {
        $data = 'M' . implode(' L', array_map(fn (array $point) => self::n($point[0]) . ' ' . self::n($point[1]), $points));
        $more = ($dashes === '' ? '' : " stroke-dasharray=\"$dashes\"") . ($clip === '' ? '' : " clip-path=\"url(#$clip)\"");
        $this->body .= sprintf("<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" stroke-linejoin=\"round\"%s/>\n", $data, $this->colours[$colour], self::n($width), $more);
    }

    public function bar(float $x, float $y, float $width, float $height, string $colour, float $opacity = 1): void
    {
        $this->body .= sprintf("<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" fill=\"%s\"%s/>\n", self::n($x), self::n($y), self::n($width), self::n($height), $this->colours[$colour], $opacity < 1 ? " fill-opacity=\"$opacity\"" : '');
    }

    public function dot(float $x, float $y, float $radius, string $colour, bool $filled): void
    {
        $this->body .= sprintf("<circle cx=\"%s\" cy=\"%s\" r=\"%s\" fill=\"%s\" stroke=\"%s\" stroke-width=\"2\"/>\n", self::n($x), self::n($y), self::n($radius), $this->colours[$filled ? $colour : 'page'], $this->colours[$colour]);
    }

    /** Defines a named rectangle that can clip a path(). */
    public function clip(string $name, float $x, float $y, float $width, float $height): void
    {
        $this->body .= sprintf("<clipPath id=\"%s\"><rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/></clipPath>\n", $name, self::n($x), self::n($y), self::n($width), self::n($height));
    }

    public function svg(int $height, string $title): string
    {
        $title = htmlspecialchars($title);
        return sprintf(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" aria-label=\"%s\" font-family=\"%s\">\n<title>%s</title>\n%s</svg>\n",
            WIDTH,
            $height,
            WIDTH,
            $height,
            $title,
            FONT,
            $title,
            $this->body
        );
    }

    private static function n(float $number): string
    {
        return (string) round($number, 1);
    }
}

function is_ours(string $name): bool
{
    return str_starts_with($name, 'TokenBucket');
}

/** Returns the name of a limiter without its store, because the title above names the store. */
function short_name(string $name): string
{
    return preg_replace('/ on (APCu|Redis)(?=,|$)/', '', $name, 1);
}

/**
 * Calls $line for each limiter, under the title of its store. Returns the y below the last limiter.
 */
function lines_of_homes(Drawing $drawing, array $rows, float $top, float $height, Closure $line): float
{
    $y = $top;
    foreach (HOMES as $home => $title) {
        $y += 14;
        $drawing->text(0, $y + 12, $title, bold: true);
        $y += 22;
        foreach (limiters_of($rows, $home) as $name) {
            $drawing->text(282, $y + $height / 2 + 4.5, short_name($name), is_ours($name) ? 'ours' : 'text', 'end', bold: is_ours($name));
            $line($y, $home, $name);
            $y += $height;
        }
    }
    return $y;
}

/** Draws a bar for each limiter. Its length is the most tokens that were granted in a race. */
function draw_granted(Drawing $drawing, array $rows): string
{
    $left = 292;
    $of = row($rows, 'race', null, 'TokenBucket, shared memory')['of'];
    $scale = fn (float $granted) => $left + $granted * 330 / 6_000;
    $drawing->text(0, 18, 'Tokens granted to 8 processes that share a bucket of 1,000', size: 16, bold: true);
    $drawing->text(0, 40, 'No token comes back. 16,000 calls a race, three races: the bar ends at the highest count.', 'muted');
    $top = 78;
    $end = lines_of_homes($drawing, $rows, $top - 12, 22, function (float $y, string $home, string $name) use ($drawing, $rows, $scale, $left, $of) {
        $race = row($rows, 'race', null, $name);
        $most = max($race['granted']);
        $colour = match (true) {
            is_ours($name) => 'ours',
            $most > $of => 'bad',
            default => 'exact',
        };
        $drawing->bar($left, $y + 4, $scale($most) - $left, 14, $colour);
        $words = range_of($race['granted']);
        foreach (['early' => 'false denials', 'failed' => 'calls failed'] as $key => $what) {
            $words .= max($race[$key]) > 0 ? '; ' . range_of($race[$key]) . " $what" : '';
        }
        $drawing->text($scale($most) + 8, $y + 15.5, $words, $colour === 'exact' ? 'text' : $colour, bold: is_ours($name));
    });
    $drawing->line($scale($of), $top - 6, $scale($of), $end + 4, 'text', 1.5, '5 4');
    $drawing->text($scale($of), $top - 12, 'limit: 1,000', 'text', 'middle');
    $y = $end + 26;
    $x = 292;
    foreach (['ours' => 'TokenBucket', 'exact' => 'others, not above the limit', 'bad' => 'others, too many'] as $colour => $words) {
        $drawing->bar($x, $y - 10, 12, 12, $colour);
        $drawing->text($x + 18, $y, $words, 'muted');
        $x += 44 + 6.6 * strlen($words);
    }
    return $drawing->svg((int) $y + 14, 'Tokens granted of 1,000 by 8 processes, TokenBucket and other limiters');
}

/** Draws dots for granted and denied calls on a logarithmic scale. */
function draw_decision(Drawing $drawing, array $rows): string
{
    $left = 300;
    $scale = fn (float $nanos) => $left + log10($nanos / 10) * 390 / 5;
    $drawing->text(0, 18, 'Time of one decision, in microseconds', size: 16, bold: true);
    $drawing->text(0, 40, 'Logarithmic: each step to the right takes ten times as long. One process; medians.', 'muted');
    $drawing->dot(306, 63, 5, 'text', true);
    $drawing->text(318, 67.5, 'granted', 'muted');
    $drawing->dot(386, 63, 5, 'text', false);
    $drawing->text(398, 67.5, 'denied', 'muted');
    $drawing->text(WIDTH, 67.5, 'granted / denied', 'muted', 'end');
    $top = 84;
    // The grid is drawn before the limiters, so its height comes from a drawing that is not used.
    $end = lines_of_homes(new Drawing($drawing->colours), $rows, $top - 12, 22, fn () => null);
    foreach ([10 => '0.01', 100 => '0.1', 1_000 => '1', 10_000 => '10', 100_000 => '100', 1_000_000 => '1,000'] as $nanos => $words) {
        $drawing->line($scale($nanos), $top, $scale($nanos), $end + 6);
        $drawing->text($scale($nanos), $end + 22, "$words µs", 'muted', 'middle', 12);
    }
    lines_of_homes($drawing, $rows, $top - 12, 22, function (float $y, string $home, string $name) use ($drawing, $rows, $scale) {
        [$granted, $denied] = array_map(fn (string $what) => row($rows, 'peers', $home, "$name, $what")['ns'][0], ['granted', 'denied']);
        $colour = is_ours($name) ? 'ours' : 'exact';
        $drawing->line($scale($granted), $y + 11, $scale($denied), $y + 11, $colour, 2);
        $drawing->dot($scale($denied), $y + 11, 5, $colour, false);
        $drawing->dot($scale($granted), $y + 11, 5, $colour, true);
        $drawing->text(WIDTH, $y + 15.5, micros($granted) . ' / ' . micros($denied), is_ours($name) ? 'ours' : 'text', 'end', 12, is_ours($name));
    });
    return $drawing->svg((int) $end + 34, 'Microseconds per decision, TokenBucket and other limiters, on a logarithmic scale');
}

/** Draws curves of the tokens that three limiters granted, and of the limit. */
function draw_kills(Drawing $drawing, array $rows): string
{
    [$ours, $on_redis, $unlocked, $locked] = array_map(fn (string $name) => row($rows, 'kills', null, $name), [
        'TokenBucket, shared memory',
        'TokenBucket, Redis',
        'Symfony token bucket on APCu, no lock',
        'Symfony token bucket on Redis, lock on Redis',
    ]);
    $seconds = 10;
    $most = 4_000;
    [$left, $right, $top, $bottom] = [52, 536, 78, 340];
    $x = fn (float $s) => $left + $s * ($right - $left) / $seconds;
    $y = fn (float $granted) => $bottom - $granted * ($bottom - $top) / $most;
    $drawing->text(0, 18, 'Tokens granted while workers are killed', size: 16, bold: true);
    $drawing->text(0, 40, "$ours[workers] workers share one bucket: " . number_format($ours['capacity']) . " tokens, $ours[rate] more every second. kill -9 hits a random worker every 0.1 s.", 'muted');
    for ($granted = 0; $granted <= $most; $granted += 1_000) {
        $drawing->line($left, $y($granted), $right, $y($granted));
        $drawing->text($left - 8, $y($granted) + 4, number_format($granted), 'muted', 'end', 12);
    }
    for ($s = 0; $s <= $seconds; $s += 2) {
        $drawing->text($x($s), $bottom + 30, "$s s", 'muted', 'middle', 12);
    }
    // Draws a mark for each kill.
    for ($kill = 1; $kill <= $seconds * 10; $kill++) {
        $drawing->line($x($kill / 10), $bottom + 4, $x($kill / 10), $bottom + 11, 'bad', 1);
    }
    $drawing->text($right + 14, $bottom + 12, 'a worker is killed', 'bad', size: 12);
    $drawing->clip('plot', $left, $top, $right - $left, $bottom - $top + 2);
    $limit = fn (float $s) => $ours['capacity'] + $ours['rate'] * $s;
    foreach ([[$unlocked, 'bad', 2.5], [$locked, 'stuck', 2.5], [$ours, 'ours', 5]] as [$row, $colour, $width]) {
        $points = array_map(fn (float $s, int $granted) => [$x(min($s, $seconds)), $y($granted)], $row['seconds'], $row['granted']);
        $drawing->path($points, $colour, $width, '', 'plot');
    }
    $drawing->line($x(0), $y($limit(0)), $x($seconds), $y($limit($seconds)), 'text', 1.5, '6 4');

    $label = $right + 14;
    $at_end = $y($limit($seconds));
    $drawing->text($label, $at_end - 22, 'limit: ' . number_format($limit($seconds)), 'text');
    $drawing->line($right + 2, $at_end - 2, $label - 2, $at_end - 24, 'text', 1);
    $drawing->text($label, $at_end + 2, 'TokenBucket: ' . number_format(end($ours['granted'])), 'ours', bold: true);
    $drawing->text($label, $at_end + 19, 'in shared memory; on Redis ' . number_format(end($on_redis['granted'])), 'ours');
    $stuck_at = $locked['seconds'][array_search(end($locked['answers']), $locked['answers'], true)];
    $at_stuck = $y(end($locked['granted']));
    $drawing->text($label, $at_stuck + 4, 'Symfony on Redis, lock on Redis:', 'stuck', bold: true);
    $drawing->text($label, $at_stuck + 21, number_format(end($locked['granted'])) . sprintf(', no answer after %.1f s', $stuck_at), 'stuck');
    // Draws an arrow where the curve leaves the plot.
    $leaves = $x($unlocked['seconds'][key(array_filter($unlocked['granted'], fn (int $granted) => $granted > $most))]);
    $drawing->path([[$leaves - 6, $top + 1], [$leaves, $top - 8], [$leaves + 6, $top + 1]], 'bad', 2.5);
    $drawing->text($leaves + 14, $top + 20, 'Symfony on APCu, no lock: ' . number_format(end($unlocked['granted'])) . sprintf(' after %d s', $seconds), 'bad', bold: true);
    $drawing->text(0, $bottom + 58, 'Below the limit, too: the userland bucket on APCu, and Symfony on APCu with a semaphore or flock lock.', 'muted', size: 12);
    return $drawing->svg($bottom + 70, 'Tokens granted over ten seconds while workers are killed: TokenBucket stays at the limit');
}

$read = fn (string $file) => json_decode(file_get_contents(__DIR__ . "/$file"), true, 512, JSON_THROW_ON_ERROR)['rows'];
$results = $read('results.json');
$kills = $read('kills.json');
foreach (THEMES as $theme => $colours) {
    $charts = [
        'granted' => draw_granted(new Drawing($colours), $results),
        'decision' => draw_decision(new Drawing($colours), $results),
        'kills' => draw_kills(new Drawing($colours), $kills),
    ];
    foreach ($charts as $name => $svg) {
        file_put_contents(__DIR__ . "/../../docs/images/$name-$theme.svg", $svg);
    }
}
