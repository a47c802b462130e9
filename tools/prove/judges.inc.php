<?php
/**
 * Judges a log, and asks the second judge, too. That one knows the upper bound of buckets and the
 * rules of permits.
 *
 * @return array{string, int} the output and the exit code. The code is 0 if the rules hold, 1 if a
 *         rule is broken, and 2 if the log proves nothing or the judges disagree
 */
function judge(string $log): array
{
    $log = escapeshellarg($log);
    exec(escapeshellarg(getenv('PROVE_JUDGE')) . " $log", $told, $code);
    exec('python3 ' . escapeshellarg(__DIR__ . '/second_judge.py') . " $log 2>&1", $second);
    [$ours, $theirs] = array_map(faults_that_both_know(...), [$told, $second]);
    if ($ours !== $theirs || $second === []) {
        return [implode("\n  ", [...$told, 'THE SECOND JUDGE DISAGREES:', ...$second]), 2];
    }
    return [implode("\n", [...$told, '  the second judge agrees on ' . (count($ours) ?: 'no') . ' faults']), $code];
}

/** @return list<string> the first faults of the rules of permits and of rule 1 of buckets */
function faults_that_both_know(array $told): array
{
    preg_match_all('/^ *(\(\d\) key \d+|\(1\) bucket .*)/m', implode("\n", $told), $faults);
    sort($faults[1], SORT_STRING);
    return array_slice($faults[1], 0, 6);
}
