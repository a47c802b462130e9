<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\WordPress;

use TokenBucket;
use TokenBucket\Decision;
use TokenBucket\Lockout;
use TokenBucketStorage;
use TokenBucketStorageRedis;
use TokenBucketStorageSharedMemory;
use WP_Error;

/** The limits of this site and network, by name, and whom they limit. */
final class Limits
{
    /** The tokens of a bucket, and the seconds in which an empty bucket becomes full. */
    private const BUCKETS = [
        'login_network' => [20, HOUR_IN_SECONDS],
        'login_account' => [20, HOUR_IN_SECONDS],
        // Requests in flight hold tokens. Clients of the REST API send several at the same time.
        'application_network' => [100, HOUR_IN_SECONDS],
        'application_account' => [100, HOUR_IN_SECONDS],
    ];
    /** The parameters of a TokenBucket\Lockout. */
    private const LOCKOUTS = [
        'login_lockout' => [5, 15 * MINUTE_IN_SECONDS, 2, DAY_IN_SECONDS],
        'application_lockout' => [50, 15 * MINUTE_IN_SECONDS, 2, DAY_IN_SECONDS],
    ];

    /** @var ?array<string, list<int|float>> */
    private ?array $numbers = null;

    public function __construct(private readonly TokenBucketStorage $storage)
    {
    }

    /** @throws \ValueError if TOKENBUCKET_STORAGE is invalid */
    public static function storage(): TokenBucketStorage
    {
        // All sites of a network share their users, and so their limits.
        $namespace = 'wordpress:' . DB_NAME . ':' . $GLOBALS['wpdb']->base_prefix;
        $dsn = defined('TOKENBUCKET_STORAGE') ? (string) TOKENBUCKET_STORAGE : '';
        return $dsn === '' ? new TokenBucketStorageSharedMemory($namespace) : new TokenBucketStorageRedis($dsn, $namespace);
    }

    public function bucket(string $limit, string $key): TokenBucket
    {
        [$tokens, $seconds] = $this->numbers($limit);
        return new TokenBucket($this->storage, "$limit:$key", $tokens, $tokens / $seconds);
    }

    public function lockout(string $limit, string $account, string $network): Lockout
    {
        return new Lockout($this->storage, "$limit:$account:$network", ...$this->numbers($limit));
    }

    /** Reports whether wp-config.php exempts this client, so that a locked-out owner can log in. */
    public static function exempt(): bool
    {
        $exempt = defined('TOKENBUCKET_EXEMPT') ? TOKENBUCKET_EXEMPT : [];
        return $exempt === true || in_array(self::network(), array_map(self::networkOf(...), (array) $exempt), true);
    }

    /** Returns the network of the client. */
    public static function network(): string
    {
        return self::networkOf((string) ($_SERVER['REMOTE_ADDR'] ?? ''));
    }

    /** Returns an IPv4 address, or the /64 of an IPv6 address, because its user owns the network. */
    public static function networkOf(string $address): string
    {
        $bytes = (string) @inet_pton($address);
        // An IPv4 address as IPv6.
        if (str_starts_with($bytes, str_repeat("\0", 10) . "\xff\xff")) {
            $bytes = substr($bytes, 12);
        }
        return match (strlen($bytes)) {
            4 => inet_ntop($bytes),
            16 => inet_ntop(substr($bytes, 0, 8) . str_repeat("\0", 8)) . '/64',
            default => $address,
        };
    }

    /**
     * Returns the accounts whose passwords core compares for this name. These are two if the user
     * name of one account is the e-mail address of another one.
     *
     * @return non-empty-list<string> user ids, or a hash, because people type passwords as names
     */
    public static function accounts(string $name): array
    {
        $users = [get_user_by('login', $name), is_email($name) ? get_user_by('email', $name) : false];
        $ids = array_map(static fn ($user) => (string) $user->ID, array_filter($users));
        return array_values(array_unique($ids)) ?: ['unknown-' . wp_hash(mb_strtolower(trim($name)))];
    }

    /** Answers a denial: sends status 429 and header fields, and returns the error. */
    public static function deny(Decision $decision, string $limit): WP_Error
    {
        if (!headers_sent()) {
            status_header(429);
            nocache_headers();
            foreach ($decision->headers($limit) as $name => $value) {
                header("$name: $value");
            }
        }
        return new WP_Error('too_many_attempts', __('<strong>Error:</strong> Too many attempts. Please try again later.', 'tokenbucket'), ['status' => 429]);
    }

    /** @return list<int|float> */
    private function numbers(string $limit): array
    {
        /**
         * Filters the limits.
         *
         * @param array<string, list<int|float>> $limits tokens and seconds, or parameters of a
         *     TokenBucket\Lockout, by name
         */
        $this->numbers ??= apply_filters('tokenbucket_limits', self::BUCKETS + self::LOCKOUTS);
        return $this->numbers[$limit];
    }
}
