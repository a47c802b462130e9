<?php
require_once __DIR__ . '/../../tools/testkit/php/fpm.php';

/** A script that prints the identifier of its process. */
const SCRIPT = '<?php echo "script ", getmypid();';

/** Sends requests with these variables one after another, and returns their statuses. */
function statuses(Fpm $fpm, string $script, array ...$requests): string
{
    $statuses = array_map(fn (array $variables) => $fpm->request($script, $variables)['status'] ?? 'lost', $requests);
    return implode(' ', $statuses);
}

/** Returns a file that workers can write to. It is removed when the test ends. */
function log_file(): string
{
    $path = tempnam(sys_get_temp_dir(), 'tokenbucket-log-');
    chmod($path, 0666);
    $owner = getmypid();
    // Forked children of the test also call this function, but must not remove the file.
    register_shutdown_function(fn () => getmypid() === $owner && unlink($path));
    return $path;
}

/** Returns a path for a segment of another user. The segment is removed when the test ends. */
function segment_path(): string
{
    $path = sys_get_temp_dir() . '/tokenbucket-segment-' . getmypid() . '-' . bin2hex(random_bytes(4));
    $owner = getmypid();
    register_shutdown_function(fn () => getmypid() === $owner && is_file($path) && unlink($path));
    return $path;
}

/** @return array{granted: int, denied: int} the decisions of a row of TokenBucket\status() */
function decisions(Fpm $fpm, string $row): array
{
    $path = "$fpm->folder/decisions.php";
    if (!is_file($path)) {
        $fpm->script('decisions', '<?php echo json_encode(TokenBucket\status()["decisions"]);');
    }
    // The guard does not limit a request without an address, so this one is in no row of a limit.
    foreach (json_decode($fpm->request($path, ['REMOTE_ADDR' => ''])['body'], true) as $decisions) {
        if ($decisions['namespace'] === $row) {
            return ['granted' => $decisions['granted_by_store'], 'denied' => $decisions['denied_by_store']];
        }
    }
    return ['granted' => 0, 'denied' => 0];
}
