<?php
/**
 * Checks the comments and the prose in all files of the repository.
 *
 *     php -n scripts/wording.php    prints each violation and exits with 1 if there are any
 *
 * Comments that fill a whole line are at most 100 columns wide. The same limit applies to prose in
 * *.md, except tables, fences, HTML, and lines that are only wide because of a link or URL. No doc
 * comment begins with "What" or "Who".
 */
const WIDTH = 100;
const OPENINGS = '~^[ \t]*(?:///|//!|/\*\*) (?:What|Who)(?:ever)?\b~m';

/** Returns the pattern of a line that is only a comment, or null if the file has no comments. */
function comment_pattern(string $path, string $text): ?string
{
    $kind = str_starts_with($text, '#!') ? 'sh' : pathinfo($path, PATHINFO_EXTENSION);
    return match ($kind) {
        'rs' => '~^\s*//~',
        'php', 'phpt' => '~^\s*(?://|#(?!\[)|/?\*)~',
        'lua' => '~^\s*--~',
        'sh', 'bash', 'toml' => '~^\s*#(?!!)~',
        default => null,
    };
}

/** Reports whether a line is too wide, not counting URLs, targets of links and array types. */
function is_wide(string $line): bool
{
    $text = preg_replace(['~\]\([^)]*\)~', '~https?://\S+~', '~array(\{.*\}|<.*>)~'], '', $line);
    return preg_match('/^.{' . WIDTH + 1 . '}/u', $text) === 1;
}

/** @return list<int> the numbers of the lines with comments that are too wide */
function wide_comments(string $pattern, bool $is_phpt, array $lines): array
{
    $found = [];
    $is_code = true;
    foreach ($lines as $number => $line) {
        if ($is_phpt && preg_match('/^--([A-Z_]+)--$/', $line, $section)) {
            $is_code = in_array($section[1], ['FILE', 'SKIPIF', 'CLEAN'], true);
        } elseif ($is_code && preg_match($pattern, $line) && is_wide($line)) {
            $found[] = $number + 1;
        }
    }
    return $found;
}

/** @return list<int> the numbers of the lines of a Markdown file that are too wide */
function wide_prose(array $lines): array
{
    $found = [];
    $skipped_until = null;
    foreach ($lines as $number => $line) {
        if ($skipped_until !== null) {
            $skipped_until = preg_match($skipped_until, $line) ? null : $skipped_until;
        } elseif (preg_match('/^\s*(```|~~~)/', $line, $fence)) {
            $skipped_until = "/^\s*$fence[1]\s*$/";
        } elseif (str_contains($line, '<!--')) {
            $skipped_until = str_contains($line, '-->') ? null : '/-->/';
        } elseif (!preg_match('/^\s*[|<]/', $line) && is_wide($line)) {
            $found[] = $number + 1;
        }
    }
    return $found;
}

/** @return list<string> the violations in a file, as "path:line: description" */
function violations(string $path, string $text): array
{
    if (str_contains($text, "\0")) {
        return [];
    }
    $lines = explode("\n", $text);
    $pattern = comment_pattern($path, $text);
    $wide = $pattern === null ? [] : wide_comments($pattern, str_ends_with($path, '.phpt'), $lines);
    $wide = str_ends_with($path, '.md') ? wide_prose($lines) : $wide;
    $found = array_map(fn (int $line) => [$line, 'wider than ' . WIDTH . ' columns'], $wide);
    preg_match_all(OPENINGS, $text, $openings, PREG_OFFSET_CAPTURE);
    foreach ($openings[0] as [, $offset]) {
        $found[] = [substr_count($text, "\n", 0, $offset) + 1, 'a doc comment begins with "What" or "Who"'];
    }
    return array_map(fn (array $it) => "$path:$it[0]: $it[1]", $found);
}

/** Tests violations() itself: it must find each bad text and accept each good text. */
function test_violations(): void
{
    $wide = str_repeat('word ', 20) . 'word';
    $bad = [
        ['a.rs', "    // $wide"], ['a.rs', "//! $wide"], ['a.php', "/** $wide */"], ['a.php', " * $wide"],
        ['a.phpt', "--FILE--\n<?php\n# $wide\n--EXPECT--\n"], ['a.lua', "-- $wide"], ['a.sh', "# $wide"], ['a', "#!/bin/sh\n# $wide"],
        ['a.toml', "# $wide"], ['a.md', "$wide\n"], ['a.md', "```\n```\n- $wide"], ['a.md', "<!-- a\n-->\n$wide"],
        ['a.rs', '    /// What a caller asks.'], ['a.rs', '/// Who asks.'], ['a.rs', '/// Whoever asks.'],
        ['a.rs', '/// Whatever it is.'], ['a.rs', '//! What it is.'], ['a.php', '/** What it is. */'],
    ];
    $good = [
        ['a.rs', "let text = \"$wide\";"], ['a.rs', '// ' . str_repeat('ä', 97)], ['a.php', "#[A('$wide')]"],
        ['a.phpt', "--FILE--\n--EXPECT--\n# $wide"], ['a.md', "| $wide |"], ['a.md', "```text\n$wide\n```"],
        ['a.md', "<!-- a\n$wide\n-->"], ['a.md', "<p>$wide"], ['a.md', 'See https://example.org/' . str_repeat('a', 99)],
        ['a.md', '[a page](' . str_repeat('a', 99) . ')'], ['a.rs', '/// Whole tokens.'], ['a.rs', "\0\n// $wide"],
    ];
    foreach ($bad as [$path, $text]) {
        violations($path, $text) !== [] || throw new LogicException("not found: $path: $text");
    }
    foreach ($good as [$path, $text]) {
        violations($path, $text) === [] || throw new LogicException("found wrongly: $path: $text");
    }
}

test_violations();
chdir(__DIR__ . '/..');
exec('git ls-files --cached --others --exclude-standard', $paths);
$paths = array_filter($paths, is_file(...));
$found = array_merge(...array_map(fn (string $path) => violations($path, file_get_contents($path)), array_values($paths)));
echo implode('', array_map(fn (string $line) => "$line\n", $found));
exit($found === [] ? 0 : 1);
