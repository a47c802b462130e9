<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/** The first values of the file. */
final class Header
{
    /** The bytes of its two copies in the file. */
    public const SIZE = 2 * 104;

    /** The first bytes, with the version of the layout. */
    public const MAGIC = "TBUCKET\x02";

    /**
     * @param string $secret 16 bytes that key the hashes, so that no client can choose keys that
     *     fall into one page
     * @param int $region the position of the pages in the file
     * @param int $pages the number of pages, a power of two
     * @param int $offset the instant minus the monotonic clock, in ticks
     * @param int $latest an instant that was reached, at most a second before the latest one
     * @param int $wall the wall clock at $latest, in microseconds
     * @param int $created the instant at which the file was created
     * @param int $rebuilt the instant at which the pages were written
     * @param int $epoch the Unix time of the instant 0, by the wall clock when the file was created
     */
    public function __construct(
        public readonly string $secret,
        public readonly int $region,
        public readonly int $pages,
        public readonly int $offset,
        public readonly int $latest,
        public readonly int $wall,
        public readonly int $created,
        public readonly int $rebuilt,
        public readonly int $epoch,
    ) {}

    /** Returns the header with other values, by name. */
    public function with(int ...$values): self
    {
        return new self(...[...get_object_vars($this), ...$values]);
    }

    public function encode(): string
    {
        return self::MAGIC . $this->secret
            . pack('J8', $this->region, $this->pages, $this->offset, $this->latest, $this->wall, $this->created, $this->rebuilt, $this->epoch);
    }

    public static function decode(string $bytes): ?self
    {
        if (!str_starts_with($bytes, self::MAGIC)) {
            return null;
        }
        return new self(substr($bytes, 8, 16), ...array_values(unpack('J8', $bytes, 24)));
    }
}
