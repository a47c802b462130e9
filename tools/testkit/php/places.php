<?php
/**
 * Waits for places of the run, and keeps them until this process and its forks end.
 *
 * TEST_PLACES is a folder of numbered files. A locked file is a place in use. The steps of
 * scripts/test share the folder, and tools/testkit/rust/src/places.rs uses it too. Without the
 * variable, this function does nothing. A process takes its places once: with some places taken, it
 * could wait forever for more.
 */
function take_places(int $count = 1): void
{
    static $taken = [];
    $folder = (string) getenv('TEST_PLACES');
    if ($folder === '') {
        return;
    }
    // The programs that this process starts use its places.
    putenv('TEST_PLACES');
    // Only one process collects places, so two processes cannot wait for each other.
    $door = fopen("$folder/door", 'ce');
    flock($door, LOCK_EX);
    $free = glob("$folder/[0-9]*");
    $count = min($count, count($free));
    while (true) {
        foreach ($free as $index => $path) {
            $place = fopen($path, 'ce');
            if (flock($place, LOCK_EX | LOCK_NB)) {
                $taken[] = $place;
                unset($free[$index]);
            }
            if (count($taken) === $count) {
                return;
            }
        }
        usleep(5_000);
    }
}
