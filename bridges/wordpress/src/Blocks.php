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
            $this->put($limit, $account, $network, $seconds);
        }
    }

    private function put(string $limit, string $account, string $network, float $seconds): void
    {
        $block = ['limit' => $limit, 'account' => $account, 'network' => $network, 'until' => time() + (int) ceil(min($seconds, DAY_IN_SECONDS))];
        $this->save([md5("$limit:$account:$network") => $block] + $this->all());
    }

    /** @return array<string, Block> the blocks that have not ended, by id, the newest first */
    public function all(): array
    {
        $blocks = get_site_option(self::OPTION, []);
        return array_filter(is_array($blocks) ? $blocks : [], static fn ($block) => $block['until'] > time());
    }

    /** Adds the blocks of an account, of a network, or of both that the record lacks. */
    public function find(string $account, string $network): void
    {
        foreach ($this->limits->names() as $limit) {
            [, $kind] = explode('_', $limit);
            $target = [$limit, $kind === 'network' ? '' : $account, $kind === 'account' ? '' : $network];
            if ($kind === 'lockout' ? in_array('', $target, true) : $target[1] . $target[2] === '') {
                continue;
            }
            $decision = ($kind === 'lockout' ? $this->limits->lockout(...$target) : $this->limits->bucket(...$target))->peek();
            if (!$decision->allowed) {
                $this->put(...$target, seconds: $decision->retryAfter);
            }
        }
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

    /** Returns what a limit counts, for people who do not know its name. */
    public static function title(string $limit): string
    {
        return match ($limit) {
            'login_lockout' => __('Wrong passwords for this account from this network', 'tokenbucket'),
            'login_account' => __('Logins to this account from new networks', 'tokenbucket'),
            'login_network' => __('Logins from this network', 'tokenbucket'),
            'application_lockout' => __('Wrong application passwords for this account from this network', 'tokenbucket'),
            'application_account' => __('Application passwords for this account from new networks', 'tokenbucket'),
            'application_network' => __('Application passwords from this network', 'tokenbucket'),
            'password_account' => __('Mails for a lost password of this account', 'tokenbucket'),
            'password_network' => __('Mails for lost passwords from this network', 'tokenbucket'),
            'comment_network' => __('Comments from this network', 'tokenbucket'),
            'registration_network' => __('Registrations from this network', 'tokenbucket'),
            default => $limit,
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
