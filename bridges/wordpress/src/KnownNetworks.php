<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\WordPress;

/**
 * The networks in which an account logged in recently. There, a flood from other networks cannot
 * lock the account out.
 */
final class KnownNetworks
{
    private const META = 'tokenbucket_networks';
    private const LIFETIME = 30 * DAY_IN_SECONDS;
    private const MOST = 10;

    public static function contain(string $account, string $network): bool
    {
        return ctype_digit($account) && isset(self::of((int) $account)[self::key($network)]);
    }

    public static function add(int $user, string $network): void
    {
        $networks = self::of($user);
        $key = self::key($network);
        // At most one write a day.
        if (($networks[$key] ?? 0) < time() - DAY_IN_SECONDS) {
            unset($networks[$key]);
            update_user_meta($user, self::META, array_slice([$key => time()] + $networks, 0, self::MOST, true));
        }
    }

    /** @return array<string, int> the time of a success by network, the newest first */
    private static function of(int $user): array
    {
        $networks = get_user_meta($user, self::META, true);
        return array_filter(is_array($networks) ? $networks : [], static fn ($time) => $time > time() - self::LIFETIME);
    }

    private static function key(string $network): string
    {
        return wp_hash($network);
    }
}
