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
        // These limits are higher, because clients of the REST API send several requests at the
        // same time, and each request in flight holds tokens.
        'application_network' => [100, HOUR_IN_SECONDS],
        'application_account' => [100, HOUR_IN_SECONDS],
        'password_network' => [5, HOUR_IN_SECONDS],
        'password_account' => [3, HOUR_IN_SECONDS],
        'comment_network' => [10, 10 * MINUTE_IN_SECONDS],
        'registration_network' => [5, HOUR_IN_SECONDS],
    ];
    /** The parameters of a TokenBucket\Lockout. */
    private const LOCKOUTS = [
        'login_lockout' => [5, 15 * MINUTE_IN_SECONDS, 2, DAY_IN_SECONDS],
        'application_lockout' => [50, 15 * MINUTE_IN_SECONDS, 2, DAY_IN_SECONDS],
    ];

    private const UNKNOWN = 'unknown-';

    /** @var ?array<string, list<int|float>> */
    private ?array $numbers = null;

    public function __construct(private readonly TokenBucketStorage $storage)
    {
    }

    /** @throws \ValueError if TOKENBUCKET_STORAGE or TOKENBUCKET_TIMEOUT is invalid */
    public static function storage(): TokenBucketStorage
    {
        // All sites of a network share their users, and so their limits. Other sites on the same
        // Redis may have databases of the same name, but have other hosts or keys.
        $site = hash('sha256', json_encode([DB_HOST, defined('AUTH_KEY') ? AUTH_KEY : '']));
        $namespace = 'wordpress:' . DB_NAME . ':' . $GLOBALS['wpdb']->base_prefix . ':' . substr($site, 0, 16);
        $dsn = defined('TOKENBUCKET_STORAGE') ? (string) TOKENBUCKET_STORAGE : '';
        $timeout = defined('TOKENBUCKET_TIMEOUT') ? (float) TOKENBUCKET_TIMEOUT : 0.05;
        return $dsn === '' ? new TokenBucketStorageSharedMemory($namespace) : new TokenBucketStorageRedis($dsn, $namespace, $timeout);
    }

    /** @return list<string> the functions that the polyfill lacks, and with them all its buckets */
    public static function disabledFunctions(): array
    {
        $hasPolyfill = !extension_loaded('tokenbucket') && class_exists(\TokenBucket\Polyfill\Process::class);
        return $hasPolyfill ? \TokenBucket\Polyfill\Process::missing() : [];
    }

    /** Reports whether other processes, such as WP-CLI, use the same limits. */
    public static function shared(): bool
    {
        return defined('TOKENBUCKET_STORAGE') && TOKENBUCKET_STORAGE !== '' || \TokenBucket\status()['shared_memory']['path'] !== '';
    }

    /** @param string $account the limited account, or '' if the limit is one of a network */
    public function bucket(string $limit, string $account, string $network): TokenBucket
    {
        return $this->create($limit, fn ($tokens, $seconds) => new TokenBucket($this->storage, "$limit:$account:$network", $tokens, $tokens / $seconds));
    }

    public function lockout(string $limit, string $account, string $network): Lockout
    {
        return $this->create($limit, fn (...$numbers) => new Lockout($this->storage, "$limit:$account:$network", ...$numbers));
    }

    /** @return list<string> the names of all limits */
    public function names(): array
    {
        return array_keys(self::BUCKETS + self::LOCKOUTS);
    }

    /** Reports whether wp-config.php exempts this client, for an owner who is locked out. */
    public static function exempt(): bool
    {
        $exempt = self::exemptions();
        return $exempt === [true] || in_array(self::network(), array_map(self::networkOf(...), $exempt), true);
    }

    /** @return array<mixed> the addresses that wp-config.php exempts, or true for every client */
    private static function exemptions(): array
    {
        return defined('TOKENBUCKET_EXEMPT') ? array_filter((array) TOKENBUCKET_EXEMPT) : [];
    }

    /** @return array<mixed> those of the exempt addresses that are invalid */
    public static function invalidExemptions(): array
    {
        // Pages show an IPv6 address with the length of its network.
        $isInvalid = static fn ($address) => !is_string($address) || @inet_pton(preg_replace('~/64$~', '', $address)) === false;
        return self::exemptions() === [true] ? [] : array_filter(self::exemptions(), $isInvalid);
    }

    /** Returns the network of the client. */
    public static function network(): string
    {
        // client_address() trusts the proxies that tokenbucket.guard_trusted_proxies names. The
        // polyfill lacks this function, because it has no guard. wp-config.php may have set
        // $_SERVER['REMOTE_ADDR'].
        $client = function_exists('TokenBucket\client_address') ? \TokenBucket\client_address($_SERVER) : null;
        return self::networkOf($client ?? (string) ($_SERVER['REMOTE_ADDR'] ?? ''));
    }

    /** Returns an IPv4 address, or the /64 of an IPv6 address, because a client owns all of it. */
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
            // A web server may pass a header field of the client as the address.
            default => substr((string) preg_replace('/[^!-~]/', '?', $address), 0, 64),
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
        return array_values(array_unique($ids)) ?: [self::unknown($name)];
    }

    /** Returns the account of a name that no user has. The database ignores case and accents. */
    public static function unknown(string $name): string
    {
        return self::UNKNOWN . wp_hash(strtolower(remove_accents(trim($name), 'en_US')));
    }

    public static function isUnknown(string $account): bool
    {
        return str_starts_with($account, self::UNKNOWN);
    }

    /**
     * Takes a token from each bucket, or from none.
     *
     * @param list<array{string, string, string}> $targets the arguments of bucket()
     * @return ?WP_Error the error of a denial
     */
    public function take(array $targets): ?WP_Error
    {
        if (self::exempt()) {
            return null;
        }
        $decision = TokenBucket::attemptAll(array_map(fn (array $target) => $this->bucket(...$target), $targets));
        return $decision->allowed ? null : $this->deny($decision, ...$targets[$decision->refusedBy]);
    }

    /** Answers a denial: sends status 429 and header fields, and returns the error. */
    public function deny(Decision $decision, string $limit, string $account, string $network): WP_Error
    {
        (new Blocks($this))->add($limit, $account, $network, $decision);
        if (!headers_sent()) {
            status_header(429);
            nocache_headers();
            foreach ($decision->headers($limit) as $name => $value) {
                header("$name: $value");
            }
        }
        $message = __('<strong>Error:</strong> Too many attempts. Please try again later.', 'tokenbucket');
        return new WP_Error('too_many_attempts', $message, ['status' => 429]);
    }

    /** Reports whether a block may be recorded: once while it lasts, and not too often. */
    public function mayRecord(string $id, float $seconds): bool
    {
        $all = new TokenBucket($this->storage, 'record', 20, 1 / 3);
        return TokenBucket::attemptAll([$this->recordOf($id, $seconds), $all])->allowed;
    }

    public function forgetRecord(string $id): void
    {
        $this->recordOf($id, 1)->reset();
    }

    /** Calls a function with the numbers of a limit. */
    private function create(string $limit, \Closure $create): TokenBucket|Lockout
    {
        try {
            /**
             * Filters the limits.
             *
             * @param array<string, list<int|float>> $limits tokens and seconds, or parameters of a
             *     TokenBucket\Lockout, by name. A missing limit keeps its numbers
             */
            $this->numbers ??= self::known(apply_filters('tokenbucket_limits', self::BUCKETS + self::LOCKOUTS));
            return $create(...$this->numbers[$limit]);
        } catch (\Error $error) {
            // The log of an uncaught error has the arguments of core's functions, and so passwords.
            wp_die(esc_html("tokenbucket_limits: $limit: " . $error->getMessage()), 500);
        }
    }

    /**
     * Returns the limits, with the defaults of missing limits. Reports unknown limits to
     * developers.
     */
    private static function known(array $limits): array
    {
        foreach (array_keys(array_diff_key($limits, self::BUCKETS, self::LOCKOUTS)) as $name) {
            _doing_it_wrong('tokenbucket_limits', esc_html("There is no limit \"$name\"."), '1.0.0');
        }
        return $limits + self::BUCKETS + self::LOCKOUTS;
    }

    private function recordOf(string $id, float $seconds): TokenBucket
    {
        return new TokenBucket($this->storage, "record:$id", 1, 1 / $seconds);
    }
}
