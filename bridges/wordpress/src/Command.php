<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\WordPress;

use WP_CLI;

/** Lists blocked clients and frees them. */
final class Command
{
    public function __construct(private readonly Blocks $blocks)
    {
    }

    /**
     * Lists the blocks that have not ended.
     *
     * @subcommand list
     */
    public function list(): void
    {
        $rows = [];
        foreach ($this->blocks->all() as $id => $block) {
            $rows[] = ['id' => $id, 'limit' => $block['limit'], 'account' => Blocks::account($block), 'network' => $block['network'], 'ends' => gmdate('c', $block['until'])];
        }
        WP_CLI\Utils\format_items('table', $rows, ['id', 'limit', 'account', 'network', 'ends']);
    }

    /**
     * Ends a block.
     *
     * ## OPTIONS
     *
     * [<id>]
     * : The id of the block.
     *
     * [--all]
     * : End all listed blocks.
     */
    public function free(array $arguments, array $options): void
    {
        if (!Limits::shared()) {
            WP_CLI::error(__('This process does not share the memory of the web server: set tokenbucket.shm_path in php.ini, or TOKENBUCKET_STORAGE in wp-config.php.', 'tokenbucket'));
        }
        $ids = isset($options['all']) ? array_keys($this->blocks->all()) : $arguments;
        $freed = count(array_filter($ids, $this->blocks->free(...)));
        if ($freed === count($ids) && $ids !== [] || isset($options['all'])) {
            /* translators: %d: the number of blocks. */
            WP_CLI::success(sprintf(__('Freed: %d.', 'tokenbucket'), $freed));
        } else {
            WP_CLI::error(__('There is no such block.', 'tokenbucket'));
        }
    }
}
