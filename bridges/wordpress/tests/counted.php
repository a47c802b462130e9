<?php
/** A must-use plugin that counts the verified passwords, and adds the plugin unless told not to. */
add_filter('check_password', static function ($right) {
    file_put_contents(COUNTERS . '/verified', '.', FILE_APPEND);
    return $right;
});
if (!isset($_SERVER['HTTP_X_PLAIN'])) {
    // No token is refilled, and no block ends, before the test ends.
    add_filter('tokenbucket_limits', static fn (array $limits) => array_map(
        static fn (array $numbers) => count($numbers) === 2 ? [$numbers[0], 1e9] : $numbers,
        $limits
    ));
    require_once PLUGIN . '/tokenbucket.php';
}
