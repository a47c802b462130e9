<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

use TokenBucket\StorageException;

/**
 * Keeps permits as locks on files beside the file of the buckets, one for each cell that is held.
 * The kernel drops the lock of a process that dies, so no clock decides.
 *
 * Because of the store's lock, calls of acquire() and held() run one after the other. So while one
 * call tests the cells, no cell becomes held, and no other call takes the test's lock for a permit.
 */
final class PermitFiles implements Permits
{
    /** @var array<int, array{int, resource}> the process and the handle of each lock */
    private array $locks = [];

    public function __construct(private readonly FileStore $store)
    {
        // Each permit is an open file. Without a descriptor, PHP could not read this class.
        class_exists(StorageException::class);
    }

    public function acquire(string $key, int $limit): ?HeldPermit
    {
        return $this->store->together(function () use ($key, $limit): ?HeldPermit {
            $this->closeCopies();
            $existing = $this->existing($key, $limit);
            $missing = array_diff(range(0, $limit - 1), $existing);
            // Files exist for the permits that are held, and for those of processes that died.
            foreach ([...$missing, ...$existing] as $cell) {
                $lock = $this->lock($this->file($key, $cell));
                if ($lock !== null) {
                    return $this->permit($this->file($key, $cell), $lock, max(0, count($missing) - 1));
                }
            }
            return null;
        });
    }

    public function held(string $key, int $limit): int
    {
        return $this->store->together(function () use ($key, $limit): int {
            $this->closeCopies();
            return $this->locked(array_map(fn (int $cell) => $this->file($key, $cell), $this->existing($key, $limit)));
        });
    }

    /** Returns the number of permits of all keys that are held. */
    public function heldOfAllKeys(): int
    {
        return $this->store->together(fn () => $this->locked($this->files($this->store->path() . '-permit-')));
    }

    /**
     * Returns the number of locked files. Removes the others, because their processes died.
     *
     * @param list<string> $files
     */
    private function locked(array $files): int
    {
        $locked = 0;
        foreach ($files as $file) {
            $lock = $this->lock($file);
            $lock === null ? $locked++ : $this->release($file, $lock);
        }
        return $locked;
    }

    private function file(string $key, int $cell): string
    {
        return $this->store->path() . '-permit-' . bin2hex(substr($key, 0, 16)) . "-$cell";
    }

    /** @return list<int> the cells below the limit that have a file */
    private function existing(string $key, int $limit): array
    {
        $start = substr($this->file($key, 0), 0, -1);
        $cells = array_map(static fn (string $file) => (int) substr($file, strlen($start)), $this->files($start));
        return array_values(array_filter($cells, static fn (int $cell) => $cell < $limit));
    }

    /** @return list<string> the files of permits whose path has this start */
    private function files(string $start): array
    {
        // The path of a folder may have the special characters of glob().
        return glob(preg_replace('/[*?\[\]]/', '[$0]', $start) . '*') ?: [];
    }

    /** Locks a file and returns the number of the lock, or null if another owner has locked it. */
    private function lock(string $file): ?int
    {
        do {
            $handle = Quiet::call(static fn () => @fopen($file, 'c+be')) ?: throw new StorageException("tokenbucket/polyfill cannot open $file: " . (error_get_last()['message'] ?? ''));
            $isLocked = flock($handle, LOCK_EX | LOCK_NB);
            if (!$isLocked && self::isOfDeadProcess((string) fgets($handle))) {
                Quiet::call(static fn () => @unlink($file));
            }
            // A permit that ended meanwhile has removed the file.
        } while (fstat($handle)['nlink'] === 0);
        if (!$isLocked) {
            return null;
        }
        // Without an owner, for example on a full disk, the lock only lasts as long as its process.
        Quiet::call(static fn () => @ftruncate($handle, 0) && @fwrite($handle, (string) self::owner(Process::id())));
        $this->locks[] = [Process::id(), $handle];
        return array_key_last($this->locks);
    }

    /** Reports whether the owner of a lock has died. Its forked children may keep the lock. */
    private static function isOfDeadProcess(string $owner): bool
    {
        [$namespace, $process] = explode(' ', $owner) + ['', ''];
        [$own] = explode(' ', (string) self::owner(Process::id()));
        return $namespace !== '' && $namespace === $own && self::owner((int) $process) !== $owner;
    }

    /** Returns the namespace, the id and the start of a live process, or null if unknown. */
    private static function owner(int $process): ?string
    {
        $read = static fn () => [@readlink('/proc/self/ns/pid'), @file_get_contents("/proc/$process/stat")];
        [$namespace, $status] = Quiet::call($read);
        // The name of the process, in brackets, may contain any bytes.
        return preg_match('/.*\) [^ZX] (?:\S+ ){18}(\d+) /s', (string) $status, $found) ? "$namespace $process $found[1]" : null;
    }

    private function permit(string $file, int $lock, int $free): HeldPermit
    {
        return new HeldPermit($free, fn () => $this->release($file, $lock), fn () => $this->isNamed($lock), true);
    }

    private function isNamed(int $lock): bool
    {
        return isset($this->locks[$lock]) && fstat($this->locks[$lock][1])['nlink'] > 0;
    }

    private function release(string $file, int $lock): void
    {
        if ($this->isNamed($lock)) {
            Quiet::call(static fn () => @unlink($file));
        }
        if (isset($this->locks[$lock])) {
            flock($this->locks[$lock][1], LOCK_UN);
            unset($this->locks[$lock]);
        }
    }

    /** Closes a forked child's copies of locks, which would outlive the parent. */
    private function closeCopies(): void
    {
        $this->locks = array_filter($this->locks, static fn (array $lock) => $lock[0] === Process::id());
    }
}
