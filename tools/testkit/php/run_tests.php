<?php
/**
 * Copies PHP's run-tests.php, and changes its verdicts.
 *
 *   php run_tests.php FROM TO
 *
 * A failed test is not run again. A test that ends with inconclusive() is run again twice, unless
 * it printed something wrong or leaked before. If it stays inconclusive, it counts as "warned",
 * which is no other test. A test whose server is not installed is skipped.
 */

/** Reports whether a test ended with "inconclusive" or "skip", after only what it should print. */
function ended_with(string $word, string $output, string $wanted, ?string $wanted_re): bool
{
    $lines = explode("\n", $output);
    if (!str_starts_with(array_pop($lines), "$word: ")) {
        return false;
    }
    $first = implode("\n", array_slice(explode("\n", $wanted_re ?? $wanted), 0, count($lines)));
    $printed = implode("\n", $lines);
    return $wanted_re === null ? $printed === $first : @preg_match("/^$first\$/s", $printed) === 1;
}

// The copy declares the function above, too.
$function = new ReflectionFunction('ended_with');
$lines = array_slice(file(__FILE__), $function->getStartLine() - 1, $function->getEndLine() - $function->getStartLine() + 1);
$verdict = '!$leaked && ended_with("inconclusive", $output, $wanted, $wanted_re)';
$skip = <<<'PHP'
    if (!$passed && !$leaked && ended_with('skip', $output, $wanted, $wanted_re)) {
            @unlink($test_file);
            return skip_test($tested, $tested_file, $shortname, substr(strrchr($output, ':'), 2));
        }
        $restype = [];
    PHP;
$changes = [
    '!$retried && error_may_be_retried($test, $output)' => "\$retried < 2 && $verdict",
    '$retried = true;' => '$retried = 1 + (int) $retried;',
    // Passed at last.
    '} elseif ($retried) {' => '} elseif (false) {',
    '$restype = [];' => ltrim($skip),
    "\$restype[] = 'FAIL';" => "\$restype[] = $verdict ? 'WARN' : 'FAIL';",
    " || \$sum_results['WARNED']" => '',
    'function is_flaky_output(' => implode('', $lines) . "\nfunction is_flaky_output(",
];
$text = file_get_contents($argv[1]);
foreach ($changes as $from => $to) {
    substr_count($text, $from) === 1 || exit("$argv[1] has another form: $from\n");
    $text = str_replace($from, $to, $text);
}
file_put_contents($argv[2], $text);
