<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

use TokenBucket\StorageException;

/**
 * Keeps records in one file that all processes of a user on this host share. A lock on the file
 * makes each change atomic. The kernel drops the lock of a process that dies.
 */
final class FileStore implements Store
{
    /** @var array<string, self> the stores of this process by path */
    private static array $stores = [];

    private ?Table $table = null;

    private ?Permits $permits = null;

    /**
     * @var ?resource the file while a call runs. Between calls it is closed, so that a forked child
     *     inherits no lock
     */
    private $handle = null;

    /** @var array{int, int} the device and the inode of the file that was checked */
    private array $checked = [0, 0];

    private int $process = 0;

    /** The calls of together() that are running. More than one is a call inside another one. */
    private int $depth = 0;

    public function __construct(private readonly string $folder, private readonly string $name, private readonly Clock $clock = new Clock()) {}

    /** Returns the store of this application. */
    public static function ofApplication(): self
    {
        [$folder, $name] = [Settings::folder(), Settings::file()];
        return self::$stores["$folder/$name"] ??= new self($folder, $name);
    }

    public function path(): string
    {
        return "$this->folder/$this->name";
    }

    public function update(string $key, \Closure $change, bool $evenEnded = false): mixed
    {
        return $this->together(function () use ($key, $change, $evenEnded): mixed {
            do {
                // The monotonic clock is read after the wall clock. So a pause between the two
                // reads lengthens the life of the record of a window, and never ends it before the
                // window.
                $unixTime = $this->unixTime();
                [$header, $now, $writes] = $this->instant();
                $hash = substr(hash('sha256', $header->secret . $key, true), 0, 16);
                $place = $this->table->find($header, $hash, $now, $evenEnded);
                [$after, $answer] = $change($place->record, $now, $unixTime, $header->epoch);
            } while ($after !== $place->record && !$this->table->put($header, $place, $hash, $after, $writes, $now));
            return $answer;
        });
    }

    public function together(\Closure $calls): mixed
    {
        if ($this->process !== Process::id()) {
            // A child that was forked in a call has a copy of its parent's file.
            [$this->process, $this->depth] = [Process::id(), 0];
        }
        if ($this->depth === 0) {
            $this->lock();
        }
        $this->depth++;
        try {
            return $calls();
        } finally {
            if (--$this->depth === 0) {
                flock($this->handle, LOCK_UN);
                $this->table = $this->handle = null;
            }
        }
    }

    public function now(): int
    {
        return $this->together(fn () => $this->instant()[1]);
    }

    public function unixTime(): int
    {
        return 1000 * $this->clock->wall();
    }

    public function permits(): Permits
    {
        return $this->permits ??= new PermitFiles($this);
    }

    public function sleepUntil(int $due): bool
    {
        while (($left = $due - $this->now()) > 0) {
            if (!Nap::take($left)) {
                return false;
            }
        }
        return true;
    }

    /** @return array{size: int, slots: int, live: int, age: float} */
    public function usage(): array
    {
        return $this->together(function (): array {
            [$header, $now] = $this->instant();
            return [...$this->table->usage($header, $now), 'age' => Seconds::fromTicks($now - $header->created)];
        });
    }

    /** Opens the file. Checks it again if it is another one than in the call before. */
    private function open(): void
    {
        $this->handle = Quiet::call(fn () => @fopen($this->path(), 'r+be')) ?: null;
        if ($this->handle === null || $this->identity() !== $this->checked) {
            $this->handle = Folder::open($this->folder, $this->name);
            $this->checked = $this->identity();
        }
        stream_set_read_buffer($this->handle, 0);
        stream_set_write_buffer($this->handle, 0);
        $this->table = new Table($this->handle, $this->path());
    }

    /** @return array{int, int} */
    private function identity(): array
    {
        $status = fstat($this->handle);
        return [$status['dev'], $status['ino']];
    }

    private function lock(): void
    {
        $this->open();
        for ($tries = 0; $tries < 1000; $tries++) {
            // A signal may interrupt the wait for the lock.
            if (!flock($this->handle, LOCK_EX)) {
                continue;
            }
            if (fstat($this->handle)['nlink'] > 0) {
                return;
            }
            // The file was removed. Other processes use a new one.
            $this->open();
        }
        throw new StorageException('tokenbucket/polyfill cannot lock ' . $this->path());
    }

    /**
     * Returns the header and the current instant, which never goes back.
     *
     * If the host has started again, its monotonic clock is behind the file. Then the time since
     * the last known instant is that of the wall clock.
     *
     * @return array{Header, int, int} the header, the instant, and $writes of the table before the
     *     header was read
     */
    private function instant(): array
    {
        do {
            $writes = $this->table->writes;
            $header = $this->table->header($this->firstHeader(...));
            $monotonic = $this->clock->monotonic();
            $now = $monotonic + $header->offset;
            if ($now < $header->latest) {
                $passed = 1000 * max(0, min($this->clock->wall() - $header->wall, intdiv(Quota::MOST, 1000)));
                $now = $header->latest + $passed;
            } elseif ($now < $header->latest + Quota::SECOND) {
                return [$header, $now, $writes];
            }
            $header = $header->with(offset: $now - $monotonic, latest: $now, wall: $this->clock->wall());
        } while (!$this->table->putHeader($header, $writes));
        return [$header, $now, $writes + 1];
    }

    private function firstHeader(int $region, int $pages): Header
    {
        $offset = Quota::MOST - $this->clock->monotonic();
        $wall = $this->clock->wall();
        return new Header(random_bytes(16), $region, $pages, $offset, Quota::MOST, $wall, Quota::MOST, Quota::MOST, 1000 * $wall - Quota::MOST);
    }
}
