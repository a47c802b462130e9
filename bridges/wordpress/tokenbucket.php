<?php
/**
 * Plugin Name: Token bucket
 * Description: Limits guesses of passwords, lost passwords, comments and registrations, exactly.
 * Version: 0.1.0
 * Requires at least: 6.1
 * Requires PHP: 8.2
 * Author: the tokenbucket authors
 * License: MIT
 * License URI: https://opensource.org/license/mit
 * Text Domain: tokenbucket
 * Domain Path: /languages
 * Network: true
 * Update URI: false
 */

declare(strict_types=1);

namespace TokenBucket\Bridge\WordPress;

defined('ABSPATH') || exit;

// A second copy, such as a must-use plugin, would count each attempt again.
if (class_exists(Limits::class, false)) {
    return;
}

spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, __NAMESPACE__ . '\\')) {
        require __DIR__ . '/src/' . substr($class, strlen(__NAMESPACE__) + 1) . '.php';
    }
});

// This path is also right in the folder of a must-use plugin.
add_action('init', static fn () => load_textdomain('tokenbucket', __DIR__ . '/languages/tokenbucket-' . determine_locale() . '.mo'));

(static function (): void {
    $notice = static function (): void {
        $disabled = Limits::disabledFunctions();
        $names = preg_grep('/^TOKENBUCKET_(?!(STORAGE|TIMEOUT|EXEMPT)$)/', array_keys(get_defined_constants(true)['user'] ?? []));
        $text = match (true) {
            !class_exists(\TokenBucket::class) => __('Nothing is limited, because the PHP extension tokenbucket is missing.', 'tokenbucket'),
            $disabled !== [] => __('Nothing is limited, because the PHP extension tokenbucket is missing.', 'tokenbucket') . ' (disable_functions: ' . implode(', ', $disabled) . ')',
            /* translators: names of constants */
            $names !== [] => sprintf(__('The plugin Token bucket has no setting %s, which wp-config.php defines.', 'tokenbucket'), implode(', ', $names)),
            default => '',
        };
        if ($text !== '' && current_user_can('activate_plugins')) {
            echo '<div class="notice notice-error"><p>', esc_html($text), '</p></div>';
        }
    };
    add_action('admin_notices', $notice);
    add_action('network_admin_notices', $notice);
})();

// The polyfill has the classes, too.
if (!class_exists(\TokenBucket::class) || Limits::disabledFunctions() !== []) {
    return;
}

(static function (): void {
    try {
        $limits = new Limits(Limits::storage());
    } catch (\ValueError|\TokenBucket\Exception $error) {
        // A wrong setting must not leave the site without limits.
        $constant = str_contains($error->getMessage(), '($timeout)') ? 'TOKENBUCKET_TIMEOUT' : 'TOKENBUCKET_STORAGE';
        wp_die(esc_html("$constant in wp-config.php: " . $error->getMessage()), 500);
    }
    foreach (Limits::invalidExemptions() as $address) {
        wp_die(esc_html('TOKENBUCKET_EXEMPT in wp-config.php: ' . (is_scalar($address) ? $address : get_debug_type($address)) . ' is not an address'), 500);
    }
    $blocks = new Blocks($limits);
    (new Logins($limits))->register();
    (new Forms($limits))->register();
    (new ToolsPage($blocks))->register();
    if (defined('WP_CLI') && WP_CLI) {
        \WP_CLI::add_command('tokenbucket', new Command($blocks));
    }
})();
