<?php
// Fails if files of the product, the judge or the testkit import each other in a circle. Reads the
// paths in each file, except in its tests. A name that a file passes on with `pub use` is an import
// of the file behind it. The files of a folder may import from the folder's mod.rs, which declares
// them.

chdir(__DIR__ . '/..');
$code = $passed = $imports = [];
// Each module by its path, for example gcra/step.
foreach (glob('{src,crates/*/src,tools/prove/src,tools/testkit/rust/src}{,/*,/*/*,/*/*/*}/*.rs', GLOB_BRACE) as $file) {
    if (preg_match('~/tests(\.rs|/)~', $file)) {
        continue;
    }
    $module = preg_replace(['~^(?:crates|tools)/([^/]+)(?:/rust)?/src~', '~^src~', '~(/mod|/lib)?\.rs$~'], ['$1', 'tokenbucket', ''], $file);
    $code[$module] = preg_replace(['~//.*~', '~"(\\\\.|[^"\\\\])*"~s', '~#\[cfg\(test\)\]\s*(#\[.*\]\s*)*mod \w+ \{.*~s'], '', file_get_contents($file));
}

/** Returns the paths of a tree such as `a::{b, c::{d, e}}`. */
function paths(string $tree): array
{
    if (!preg_match('~^(.*?)\{(.*)\}$~s', $tree, $parts)) {
        return [preg_split('~::| as ~', $tree)];
    }
    preg_match_all('~[^,{}]+(\{(?:[^{}]|(?1))*\})?~', $parts[2], $branches);
    return array_merge(...array_map(fn($branch) => paths($parts[1] . trim($branch)), array_filter($branches[0], trim(...))));
}

/** Returns the module that a path of a module leads to, or null for a path to another crate. */
function target(string $module, array $path): ?string
{
    global $code, $passed;
    $at = match (true) {
        $path[0] === 'crate' => strtok($module, '/'),
        $path[0] === 'super' => dirname($module),
        $path[0] === 'self', isset($code["$module/$path[0]"]) => $module,
        default => null,
    };
    foreach (array_slice($path, in_array($path[0], ['crate', 'super', 'self'])) as $name) {
        $at = match (true) {
            $at === null, $name === 'self' => $at,
            $name === 'super' => dirname($at),
            isset($code["$at/$name"]) => "$at/$name",
            isset($passed[$at][$name]) => target($at, $passed[$at][$name]),
            default => $at,
        };
    }
    return $at;
}

foreach ($code as $module => $text) {
    preg_match_all('~\bpub(?:\(\w+\))? use ([^;]+);~', $text, $uses);
    foreach (array_merge(...array_map(paths(...), $uses[1])) as $path) {
        $passed[$module][end($path)] = $path;
    }
}
foreach ($code as $module => $text) {
    preg_match_all('~^ *use ([^;]+);|\b((?:crate|super)(?:::\w+)+)~m', preg_replace('~\bpub(\(\w+\))? use [^;]+;~', '', $text), $uses);
    $own = array_filter($passed[$module] ?? [], fn($name) => preg_match_all("~\b$name\b~", $text) > 1, ARRAY_FILTER_USE_KEY);
    foreach ([...$own, ...array_merge(...array_map(paths(...), array_filter([...$uses[1], ...$uses[2]])))] as $path) {
        $target = target($module, $path);
        if ($target !== null && !str_starts_with("$module/", "$target/")) {
            $imports[$module][$target] = true;
        }
    }
}
$circles = [];
foreach (array_keys($imports) as $module) {
    $reached = [];
    $next = array_keys($imports[$module]);
    while (($at = array_pop($next)) !== null) {
        if (!isset($reached[$at])) {
            $reached[$at] = true;
            array_push($next, ...array_keys($imports[$at] ?? []));
        }
    }
    if (isset($reached[$module])) {
        $circles[] = $module;
    }
}
foreach ($circles as $module) {
    echo "$module is in a circle. It imports ", implode(', ', array_intersect(array_keys($imports[$module]), $circles)), ".\n";
}
exit($circles === [] ? 0 : 1);
