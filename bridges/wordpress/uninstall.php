<?php
/** Removes what the plugin has stored, when an administrator deletes it. */

declare(strict_types=1);

defined('WP_UNINSTALL_PLUGIN') || exit;

foreach (is_multisite() ? get_networks(['fields' => 'ids']) : [null] as $tokenbucket_network) {
    delete_network_option($tokenbucket_network, 'tokenbucket_blocks');
}
// A site that became a network of sites may have an option of its own.
delete_option('tokenbucket_blocks');
delete_metadata('user', 0, 'tokenbucket_networks', '', true);
