<?php
/**
 * A must-use plugin that counts verified passwords and mails. It loads the plugin under test, but
 * not for a request with the field X-Plain, and not if wp-config.php defines WITHOUT_PLUGIN.
 */
$count = static fn (string $what) => file_put_contents(COUNTERS . "/$what", '.', FILE_APPEND);
add_filter('check_password', static function ($right) use ($count) {
    defined('REST_REQUEST') || $count('verified');
    return $right;
});
// Newer versions of WordPress verify application passwords without the filter check_password.
add_action('application_password_did_authenticate', static fn () => defined('REST_REQUEST') && $count('verified'));
add_action('application_password_failed_authentication', static fn ($error) => defined('REST_REQUEST') && $error->get_error_code() === 'incorrect_password' && $count('verified'));
add_filter('pre_wp_mail', static fn () => (bool) $count('mails'));
// Core allows a comment of an address every 15 seconds.
add_filter('comment_flood_filter', '__return_false', 100);
add_filter('rest_allow_anonymous_comments', '__return_true');
// Core rejects trackbacks on a site that is local.
add_filter('wp_should_disable_pings_for_environment', '__return_false');
if (!isset($_SERVER['HTTP_X_PLAIN']) && !defined('WITHOUT_PLUGIN')) {
    // No token is refilled before the test ends. Low limits of application passwords keep the tests
    // short.
    defined('DEFAULT_LIMITS') || add_filter('tokenbucket_limits', static fn (array $limits) => [
        'application_network' => [30, 1e9], 'application_account' => [20, 1e9], 'application_lockout' => [10, 900, 2, 86_400],
    ] + array_map(static fn (array $numbers) => count($numbers) === 2 ? [$numbers[0], 1e9] : $numbers, $limits));
    require_once PLUGIN . '/tokenbucket.php';
}
