<?php
/**
 * Writes the licences and the list of the crates that are linked into the extension.
 *
 *     php -n scripts/crates.php LICENCES SBOM
 *
 * LICENCES is a text: the licence of this project, then each text of a licence with the crates that
 * it covers. SBOM is the software bill of materials as CycloneDX 1.5. Both files depend only on
 * Cargo.lock, so they are the same in each build.
 */

/** @return array<string, array> the data of cargo about the linked crates, by "name version" */
function linked_crates(): array
{
    // Lists the crates without those that run only during the build.
    $tree = run('cargo tree --locked --package tokenbucket --edges normal,no-proc-macro --target x86_64-unknown-linux-gnu --prefix none --no-dedupe');
    preg_match_all('/^(\S+) v(\S+)/m', $tree, $names, PREG_SET_ORDER);
    $linked = array_flip(array_map(fn ($name) => "$name[1] $name[2]", $names));
    $crates = [];
    foreach (json_decode(run('cargo metadata --locked --format-version 1'), true)['packages'] as $crate) {
        $crates["$crate[name] $crate[version]"] = $crate;
    }
    $missing = array_diff_key($linked, $crates);
    $missing === [] || throw new RuntimeException('cargo metadata lacks ' . implode(', ', array_keys($missing)));
    $crates = array_intersect_key($crates, $linked);
    ksort($crates);
    // Crates of this repository have no source.
    return array_filter($crates, fn ($crate) => $crate['source'] !== null);
}

function run(string $command): string
{
    exec($command, $lines, $code);
    $code === 0 || throw new RuntimeException("$command: exit code $code");
    return implode("\n", $lines);
}

/** Returns each text of a licence once, with the crates that it covers. */
function licences(array $crates): string
{
    $texts = [];
    foreach ($crates as $name => $crate) {
        $files = glob(dirname($crate['manifest_path']) . '/{LICEN[CS]E,COPYING,UNLICENSE,NOTICE,COPYRIGHT}*', GLOB_BRACE);
        foreach (array_filter($files, is_file(...)) as $file) {
            $texts[trim(file_get_contents($file))][] = "$name ($crate[license])";
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

[, $licences, $sbom] = $argv;
chdir(dirname(__DIR__));
$crates = linked_crates();
file_put_contents($licences, licences($crates));
file_put_contents($sbom, sbom($crates));
