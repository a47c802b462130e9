<?php
/**
 * Checks the links of Markdown files, the pages of docs/ that other files name, and the paths of
 * the code that ARCHITECTURE.md, CONTRIBUTING.md and the explanations name.
 *
 *     php -n scripts/links.php    prints each broken link and exits with 1 if there are any
 *
 * A link leads to a file or folder, and its fragment to a heading. A page of bridges/NAME or stubs
 * links only to its own folder, which is published alone. README names the two commands with which
 * a stranger begins, and .ci/run runs them.
 */
chdir(dirname(__DIR__));

/** @return list<string> the fragments that lead to the headings of a page */
function fragments(string $markdown): array
{
    preg_match_all('/^#+ (.+)$/m', preg_replace('/^ *```.*?^ *```$/ms', '', $markdown), $headings);
    return array_map(fn (string $heading) => strtr(strtolower(preg_replace('/[^\w -]/u', '', $heading)), ' ', '-'), $headings[1]);
}

/** Returns a path without "." and "..". */
function resolved(string $path): string
{
    $parts = [];
    foreach (explode('/', $path) as $part) {
        $part === '..' ? array_pop($parts) : ($part === '.' ? null : $parts[] = $part);
    }
    return implode('/', $parts);
}

/** @return list<string> the broken links of a page */
function broken_links(string $path, string $markdown): array
{
    preg_match_all('/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/', preg_replace('/^ *```.*?^ *```$/ms', '', $markdown), $links, PREG_SET_ORDER);
    $alone = preg_match('~^(bridges/[^/]+|stubs)/~', $path, $folder) ? $folder[0] : '';
    return array_values(array_filter(array_map(function (array $link) use ($path, $markdown, $alone): ?string {
        $target = $link[1] === '' ? $path : resolved(dirname($path) . "/$link[1]");
        $page = $target === $path ? $markdown : (is_file($target) ? file_get_contents($target) : '');
        $is_right = ($target === $path || file_exists($target)) && str_starts_with("$target/", $alone)
            && (!isset($link[2]) || in_array($link[2], fragments($page), true));
        return $is_right ? null : $link[0];
    }, $links)));
}

$good = "# \"A\" `b_c()`, d\n[a](#a-b_c-d) [b](links.php) [c](https://example.org/#x)\n```text\n[d](no)\n```\n";
$control = [
    broken_links('scripts/a.md', $good) === [],
    broken_links('scripts/a.md', '[a](#no) [b](no.md) [c](links.php#no)') === ['](#no)', '](no.md)', '](links.php#no)'],
    broken_links('stubs/a.md', '[a](../LICENSE) [b](LICENSE)') === ['](../LICENSE)'],
];
$code = 0;
if (in_array(false, $control, true)) {
    echo 'The control failed: ', json_encode($control), "\n";
    $code = 1;
}
$paths = array_filter(explode("\n", trim(shell_exec('git ls-files --cached --others --exclude-standard'))), is_file(...));
$ends = '/' . implode("\n/", $paths) . "\n";
foreach ($paths as $path) {
    $text = file_get_contents($path);
    preg_match_all('~\bdocs/[\w/-]+\.(?:md|svg|png)\b~', str_contains($text, "\0") ? '' : $text, $names);
    $missing = array_filter(array_unique($names[0]), fn (string $name) => !file_exists($name));
    if (preg_match('~^(ARCHITECTURE|CONTRIBUTING|docs/explanation/.*)\.md$~', $path)) {
        // A path of the code may leave out the first folders.
        preg_match_all('~`((?:[\w.-]+/)+[\w.-]+\.(?:rs|php|phpt|lua|toml))`~', $text, $names);
        array_push($missing, ...array_filter($names[1], fn (string $name) => !str_contains($ends, "/$name\n")));
    }
    foreach ([...(str_ends_with($path, '.md') ? broken_links($path, $text) : []), ...$missing] as $link) {
        echo "$path: $link leads nowhere\n";
        $code = 1;
    }
}
foreach (['scripts/demo', 'scripts/test'] as $command) {
    if (!is_executable($command) || !preg_match("~^```sh\n(?:[^`].*\n)*?$command +# ~m", file_get_contents('README.md'))
        || !preg_match("~^$command$~m", file_get_contents('.ci/run'))) {
        echo "README.md and .ci/run must name $command\n";
        $code = 1;
    }
}
exit($code);
