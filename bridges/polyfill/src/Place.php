<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/** The place of a record in the file. */
final class Place
{
    /**
     * @param ?int $position the position in the file, or null if the key has no place
     * @param ?Record $record the record, or null if there is none, or if it has ended
     */
    public function __construct(public readonly ?int $position, public readonly TwoSlots $slots, public readonly ?Record $record) {}
}
