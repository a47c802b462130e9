<?php
/**
 * Copies the tree to target/planted and plants the faults of planted.txt in the copy.
 * The copy runs as released until `--plant NUMBER` of the simulator chooses a fault.
 */

chdir(__DIR__ . '/../..');
$files = shell_exec('git ls-files -z --cached --others --exclude-standard -- Cargo.toml src crates tools/prove tools/simulate');
$texts = [];
foreach (array_filter(explode("\0", $files), is_file(...)) as $file) {
    $texts[$file] = file_get_contents($file);
}
preg_match_all('/^@ (\d+) (\S+): .*\n-(.*)\n\+(.*)$/m', file_get_contents(__DIR__ . '/planted.txt'), $faults, PREG_SET_ORDER);
foreach ($faults as [, $number, $file, $old, $new]) {
    if (substr_count($texts[$file], "$old\n") !== 1) {
        fwrite(STDERR, "Fault $number: not exactly one line of $file is \"$old\".\n");
        exit(1);
    }
    $texts[$file] = str_replace("$old\n", "$new\n", $texts[$file]);
}
$texts['crates/gcra/src/lib.rs'] .= <<<'RUST'

/// The fault that is planted.
pub static PLANTED: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
pub fn planted(number: u32) -> bool {
    PLANTED.load(std::sync::atomic::Ordering::Relaxed) == number
}

RUST;
foreach ($texts as $file => $text) {
    // A file that is the same keeps its time, so that cargo compiles only what has changed.
    if (@file_get_contents("target/planted/$file") !== $text) {
        @mkdir(dirname("target/planted/$file"), 0777, true);
        file_put_contents("target/planted/$file", $text);
    }
}
