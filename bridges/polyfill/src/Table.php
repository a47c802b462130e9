<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

use TokenBucket\StorageException;

/**
 * The records in the file: pages of 32 records of 128 bytes. The hash of a key selects its page.
 *
 * The caller holds the file's lock. A new record takes the place of one that has ended. If a page
 * is full, all live records are copied to new pages elsewhere in the file, and the header then
 * names these. So at every instant, the header names pages that are whole.
 */
final class Table
{
    private const HEADER = 4096;
    private const PAGE = 4096;
    private const RECORD = 128;
    /** A key, the two numbers of a record, and 16 bytes for later versions. */
    private const VALUE = 48;
    private const LEAST_PAGES = 16;
    /** Pages are made for this number of live records each, and hold four times as many. */
    private const LOAD = 8;
    private const HOUR = 3600 * Quota::SECOND;

    /** Counts the writes, so that a call notices if another call has written in between. */
    public int $writes = 0;

    /** @param resource $handle */
    public function __construct(private $handle, private readonly string $path) {}

    /** Returns the header. Makes a new one with $make for a file that was never finished. */
    public function header(\Closure $make): Header
    {
        while (true) {
            $writes = $this->writes;
            $header = Header::decode(TwoSlots::read($this->read(0, Header::SIZE))->value ?? '');
            if ($header !== null) {
                return $header;
            }
            if (fstat($this->handle)['size'] >= self::HEADER) {
                throw new StorageException("tokenbucket/polyfill: $this->path is damaged or of another version. Remove it to start with full buckets");
            }
            if ($this->putHeader($make(self::HEADER, self::LEAST_PAGES), $writes)) {
                ftruncate($this->handle, self::HEADER + self::LEAST_PAGES * self::PAGE);
            }
        }
    }

    /** Writes the header, unless another call has written since $writes. */
    public function putHeader(Header $header, int $writes): bool
    {
        [$offset, $copy] = TwoSlots::read($this->read(0, Header::SIZE))->write($header->encode());
        $isWritten = $this->write($offset, $copy, $writes);
        $this->writes += (int) $isWritten;
        return $isWritten;
    }

    /** Finds the record of a key, also one that has ended if $evenEnded is true. */
    public function find(Header $header, string $key, int $now, bool $evenEnded): Place
    {
        $start = $this->pageOf($header, $key);
        $page = $this->read($start, self::PAGE);
        for ($at = strpos($page, $key); $at !== false; $at = strpos($page, $key, $at + 1)) {
            $offset = $at - $at % self::RECORD;
            $slots = TwoSlots::read(substr($page, $offset, self::RECORD));
            if (substr($slots->value ?? '', 0, 16) === $key) {
                $record = self::record($slots);
                return new Place($start + $offset, $slots, !$evenEnded && $record?->isEnded($now) ? null : $record);
            }
        }
        return new Place(null, TwoSlots::read(''), null);
    }

    /**
     * Writes a record, or frees its place if it is null. Returns false if nothing was written,
     * because another call has written since $writes, or because there are new pages. Find the
     * record again then.
     */
    public function put(Header $header, Place $place, string $key, ?Record $record, int $writes, int $now): bool
    {
        if ($place->position === null) {
            $place = $this->room($header, $key, $now);
            if ($place === null) {
                $this->rebuild($header, $now, $writes);
                return false;
            }
        }
        $value = $record === null ? str_repeat("\0", self::VALUE) : str_pad($key . pack('J2', $record->emptyAt, $record->span), self::VALUE, "\0");
        [$offset, $copy] = $place->slots->write($value);
        $isWritten = $this->write($place->position + $offset, $copy, $writes);
        $this->writes += (int) $isWritten;
        return $isWritten;
    }

    /** Returns a place for a new record of a key, or null if its page is full. */
    private function room(Header $header, string $key, int $now): ?Place
    {
        if ($header->pages > self::LEAST_PAGES && $now - $header->rebuilt > self::HOUR) {
            return null;
        }
        $start = $this->pageOf($header, $key);
        foreach (str_split($this->read($start, self::PAGE), self::RECORD) as $index => $bytes) {
            $slots = TwoSlots::read($bytes);
            if (self::record($slots)?->isEnded($now) ?? true) {
                return new Place($start + $index * self::RECORD, $slots, null);
            }
        }
        return null;
    }

