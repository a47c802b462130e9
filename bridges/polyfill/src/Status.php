<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/**
 * Makes the reports of status() and metrics(). Calls are not counted, because each count would be
 * another write.
 */
final class Status
{
    private const NOT_COUNTED = [
        'granted', 'denied', 'refunds', 'resets', 'inserted', 'reclaimed', 'adopted', 'duplicates', 'stolen', 'conflicts',
        'contended', 'refused', 'evicted', 'blocked',
    ];

    public static function fields(): array
    {
        $store = FileStore::ofApplication();
        $usage = $store->usage();
        return [
            'version' => Settings::VERSION,
            'polyfill' => true,
            'shared_memory' => [
                'backing' => 'file',
                'path' => $store->path(),
                'size' => $usage['size'],
                'full' => 'grow',
                'slots' => $usage['slots'],
                'live' => $usage['live'],
                'reclaimable' => 0,
                'pending' => 0,
                'empty' => $usage['slots'] - $usage['live'],
                ...array_fill_keys(self::NOT_COUNTED, 0),
                'evicted_seconds' => 0.0,
                'evicted_seconds_max' => 0.0,
                'age' => $usage['age'],
            ],
            'decisions' => [],
            'most_denied' => [],
            'permits' => ['held' => $store->permits()->heldOfAllKeys(), 'denied' => 0, 'taken_back' => 0, 'foreign' => 0, 'unavailable' => null],
            'remote' => array_fill_keys(['asked', 'cached', 'failed', 'opened', 'local', 'allowed', 'denied', 'thrown', 'set_back', 'taken_ahead', 'used_ahead', 'dropped_ahead'], 0),
            'stores' => [],
        ];
    }

    public static function metrics(): string
    {
        $memory = self::fields()['shared_memory'];
        return sprintf(
            <<<'TEXT'
                # HELP tokenbucket_info The extension and its shared memory.
                # TYPE tokenbucket_info gauge
                tokenbucket_info{version="%s",backing="file",full="grow",polyfill="true"} 1
                # HELP tokenbucket_segment_bytes Size of the segment.
                # TYPE tokenbucket_segment_bytes gauge
                # UNIT tokenbucket_segment_bytes bytes
                tokenbucket_segment_bytes %d
                # HELP tokenbucket_slots Slots by state, estimated in a large table.
                # TYPE tokenbucket_slots gauge
                tokenbucket_slots{state="live"} %d
                tokenbucket_slots{state="empty"} %d
                # EOF

                TEXT,
            Settings::VERSION,
            $memory['size'],
            $memory['live'],
            $memory['empty']
        );
    }
}
