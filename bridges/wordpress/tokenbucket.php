<?php
/**
 * Plugin Name: Token bucket
 * Description: Limits guesses of passwords, lost passwords, comments and registrations, exactly.
 * Version: 1.0.0
 * Requires at least: 6.1
 * Requires PHP: 8.2
 * Network: true
 * License: MIT
 * Text Domain: tokenbucket
 */

declare(strict_types=1);

namespace TokenBucket\Bridge\WordPress;

defined('ABSPATH') || exit;

spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, __NAMESPACE__ . '\\')) {
        require __DIR__ . '/src/' . substr($class, strlen(__NAMESPACE__) + 1) . '.php';
    }
});

if (!extension_loaded('tokenbucket')) {
    $missing = static function (): void {
        if (current_user_can('activate_plugins')) {
            echo '<div class="notice notice-error"><p>', esc_html__('Nothing is limited, because the PHP extension tokenbucket is missing.', 'tokenbucket'), '</p></div>';
        }
    };
    add_action('admin_notices', $missing);
    add_action('network_admin_notices', $missing);
    return;
}

(static function (): void {
    try {
        $limits = new Limits(Limits::storage());
    } catch (\ValueError|\TokenBucket\Exception $error) {
        // A wrong setting must not leave the site without limits.
        wp_die(esc_html('TOKENBUCKET_STORAGE in wp-config.php: ' . $error->getMessage()), 500);
    }
    $blocks = new Blocks($limits);
    (new Logins($limits))->register();
    (new Forms($limits))->register();
    (new ToolsPage($blocks))->register();
    if (defined('WP_CLI') && WP_CLI) {
        \WP_CLI::add_command('tokenbucket', new Command($blocks));
    }
})();