    /** Returns the record, or null if the place is free. */
    private static function record(TwoSlots $slots): ?Record
    {
        if ($slots->value === null || str_starts_with($slots->value, str_repeat("\0", 16))) {
            return null;
        }
        return new Record(...array_values(unpack('J2', $slots->value, 16)));
    }

    private function pageOf(Header $header, string $key): int
    {
        return $header->region + self::index($key, $header->pages) * self::PAGE;
    }

    private static function index(string $key, int $pages): int
    {
        return unpack('N', $key)[1] & $pages - 1;
    }

    /** Copies the live records to new pages: fewer if many have ended, more if a page is full. */
    private function rebuild(Header $header, int $now, int $writes): void
    {
        $full = $now - $header->rebuilt <= self::HOUR;
        $pages = self::LEAST_PAGES;
        for ($live = $this->usage($header, $now)['live']; $pages * self::LOAD < $live;) {
            $pages *= 2;
        }
        $pages = $full ? max($pages, 2 * $header->pages) : $pages;
        while (!$this->copy($header, $pages, $now, $writes)) {
            $pages *= 2;
        }
    }

    /**
     * Copies the live records to $pages pages. Returns false if a page would be too full. Stops and
     * returns true if a signal handler or a destructor has written to the file meanwhile.
     */
    private function copy(Header $header, int $pages, int $now, int $writes): bool
    {
        $size = $pages * self::PAGE;
        // The new pages are before the old ones if they fit there, otherwise after them.
        $isBefore = self::HEADER + $size <= $header->region;
        $region = $isBefore ? self::HEADER : $header->region + $header->pages * self::PAGE;
        for ($index = 0; $index < $pages; $index++) {
            $page = '';
            // Both numbers are powers of two.
            for ($old = $index % $header->pages; $old < $header->pages; $old += $pages) {
                foreach ($this->live($header, $old, $now) as $value) {
                    if (self::index($value, $pages) === $index) {
                        $page .= str_pad(TwoSlots::read('')->write($value)[1], self::RECORD, "\0");
                    }
                }
            }
            if (strlen($page) > self::PAGE) {
                return false;
            }
            if (!$this->write($region + $index * self::PAGE, str_pad($page, self::PAGE, "\0"), $writes)) {
                return true;
            }
        }
        if ($this->putHeader($header->with(region: $region, pages: $pages, rebuilt: $now), $writes) && $isBefore && $this->writes === $writes + 1) {
            ftruncate($this->handle, $region + $size);
        }
        return true;
    }

    /** @return iterable<string> the values of the live records of a page */
    private function live(Header $header, int $index, int $now): iterable
    {
        foreach (str_split($this->read($header->region + $index * self::PAGE, self::PAGE), self::RECORD) as $bytes) {
            $slots = TwoSlots::read($bytes);
            if (self::record($slots)?->isEnded($now) === false) {
                yield $slots->value;
            }
        }
    }

    /** @return array{size: int, slots: int, live: int} the bytes of the file, and its records */
    public function usage(Header $header, int $now): array
    {
        $live = 0;
        for ($index = 0; $index < $header->pages; $index++) {
            $live += iterator_count($this->live($header, $index, $now));
        }
        return ['size' => fstat($this->handle)['size'], 'slots' => $header->pages * intdiv(self::PAGE, self::RECORD), 'live' => $live];
    }

    private function read(int $position, int $length): string
    {
        fseek($this->handle, $position);
        return (string) Quiet::call(fn () => @fread($this->handle, $length));
    }

    /**
     * Writes bytes, unless another call has written since $writes. A signal handler or a destructor
     * may call a bucket at nearly every place. None can run between the comparison and the write.
     */
    private function write(int $position, string $bytes, int $writes): bool
    {
        fseek($this->handle, $position);
        $written = Quiet::call(fn () => $this->writes === $writes ? @fwrite($this->handle, $bytes) : null);
        if ($written === null) {
            return false;
        }
        if ($written !== strlen($bytes)) {
            throw new StorageException("tokenbucket/polyfill cannot write $this->path: " . (error_get_last()['message'] ?? 'the disk is full'));
        }
        return true;
    }
}
