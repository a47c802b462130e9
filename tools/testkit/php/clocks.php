<?php
/**
 * Runs PHP with other clocks. libfaketime makes the wall clock wrong, and the monotonic clocks stay
 * right. A time namespace of the kernel changes the time since the boot.
 */

/**
 * Returns the command that runs another one as if the host had been up for $seconds. Returns an
 * empty string if the kernel or this user cannot.
 */
function at_uptime(int $seconds): string
{
    $boot = $seconds - (int) file_get_contents('/proc/uptime');
    // The two clocks differ if the host has been suspended.
    $monotonic = $seconds - hrtime()[0];
    foreach (['', ' --user --map-current-user'] as $user) {
        $command = "unshare$user --time --fork --kill-child --boottime $boot --monotonic $monotonic";
        $uptime = (string) exec("$command cat /proc/uptime 2>/dev/null");
        if ($uptime !== '' && abs((float) $uptime - $seconds) < 60) {
            return $command;
        }
    }
    return '';
}

/** Reports whether libfaketime is installed. */
function can_set_clocks(): bool
{
    return glob('/usr/lib/*/faketime/libfaketime.so.1') !== [];
}

/**
 * Creates a module in a file. It loads libfaketime first and the extension second. PHP may load
 * extensions with RTLD_DEEPBIND, which makes them find libc before a library in LD_PRELOAD.
 */
function link_to_faketime(string $extension, string $file): void
{
    [$library] = glob('/usr/lib/*/faketime/libfaketime.so.1');
    // Rust 1.96 writes this name into the extension, and the module looks for it.
    $name = dirname($file) . '/libtokenbucket.so';
    is_link($name) || symlink($extension, $name);
    $folders = dirname($library) . ':' . dirname($file);
    $arguments = ['cc', '-shared', '-o', $file, "-Wl,--no-as-needed,-rpath,$folders", $library, $extension];
    exec(implode(' ', array_map(escapeshellarg(...), $arguments)) . ' 2>&1', $told, $code);
    if ($code !== 0) {
        throw new RuntimeException(implode("\n", $told));
    }
}

/** Returns the environment in which the module reads the error of the clock from a file. */
function environment_of_clock(string $file): string
{
    // A PHP that loads extensions without RTLD_DEEPBIND needs LD_PRELOAD.
    [$library] = glob('/usr/lib/*/faketime/libfaketime.so.1');
    return "env LD_PRELOAD=$library FAKETIME_TIMESTAMP_FILE=$file FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1 FAKETIME_DONT_RESET=1";
}

/**
 * Creates a program that runs another one with a clock that libfaketime sets, for example "+90s".
 * The allocator of Redis reads the clock while libfaketime starts, and would wait for ever. So the
 * allocator of libc comes first.
 */
function create_with_clock(string $file, string $program, string $clock): void
{
    skip_without($program);
    [$library] = glob('/usr/lib/*/faketime/libfaketime.so.1');
    [$allocator] = glob('/usr/lib/*/libc_malloc_debug.so.0');
    file_put_contents($file, "#!/bin/sh
        export LD_PRELOAD=$allocator:$library FAKETIME='$clock' FAKETIME_DONT_FAKE_MONOTONIC=1
        exec $program \"\$@\"\n");
    chmod($file, 0755);
    chmod(dirname($file), 0755);
}

/** Sets the error of the clocks that read this file. */
function set_clock(string $file, int $microseconds): void
{
    // The file is replaced atomically, because a partly written file would set another time.
    file_put_contents("$file.next", sprintf('%+.6f', $microseconds / 1e6));
    rename("$file.next", $file);
}
