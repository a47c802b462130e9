<?php
require_once __DIR__ . '/userland_bucket.php';

/**
 * The algorithm of the published PDO storage on APCu.
 *
 * The storage changes a bucket with apcu_cas(), which is atomic and needs no lock.
 */
final class ApcuStorage implements TokenBucketStorage
{
    public function prepare()
    {
    }

    public function bootstrap($identifier, $microtime)
    {
        // apcu_cas() compares integers.
        apcu_add($identifier, (int) round($microtime * 1e6));
    }

    public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure)
    {
        do {
            $empty_at = apcu_fetch($identifier, $found);
            if (!$found) {
                return $bootstrap_closure() ? true : false;
            }
            $now = microtime(true);
            $available = min($now - $empty_at / 1e6, $full_microtime);
            if (UserlandTokenBucket::compare_microtimes($microtime, $available) > 0) {
                return false;
            }
        } while (!apcu_cas($identifier, $empty_at, (int) round(($now - $available + $microtime) * 1e6)));
        return true;
    }
}
