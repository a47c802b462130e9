<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

use TokenBucket\StorageException;

/**
 * The folder of the file. Only this process's user may enter it, so that nobody else can replace
 * the file, read it or hold its lock.
 */
final class Folder
{
    /** Network file systems. Their locks may not work, and their caches may show an old state. */
    private const NETWORK = '/^(nfs|cifs|smb|afs|ceph|lustre|9p|beegfs|gfs|ocfs|gpfs|fuse\.(?!fuse-overlayfs$))/';

    /**
     * Returns the user's folder. If something else has its name, returns one with a random name.
     * That folder is used from then on, also if the name is free again.
     */
    public static function ofUser(string $first): string
    {
        return Quiet::call(static function () use ($first): string {
            // Another user may also have moved a file of this user there.
            $others = static fn () => array_values(array_filter(glob("$first-*") ?: [], self::isSafe(...)));
            if ($others() === [] && @lstat($first) !== false && !self::isSafe($first)) {
                @mkdir(sprintf('%s-%016x%s', $first, hrtime(true), bin2hex(random_bytes(8))), 0700);
            }
            return $others()[0] ?? $first;
        });
    }

    private static function isSafe(string $folder): bool
    {
        try {
            self::check($folder, 'folder');
            return true;
        } catch (StorageException) {
            return false;
        }
    }

    /**
     * Opens a file of the folder for reading and writing, and creates both if they are missing.
     * Programs that this process starts do not inherit the file, because they would keep its lock.
     *
     * @return resource
     * @throws StorageException if the folder or the file is not safe to use
     */
    public static function open(string $folder, string $name)
    {
        return Quiet::call(static fn () => self::checked($folder, $name));
    }

    /** @return resource */
    private static function checked(string $folder, string $name)
    {
        clearstatcache(true, $folder);
        if (!file_exists($folder) && !is_link($folder) && !@mkdir($folder, 0700) && !is_dir($folder)) {
            throw self::refused($folder, 'cannot be created: ' . (error_get_last()['message'] ?? 'unknown error'));
        }
        self::check($folder, 'folder');
        if (self::isOnNetwork(function_exists('realpath') ? (string) realpath($folder) : $folder, (string) @file_get_contents('/proc/self/mounts'))) {
            throw self::refused($folder, 'is on a network file system');
        }
        $file = "$folder/$name";
        if (is_link($file) || file_exists($file)) {
            // Opening a pipe would block.
            self::check($file, 'file');
        }
        $handle = @fopen($file, 'c+be') ?: throw self::refused($file, 'cannot be opened: ' . (error_get_last()['message'] ?? 'unknown error'));
        self::check($file, 'file');
        // Checks that the path still names the file that was opened.
        [$opened, $named] = [fstat($handle), lstat($file)];
        if ([$opened['dev'], $opened['ino']] !== [$named['dev'], $named['ino']]) {
            throw self::refused($file, 'was replaced while it was opened');
        }
        return $handle;
    }

    /** Checks the kind, the owner and the mode of a path without following a link. */
    private static function check(string $path, string $kind): void
    {
        clearstatcache(true, $path);
        $status = @lstat($path) ?: throw self::refused($path, 'is missing');
        $type = $status['mode'] & 0170000;
        if ($type !== ($kind === 'folder' ? 0040000 : 0100000)) {
            throw self::refused($path, $type === 0120000 ? 'is a symbolic link' : "is not a $kind");
        }
        if (PHP_OS_FAMILY === 'Windows') {
            return;
        }
        if ($status['uid'] !== Process::user()) {
            throw self::refused($path, sprintf('belongs to user %d, not to user %d', $status['uid'], Process::user()));
        }
        if ($kind === 'folder' && ($status['mode'] & 0777) !== 0700) {
            throw self::refused($path, sprintf('has the mode %04o instead of 0700', $status['mode'] & 07777));
        }
        if ($kind === 'file' && $status['nlink'] > 1) {
            throw self::refused($path, 'has several names');
        }
    }

    /** $mounts is the text of /proc/self/mounts, which only Linux has. */
    public static function isOnNetwork(string $path, string $mounts): bool
    {
        return preg_match(self::NETWORK, self::fileSystem($path, $mounts)) === 1;
    }

    /** Returns the type of the file system of a path, or nothing if the mounts are not known. */
    public static function fileSystem(string $path, string $mounts): string
    {
        [$type, $longest] = ['', -1];
        foreach (explode("\n", $mounts) as $line) {
            $fields = explode(' ', $line);
            // The kernel writes a space in a path as \040.
            $point = rtrim(stripcslashes($fields[1] ?? ''), '/');
            // A later mount at the same point hides the earlier one.
            if (isset($fields[2]) && str_starts_with("$path/", "$point/") && strlen($point) >= $longest) {
                [$type, $longest] = [$fields[2], strlen($point)];
            }
        }
        return $type;
    }

    private static function refused(string $path, string $reason): StorageException
    {
        return new StorageException("tokenbucket/polyfill cannot use $path: it $reason. Set tokenbucket.polyfill_folder in php.ini to a folder that only this user may enter, on a local disk");
    }
}
