<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/** This process, also on hosts that disable functions of PHP. */
final class Process
{
    /** The functions without which no bucket works. */
    private const NEEDED = ['fopen', 'flock', 'fstat', 'lstat', 'ftruncate', 'mkdir', 'unlink', 'glob', 'hrtime', 'time_nanosleep', 'sys_get_temp_dir'];

    /** @return list<string> the needed functions that this host disables */
    public static function missing(): array
    {
        return array_values(array_filter(self::NEEDED, static fn (string $name) => !function_exists($name)));
    }

    /** Returns the id of this process, or 0 if it is unknown. */
    public static function id(): int
    {
        return function_exists('getmypid') ? getmypid() : (int) Quiet::call(static fn () => @readlink('/proc/self'));
    }

    /** Returns the user id of this process. getmyuid() would be that of the script. */
    public static function user(): int
    {
        if (function_exists('posix_geteuid')) {
            return posix_geteuid();
        }
        if (function_exists('tmpfile')) {
            return fstat(tmpfile())['uid'];
        }
        $file = tempnam(sys_get_temp_dir(), 'tokenbucket');
        $user = fileowner($file);
        unlink($file);
        return $user;
    }
}
