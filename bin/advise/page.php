<?php
/** The report as one page of HTML without scripts. */
namespace TokenBucket\Command\Advise;

const STYLE = <<<'CSS'
    :root { color-scheme: light dark; --line: #8884; --bar: light-dark(#2f6fb3, #6ea8e6); --mark: light-dark(#b3402f, #f08a78); }
    body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; background: light-dark(#fff, #16181c); color: light-dark(#1c1e21, #e6e6e6); }
    h1 { font-size: 1.5rem; } h2, h2 code { font-size: 1.15rem; } h2 { margin: 2rem 0 .5rem; overflow-wrap: anywhere; } h3 { font-size: 1rem; margin: 1rem 0 .25rem; }
    code, pre { font: .875rem/1.5 ui-monospace, monospace; overflow-wrap: anywhere; white-space: pre-wrap; }
    pre { border: 1px solid var(--line); border-radius: 4px; padding: .75rem; }
    .scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; margin: .5rem 0 1rem; font-variant-numeric: tabular-nums; }
    th, td { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
    .number { text-align: right; overflow-wrap: normal; white-space: nowrap; }
    svg { width: 100%; height: auto; display: block; overflow: visible; } svg text { font: 10px system-ui, sans-serif; fill: currentColor; }
    @media (max-width: 600px) { svg text { font-size: 19px; } th, td { padding-right: .5rem; font-size: .875rem; } }
    svg rect { fill: var(--bar); } svg line { stroke: var(--mark); stroke-width: 2; } svg .mark { fill: var(--mark); }
    .warning { border-left: 3px solid var(--mark); padding-left: .75rem; } small { opacity: .8; }
    CSS;

/** The width and the height of the bars of a chart. */
const WIDTH = 640;
const HEIGHT = 140;

function html(string $text): string
{
    return htmlspecialchars($text, ENT_QUOTES | ENT_SUBSTITUTE | ENT_HTML5, 'UTF-8');
}

/** @param list<list<string|int>> $rows whose integers are numbers to compare */
function table(array $head, array $rows): string
{
    $cell = fn (string|int $value): string => is_int($value) ? '<td class=number>' . number_format($value) . '</td>' : '<td>' . html($value) . '</td>';
    $body = implode('', array_map(fn (array $values): string => '<tr>' . implode('', array_map($cell, $values)) . "</tr>\n", $rows));
    $titles = array_map(fn (string $title, string|int $value): string => is_int($value) ? "<th class=number>$title</th>" : "<th>$title</th>", $head, $rows[0] ?? $head);
    return '<div class=scroll><table><thead><tr>' . implode('', $titles) . "</tr></thead><tbody>\n$body</tbody></table></div>\n";
}

/**
 * Returns a chart of bars. Each mark is a line between bars.
 *
 * @param array<string, int> $bars numbers by their labels
 * @param list<array{float, string}> $marks places in bars from the left, and their labels
 */
function chart(string $title, array $bars, array $marks = []): string
{
    if ($bars === []) {
        return '';
    }
    [$most, $width, $head] = [max($bars), WIDTH / count($bars), 20 * count($marks) + 24];
    $svg = '<svg viewBox="0 0 ' . WIDTH . ' ' . ($head + HEIGHT + 24) . '" role=img aria-label="' . html($title) . '">';
    $step = (int) ceil(count($bars) / 8);
    foreach (array_keys($bars) as $index => $label) {
        $height = max(1, $bars[$label] / $most * HEIGHT);
        $svg .= sprintf('<rect x="%.1F" y="%.1F" width="%.1F" height="%.1F"><title>%s: %d</title></rect>', $index * $width + $width * .1, $head + HEIGHT - $height, $width * .8, $height, html((string) $label), $bars[$label]);
        if ($index % $step === 0) {
            // The year, and the day of an hour, are only in the titles of the bars.
            $short = preg_replace('/^\d{4}-(\d\d-\d\d (?=\d))?/', '', (string) $label);
            $svg .= sprintf('<text x="%.1F" y="%d" text-anchor=middle>%s</text>', ($index + .5) * $width, $head + HEIGHT + 18, html($short));
        }
    }
    $svg .= '<text x="0" y="16">' . html('at most ' . number_format($most)) . '</text>';
    foreach ($marks as $index => [$at, $label]) {
        $x = min(WIDTH - 1, max(1, $at * $width));
        $anchor = $x > WIDTH * .7 ? 'end' : 'start';
        $svg .= sprintf('<line x1="%1$.1F" x2="%1$.1F" y1="%2$d" y2="%3$d"/><text class=mark x="%4$.1F" y="%5$d" text-anchor=%6$s>%7$s</text>', $x, 24 + 20 * $index, $head + HEIGHT, $x + ($anchor === 'end' ? -5 : 5), 38 + 20 * $index, $anchor, html($label));
    }
    return '<h3>' . html($title) . "</h3>\n$svg</svg>\n";
}

final class Page
{
    public static function of(array $report): string
    {
        $time = fn (float $instant): string => gmdate('Y-m-d H:i', (int) $instant);
        $html = '<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport content="width=device-width, initial-scale=1">'
            . '<meta http-equiv=Content-Security-Policy content="default-src \'none\'; style-src \'unsafe-inline\'"><title>tokenbucket advise</title><style>' . STYLE . "</style></head><body>\n"
            . '<h1>' . (isset($report['limits']) ? 'Whom the limits would have denied' : 'Limits for this traffic') . "</h1>\n"
            . '<p>' . html(sprintf('%s requests from %s to %s UTC.', number_format($report['requests']), $time($report['first']), $time($report['last']))) . "</p>\n";
        $privacy = $report['anonymous'] ? 'The page has no addresses of clients.' : 'Addresses of clients may be personal data. --anonymise cuts them to networks.';
        foreach ([...$report['warnings'] ?? [], ...$report['notes']] as $note) {
            $html .= '<p class=warning>' . html(ucfirst($note)) . ".</p>\n";
        }
        $html .= isset($report['limits']) ? self::denials($report) : self::proposal($report);
        foreach ($report['failures'] as $failure) {
            $html .= '<h2>' . html(sprintf('%s lines are no requests (%s)', number_format($failure['lines']), $failure['kind'])) . '</h2><pre>' . html(implode("\n", $failure['examples'])) . "</pre>\n";
        }
        return "$html<p><small>$privacy</small></p></body></html>\n";
    }

    private static function denials(array $report): string
    {
        $all = $report['all'];
        $html = '<p>' . html(sprintf('In the mode %s, %s requests (%s) of %s clients would have been denied.', $report['mode'], number_format($all['denied_requests']), share($all['denied_requests'], $report['requests']), number_format($all['denied_clients']))) . "</p>\n";
        foreach ($report['limits'] as $limit) {
            $html .= '<h2><code>' . html($limit['limit']) . '</code></h2><p>'
                . html(sprintf('Denies %s of %s requests (%s) and %s of %s clients (%s). %s decisions are uncertain.', number_format($limit['denied_requests']), number_format($limit['requests']), share($limit['denied_requests'], $limit['requests']), number_format($limit['denied_clients']), number_format($limit['clients']), share($limit['denied_clients'], $limit['clients']), number_format($limit['uncertain']))) . "</p>\n";
            if ($limit['denied_requests'] === 0) {
                continue;
            }
            $agents = array_map(fn (string $class, int $count): array => [$class, $count, share($count, $limit['denied_requests'])], array_keys($limit['agents']), $limit['agents']);
            $html .= '<p>' . html(sprintf('The longest wait is %.1f s. %s of the denied requests have a cookie of a session.', $limit['longest_wait'], share($limit['with_cookie'], $limit['denied_requests']))) . "</p>\n"
                . chart('Denied requests over time', $limit['times'])
                . table(['client', 'denied', 'longest wait'], array_map(fn (array $row): array => [$row['client'], $row['denied'], sprintf('%.1f s', $row['longest_wait'])], $limit['top_clients']))
                . table(['user agents', 'denied', 'share'], $agents)
                . table(['path', 'denied'], array_map(fn (array $row): array => [$row['path'], $row['denied']], $limit['paths']));
        }
        return $html;
    }

    private static function proposal(array $report): string
    {
        $html = '<p>' . html('Of the limits that deny at most ' . share((int) round(1e6 * $report['hit']), 1_000_000) . ' of the clients, these stop the most requests:') . '</p><pre>' . html($report['setting']) . "</pre>\n";
        foreach ($report['groups'] as $group) {
            $marks = [];
            foreach ($group['candidates'] as $candidate) {
                preg_match('/(\d+)\/(minute|hour) burst (\d+)$/', $candidate['limit'], $limit);
                // The most that the limit grants in a minute, on the scale of the bins.
                $most = $limit[3] + $limit[1] / ($limit[2] === 'hour' ? 60 : 1);
                $marks[] = [log(max(1, $most), 2), $limit[0]];
            }
            $html .= '<h2>' . html("$group[group], by $group[key]") . '</h2><p>' . html(sprintf('%s requests of %s %s.', number_format($group['requests']), number_format($group['clients']), $group['key'] === 'net' ? 'networks' : 'clients')) . "</p>\n";
            $html .= $group['key'] === 'all' ? '' : chart('Clients by their most requests in any minute', self::filled($group['histogram']), $marks);
            $html .= table(['most requests in any', ...array_keys(QUANTILES)], array_map(fn (string $span, array $quantiles): array => [$span, ...array_values($quantiles)], array_keys($group['most_in']), $group['most_in']))
                . table(['limit', 'denied requests', 'denied clients'], array_map(fn (array $row): array => [$row['limit'], $row['denied_requests'], $row['denied_clients']], $group['candidates']));
            $html .= chart('Requests that the first of these limits would have denied', $group['candidates'][0]['times'] ?? []);
            $clients = array_map(array_values(...), $group['candidates'][0]['top_clients'] ?? []);
            $html .= $clients === [] ? '' : table(['client', 'denied by the first limit'], $clients);
        }
        return $html;
    }

    /** Returns bins with their labels, also those without clients. */
    private static function filled(array $histogram): array
    {
        $bins = [];
        for ($from = 1; $histogram !== [] && $from <= max(array_key_last($histogram), 2); $from *= 2) {
            $bins[$from === 1 ? '1' : $from . '–' . 2 * $from - 1] = $histogram[$from] ?? 0;
        }
        return $bins;
    }
}
