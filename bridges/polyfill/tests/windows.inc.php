<?php

/**
 * Prints a hash of the windows of quotas with random anchors, around every change of clocks. The
 * extension and this package must print the same. An argument that is not 0 makes a control, in
 * which that many seconds are added to each anchor.
 */

declare(strict_types=1);

mt_srand(7);
foreach (DateTimeZone::listIdentifiers() as $name) {
    $zone = new DateTimeZone($name);
    $windows = [];
    foreach (array_slice($zone->getTransitions(gmmktime(0, 0, 0, 1, 1, 2020), gmmktime(0, 0, 0, 1, 1, 2041)), 1) as ['ts' => $change]) {
        // Many anchors have a time of day that the clocks skip or show twice.
        $anchor = (new DateTimeImmutable('@' . ($change + mt_rand(-400, 400) * 86400 + mt_rand(-8, 8) * 900 + (int) $argv[1])))->setTimezone($zone);
        foreach (TokenBucket\Period::cases() as $period) {
            $quota = new TokenBucket\Quota(new TokenBucketStorageMemory(), 'x', 1, $period, $anchor);
            foreach ([-86400, -1, 0, mt_rand(-7200, 7200), 86400] as $seconds) {
                foreach ($quota->window(new DateTimeImmutable('@' . ($change + $seconds))) as $date) {
                    $windows[] = $date->format('c');
                }
            }
        }
    }
    echo "$name ", count($windows), ' ', md5(implode("\n", $windows)), "\n";
}
