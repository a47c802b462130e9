<?php

/** Creates an empty folder for the file of the buckets. It is removed when this process ends. */
function new_folder(): string
{
    $folder = sys_get_temp_dir() . '/tokenbucket-test-' . bin2hex(random_bytes(8));
    mkdir($folder, 0700);
    $process = getmypid();
    // The inner function runs after those that the test registers later.
    register_shutdown_function(static fn () => register_shutdown_function(static function () use ($folder, $process): void {
        if (getmypid() === $process) {
            array_map(unlink(...), glob("$folder/*") ?: []);
            @rmdir($folder);
        }
    }));
    return $folder;
}
