<?php
/**
 * Draws docs/images/kills-*.svg from kills.json, for light and for dark pages: the tokens granted
 * while workers are killed.
 *
 * The charts have no background of their own and use the fonts of the reader's system.
 */

require __DIR__ . '/figures.inc.php';

const WIDTH = 800;
const FONT = '-apple-system, BlinkMacSystemFont, &quot;Segoe UI&quot;, &quot;Noto Sans&quot;, &quot;DejaVu Sans&quot;, Helvetica, Arial, sans-serif';
const THEMES = [
    'light' => ['text' => '#1f2328', 'muted' => '#59636e', 'grid' => '#d8dee4', 'ours' => '#0969da', 'bad' => '#cf222e', 'stuck' => '#9a6700'],
    'dark' => ['text' => '#e6edf3', 'muted' => '#9198a1', 'grid' => '#30363d', 'ours' => '#4493f8', 'bad' => '#f85149', 'stuck' => '#d29922'],
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
    // A dashed line has a mark for each kill.
    $step = ($x(1) - $left) / 10;
    $drawing->line($left + $step - 0.5, $bottom + 7.5, $right + 0.5, $bottom + 7.5, 'bad', 7, '1 ' . ($step - 1));
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

$kills = json_decode(file_get_contents(__DIR__ . '/kills.json'), true, 512, JSON_THROW_ON_ERROR)['rows'];
foreach (THEMES as $theme => $colours) {
    file_put_contents(__DIR__ . "/../../docs/images/kills-$theme.svg", draw_kills(new Drawing($colours), $kills));
}
