<?php
/** Reads the HTML of the status page, and compares it with status(). */

/** Returns the HTML of a section of the page. */
function part(string $page, string $name): string
{
    preg_match("~<div id=\"$name\">(.*?)</div></section>~s", $page, $found);
    return $found[1];
}

/** Returns HTML as text. */
function as_text(string $html): string
{
    return trim(html_entity_decode(strip_tags($html)));
}

/** @return list<list<string>> the text of each cell in the body of the table in a section */
function cells(string $page, string $name): array
{
    preg_match_all('~<tr>(<th scope="row">.*?)</tr>~s', part($page, $name), $rows);
    $cells = fn (string $row): array => preg_match_all('~<t[hd][^>]*>(.*?)</t[hd]>~s', $row, $found) ? array_map(as_text(...), $found[1]) : [];
    return array_map($cells, $rows[1]);
}

/** @return list<string> the differences between the page and an array of status() */
function differences(array $status, string $page): array
{
    $memory = $status['shared_memory'];
    $granted = $denied = 0;
    $expected = [];
    foreach ($status['decisions'] as $row) {
        $of = [$row['granted_by_store'] + $row['granted_by_fallback'], $row['denied_by_store'] + $row['denied_by_denial_cache'] + $row['denied_by_fallback']];
        $is_call = $row['namespace'] !== 'guard: log lines';
        $granted += $is_call ? $of[0] : 0;
        $denied += $is_call ? $of[1] : 0;
        $expected['namespaces']["$row[namespace] " . strtr($row['store'], '_', ' ')] = [
            number_format($of[0]), number_format($of[1]), number_format(100 * $of[1] / max(1, array_sum($of)), 1) . "\u{a0}%",
            number_format($row['denied_by_denial_cache']), number_format($row['granted_by_fallback'] + $row['denied_by_fallback']),
        ];
    }
    foreach ($status['decisions'] as $row) {
        if (array_key_exists('permits_limit', $row)) {
            $numbers = array_map(number_format(...), [$row['denied_by_store'], $row['clients_denied_today'], $row['clients_denied_yesterday'], $row['blocked']]);
            $permits = $row['permits_limit'] === null ? ['–', '–'] : [number_format($row['permits_held']), number_format($row['permits_limit'])];
            $expected['guard'][$row['namespace']] = [...$numbers, ...$permits];
        }
    }
    $total = fn (int $count) => number_format($count) . ' since the start';
    $expected['tiles'] = [
        $total($granted), $total($denied), 'since the start',
        number_format($memory['live']) . ' of ' . number_format($memory['slots']),
    ];
    foreach (['live', 'pending', 'reclaimable', 'empty'] as $state) {
        $expected['memory'][$state] = number_format($memory[$state]);
    }
    foreach (['shared_memory' => array_diff_key($memory, $expected['memory'] + ['size' => 0, 'slots' => 0]), 'permits' => array_diff_key($status['permits'], ['held' => 0]), 'remote' => $status['remote']] as $part => $counters) {
        foreach (array_filter($counters, is_int(...)) as $name => $count) {
            $expected['counters']["$part.$name"] = number_format($count);
        }
    }
    $expected['stores'] = array_map(fn (array $store) => [$store['name'], $store['breaker'], number_format($store['failures']), number_format($store['opened']), isset($store['calls']) ? number_format($store['calls']) : null], $status['stores']);
    $expected['most denied'] = array_map(fn (array $row) => ["$row[namespace] " . strtr($row['store'], '_', ' '), number_format($row['denied'])], $status['most_denied']);
    return unequal($expected, shown($page));
}

/**
 * @return array<string, array> the numbers on the page, in the form of $expected in differences()
 */
function shown(string $page): array
{
    $column = fn (string $section, int $of): array => array_column(cells($page, $section), $of, 0);
    $namespaces = $guard = [];
    foreach (cells($page, 'namespaces') as $cells) {
        $namespaces[$cells[0]] = array_slice($cells, 3);
    }
    foreach (cells($page, 'guard') as $cells) {
        $guard[$cells[0]] = array_slice($cells, 1);
    }
    $store = function (array $cells): array {
        $numbers = array_slice($cells, -3);
        // Only versions of the extension that measure the time of calls show their number here.
        return [$cells[0], strtok($cells[1], ','), $numbers[0], $numbers[1], count($cells) > 6 ? $cells[2] : null];
    };
    return [
        'namespaces' => $namespaces,
        'guard' => $guard,
        'tiles' => array_map(as_text(...), preg_match_all('~<p class="value">.*?</p><p>(.*?)</p>~', part($page, 'now'), $found) ? $found[1] : []),
        'memory' => array_combine(array_map(fn (string $state) => strtok($state, ' '), array_keys($column('memory', 1))), $column('memory', 1)),
        'counters' => $column('counters', 2),
        'stores' => array_map($store, cells($page, 'stores')),
        'most denied' => array_map(fn (array $cells) => array_slice($cells, 1), cells($page, 'identifiers')),
    ];
}

/** @return list<string> the parts that differ. The order of named parts does not matter */
function unequal(array $expected, array $shown): array
{
    $differ = array_filter(array_keys($expected), fn (string $part) => $expected[$part] != $shown[$part] || $expected[$part] === []);
    return array_map(fn (string $part) => "$part: " . json_encode([$expected[$part], $shown[$part]]), array_values($differ));
}
