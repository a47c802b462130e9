<?php
/**
 * Writes the licences and the list of the crates that are linked into the extension, and Debian's
 * description of the copyright of every file in the source archive, which has more crates.
 *
 *     php -n scripts/crates.php LICENCES SBOM COPYRIGHT
 *
 * LICENCES is a text: the licence of this project, then each text of a licence with the crates that
 * it covers. SBOM is the software bill of materials as CycloneDX 1.5. The files depend only on
 * Cargo.lock, so they are the same in each build.
 */

/** @return array<string, array> the data of cargo about each crate, by "name version" */
function all_crates(): array
{
    $crates = [];
    foreach (json_decode(run('cargo metadata --locked --format-version 1'), true)['packages'] as $crate) {
        $crates["$crate[name] $crate[version]"] = $crate;
    }
    ksort($crates);
    // Crates of this repository have no source.
    return array_filter($crates, fn ($crate) => $crate['source'] !== null);
}

/** @return array<string, array> those crates that are linked */
function linked_crates(array $crates): array
{
    // Lists the crates without those that run only during the build.
    $tree = run('cargo tree --locked --package tokenbucket --edges normal,no-proc-macro --target x86_64-unknown-linux-gnu --prefix none --no-dedupe');
    preg_match_all('/^(\S+) v(\S+)/m', $tree, $names, PREG_SET_ORDER);
    $linked = array_flip(array_map(fn ($name) => "$name[1] $name[2]", $names));
    $missing = array_filter(array_keys(array_diff_key($linked, $crates)), fn (string $name) => !str_starts_with($name, 'tokenbucket'));
    $missing === [] || throw new RuntimeException('cargo metadata lacks ' . implode(', ', $missing));
    return array_intersect_key($crates, $linked);
}

function run(string $command): string
{
    exec($command, $lines, $code);
    $code === 0 || throw new RuntimeException("$command: exit code $code");
    return implode("\n", $lines);
}

/** @return list<string> the texts of a crate about its licence */
function texts(array $crate): array
{
    $files = glob(dirname($crate['manifest_path']) . '/{LICEN[CS]E,COPYING,UNLICENSE,NOTICE,COPYRIGHT}*', GLOB_BRACE);
    return array_map(fn (string $file) => trim(file_get_contents($file)), array_values(array_filter($files, is_file(...))));
}

/** Returns each text of a licence once, with the crates that it covers. */
function licences(array $crates): string
{
    $texts = [];
    foreach ($crates as $name => $crate) {
        foreach (texts($crate) as $text) {
            $texts[$text][] = "$name ($crate[license])";
        }
    }
    $result = file_get_contents('LICENSE');
    foreach ($texts as $text => $names) {
        $result .= "\n" . str_repeat('-', 80) . "\nThis licence is that of " . implode(', ', array_unique($names)) . ":\n\n$text\n";
    }
    return $result;
}

/** Returns the CycloneDX document. */
function sbom(array $crates): string
{
    preg_match_all('/^name = "(.*)"\nversion = "(.*)"\nsource = .*\nchecksum = "(.*)"$/m', file_get_contents('Cargo.lock'), $locked, PREG_SET_ORDER);
    foreach ($locked as [, $name, $version, $checksum]) {
        $checksums["$name $version"] = $checksum;
    }
    preg_match('/^version = "(.*)"$/m', file_get_contents('Cargo.toml'), $version);
    $components = [];
    foreach ($crates as $key => $crate) {
        $components[] = [
            'type' => 'library',
            'bom-ref' => $purl = "pkg:cargo/$crate[name]@$crate[version]",
            'name' => $crate['name'],
            'version' => $crate['version'],
            'hashes' => [['alg' => 'SHA-256', 'content' => $checksums[$key]]],
            'licenses' => [['expression' => str_replace('/', ' OR ', $crate['license'])]],
            'purl' => $purl,
        ];
    }
    return json_encode([
        'bomFormat' => 'CycloneDX',
        'specVersion' => '1.5',
        'version' => 1,
        'metadata' => ['component' => [
            'type' => 'library',
            'bom-ref' => 'tokenbucket',
            'name' => 'tokenbucket',
            'version' => $version[1],
            'licenses' => [['expression' => 'MIT']],
        ]],
        'components' => $components,
        'dependencies' => [['ref' => 'tokenbucket', 'dependsOn' => array_column($components, 'bom-ref')]],
    ], JSON_PRETTY_PRINT | JSON_UNESCAPED_SLASHES | JSON_THROW_ON_ERROR) . "\n";
}

/** Returns a value of a field that continues on further lines, as in a control file of Debian. */
function field(string $text): string
{
    return preg_replace(['/^\s*$/m', '/^/m'], ['.', ' '], $text);
}

/** Returns the copyright file of Debian's packages: the folder of each crate, then the licences. */
function copyright(array $crates): string
{
    $mit = trim(strstr(file_get_contents('LICENSE'), 'Permission is'));
    $result = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: tokenbucket\n"
        . "\nFiles: *\nCopyright: the tokenbucket authors\nLicense: MIT\n" . field($mit) . "\n";
    foreach ($crates as $crate) {
        preg_match_all('/^[ \t]*(Copyright\b.*\d.*)$/mi', implode("\n", texts($crate)), $found);
        $owners = array_unique(array_map(trim(...), $found[1])) ?: ($crate['authors'] ?: ["the authors of $crate[name]"]);
        $expression = strtr(str_replace('/', ' or ', $crate['license']), [' OR ' => ' or ', ' AND ' => ' and ', '(' => '', ')' => '']);
        $result .= "\nFiles: vendor/$crate[name]-$crate[version]/*\nCopyright: " . ltrim(field(implode("\n", $owners)))
            . "\nLicense: $expression\n" . field("The texts are in vendor/$crate[name]-$crate[version]/. Those of the crates that are\nlinked into the module are in CRATES.") . "\n";
    }
    return $result;
}

[, $licences, $sbom, $copyright] = $argv;
chdir(dirname(__DIR__));
$all = all_crates();
$crates = linked_crates($all);
file_put_contents($licences, licences($crates));
file_put_contents($sbom, sbom($crates));
file_put_contents($copyright, copyright($all));
