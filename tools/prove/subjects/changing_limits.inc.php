<?php
require_once __DIR__ . '/redis.inc.php';
require_once __DIR__ . '/shared_memory.inc.php';

/**
 * Two limits share a bucket: one that is full again after 50 ms, and one after two seconds. Each
 * round of the load has pauses after which the bucket is full under both.
 */
trait ChangingLimits
{
    protected function with_fpm(): bool
    {
        return false;
    }

    public function load(): array
    {
        $limits = [[900, 20, 400, 'name' => 900], [901, 40, 20, 'name' => 900]];
        return [
            'shared' => $limits,
            'own' => [],
            'costs' => 3,
            'length' => 5_000,
            // From and to this millisecond of a round, calls use this limit. At 0 and 4500 the
            // bucket is full, at 600 it is not full under the longer span.
            'phases' => [[0, 50, 1], [300, 350, 0], [600, 650, 1], [900, 950, 0], [4500, 4550, 0]],
        ] + self::PLAIN + parent::load();
    }
}

/** Limits that share a bucket in shared memory. */
final class ChangingMemorySubject extends SharedMemorySubject
{
    use ChangingLimits;
}

/** Limits that share a bucket on Redis. No state or reply is lost. */
final class ChangingRedisSubject extends RedisSubject
{
    use ChangingLimits;

    protected function store_faults(): array
    {
        return ['server stopped' => parent::store_faults()['server stopped']];
    }

    public function losses(): array
    {
        return [];
    }
}
