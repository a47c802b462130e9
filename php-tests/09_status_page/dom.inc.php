<?php
/** Reads the status page in Chromium, and compares it with status() or with rules of its layout. */

/** @return list<list<string>> the text of each cell in the body of the table in an element */
function cells(Chromium $browser, string $selector): array
{
    return $browser->run(
        'return [...document.querySelectorAll(`${arguments[0]} tbody tr`)].map(row => [...row.cells].map(cell => cell.textContent.trim()))',
        $selector
    );
}

/** @return list<string> the differences between the page and an array of status() */
function differences(array $status, Chromium $browser): array
{
    $memory = $status['shared_memory'];
    $granted = $denied = 0;
    $expected = [];
    foreach ($status['decisions'] as $row) {
        $of = [$row['granted_by_store'] + $row['granted_by_fallback'], $row['denied_by_store'] + $row['denied_by_denial_cache'] + $row['denied_by_fallback']];
        $granted += $of[0];
        $denied += $of[1];
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
    $expected['settings'] = ['tokenbucket.shm_size' => ['64K', '32M differs'], 'tokenbucket.track_identifiers' => ['1', '0 differs'], 'tokenbucket.shm_full' => ['evict', 'evict']];
    return unequal($expected, shown($browser, array_keys($expected['settings'])));
}

/**
 * @return array<string, array> the numbers on the page, in the form of $expected in differences()
 */
function shown(Chromium $browser, array $settings): array
{
    $column = fn (string $section, int $of): array => array_column(cells($browser, "#$section"), $of, 0);
    $namespaces = $guard = [];
    foreach (cells($browser, '#namespaces') as $cells) {
        $namespaces[$cells[0]] = array_slice($cells, 3);
    }
    foreach (cells($browser, '#guard') as $cells) {
        $guard[$cells[0]] = array_slice($cells, 1);
    }
    $store = function (array $cells): array {
        $numbers = array_slice($cells, -3);
        // Only versions of the extension that measure the time of calls show their number here.
        return [$cells[0], strtok($cells[1], ','), $numbers[0], $numbers[1], count($cells) > 6 ? $cells[2] : null];
    };
    $of_setting = array_combine(array_column(cells($browser, '#settings'), 0), array_map(fn (array $cells) => array_slice($cells, 1), cells($browser, '#settings')));
    return [
        'namespaces' => $namespaces,
        'guard' => $guard,
        'tiles' => $browser->run('return [...document.querySelectorAll(".tile p:last-child")].map(p => p.textContent)'),
        'memory' => array_combine(array_map(fn (string $state) => strtok($state, ' '), array_keys($column('memory', 1))), $column('memory', 1)),
        'counters' => $column('counters', 2),
        'stores' => array_map($store, cells($browser, '#stores')),
        'most denied' => array_map(fn (array $cells) => array_slice($cells, 1), cells($browser, '#identifiers')),
        'settings' => array_intersect_key($of_setting, array_flip($settings)),
    ];
}

/** @return list<string> the parts that differ. The order of named parts does not matter */
function unequal(array $expected, array $shown): array
{
    $differ = array_filter(array_keys($expected), fn (string $part) => $expected[$part] != $shown[$part] || $expected[$part] === []);
    return array_map(fn (string $part) => "$part: " . json_encode([$expected[$part], $shown[$part]]), array_values($differ));
}

/** @return list<string> the faults of the layout: overflow, low contrast, missing names */
function layout_faults(Chromium $browser, int $width, string $scheme): array
{
    return $browser->run(<<<'JS'
        const [width, scheme] = arguments, faults = [];
        const parse = colour => colour.match(/[\d.]+/g).map(Number);
        const luminance = ([r, g, b]) => [r, g, b].map(c => c / 255).map(c => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
            .reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0);
        const background = e => {
            for (; e; e = e.parentElement) {
                const colour = parse(getComputedStyle(e).backgroundColor);
                if (colour[3] !== 0) return colour;
            }
        };
        if (innerWidth !== width) faults.push(`the window is ${innerWidth} px wide`);
        if (document.documentElement.scrollWidth > width) faults.push(`the page is ${document.documentElement.scrollWidth} px wide`);
        if ((luminance(background(document.body)) < .1) !== (scheme === 'dark')) faults.push('the background has the wrong colour');
        let texts = 0;
        for (const e of document.querySelectorAll('body *')) {
            if (![...e.childNodes].some(node => node.nodeType === 3 && node.data.trim()) || !e.checkVisibility()) continue;
            texts++;
            const colours = [parse(getComputedStyle(e).color), background(e)].map(luminance).sort((a, b) => b - a);
            const contrast = (colours[0] + .05) / (colours[1] + .05);
            if (contrast < 4.5) faults.push(`contrast ${contrast.toFixed(2)}: ${e.textContent}`);
            const box = e.getBoundingClientRect();
            if (box.right > width && !e.closest('.wide')) faults.push(`outside: ${e.textContent}`);
        }
        if (texts < 100) faults.push(`only ${texts} texts`);
        for (const table of document.querySelectorAll('table')) {
            if (!table.querySelector('thead th[scope=col]') || table.querySelector('tbody tr:not(:has(th[scope=row]))')) faults.push('a table without headers');
        }
        for (const e of document.querySelectorAll('section')) {
            if (!e.ariaLabel && !e.querySelector('h2')) faults.push(`without a name: ${e.outerHTML.slice(0, 80)}`);
        }
        return faults;
        JS, $width, $scheme);
}
