<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/**
 * Two copies of a value in a file, each with a number and a checksum.
 *
 * A write goes to the older copy. If a process is killed during the write, the checksum of that
 * copy is wrong and the other copy is the value. So a torn write changes nothing.
 */
final class TwoSlots
{
    /** The bytes of the number and the checksum. */
    private const FRAME = 16;

    private function __construct(public readonly ?string $value, private readonly int $number, private readonly int $slot) {}

    /** Reads the two copies, which follow each other. The value is null if neither is valid. */
    public static function read(string $bytes): self
    {
        $latest = new self(null, 0, 1);
        foreach (str_split($bytes, max(1, intdiv(strlen($bytes), 2))) as $slot => $copy) {
            $body = substr($copy, 0, -8);
            if (strlen($copy) <= self::FRAME || hash('xxh64', $body, true) !== substr($copy, -8)) {
                continue;
            }
            $number = unpack('J', $body, strlen($body) - 8)[1];
            if ($number > $latest->number) {
                $latest = new self(substr($body, 0, -8), $number, $slot);
            }
        }
        return $latest;
    }

    /**
     * Returns the place at which a new value is written, in bytes, and the copy to write there.
     *
     * @return array{int, string}
     */
    public function write(string $value): array
    {
        $body = $value . pack('J', $this->number + 1);
        $copy = $body . hash('xxh64', $body, true);
        return [(1 - $this->slot) * strlen($copy), $copy];
    }
}
