<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\WordPress;

use TokenBucket\Decision;

/**
 * A record of the newest blocks, in an option of the site or network. The storage decides, not
 * this record. Processes that write at the same time may lose entries.
 *
 * @phpstan-type Block array{limit: string, account: string, network: string, until: int}
 */
final class Blocks
{
    private const OPTION = 'tokenbucket_blocks';
    private const MOST = 100;

    public function __construct(private readonly Limits $limits)
    {
    }

    /** Adds a denial, unless the record has it or many were added recently. */
    public function add(string $limit, string $account, string $network, Decision $decision): void
    {
        $id = md5("$limit:$account:$network");
        $seconds = max(1, min($decision->retryAfter, DAY_IN_SECONDS));
        if ($this->limits->mayRecord($id, $seconds)) {
            $block = ['limit' => $limit, 'account' => $account, 'network' => $network, 'until' => time() + (int) ceil($seconds)];
            $this->save([$id => $block] + $this->all());
        }
    }

    /** @return array<string, Block> the blocks that have not ended, by id, the newest first */
    public function all(): array
    {
        $blocks = get_site_option(self::OPTION, []);
        return array_filter(is_array($blocks) ? $blocks : [], static fn ($block) => $block['until'] > time());
    }

    /** Ends a block. Returns false if the record does not have it. */
    public function free(string $id): bool
    {
        $blocks = $this->all();
        if (!isset($blocks[$id])) {
            return false;
        }
        ['limit' => $limit, 'account' => $account, 'network' => $network] = $blocks[$id];
        if (str_ends_with($limit, '_lockout')) {
            $this->limits->lockout($limit, $account, $network)->succeed();
        } else {
            $this->limits->bucket($limit, $account, $network)->reset();
        }
        $this->limits->forgetRecord($id);
        unset($blocks[$id]);
        $this->save($blocks);
        return true;
    }

    /** Returns the user name of a block's account. */
    public static function account(array $block): string
    {
        $user = ctype_digit($block['account']) ? get_userdata((int) $block['account']) : false;
        return match (true) {
            $user !== false => $user->user_login,
            $block['account'] === '' => '',
            default => __('(unknown)', 'tokenbucket'),
        };
    }

    /** The capability that the page of blocks needs. */
    public static function capability(): string
    {
        return is_multisite() ? 'manage_network_options' : 'manage_options';
    }

    /** @param array<string, Block> $blocks */
    private function save(array $blocks): void
    {
        update_site_option(self::OPTION, array_slice($blocks, 0, self::MOST, true));
    }
}
