<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\WordPress;

use TokenBucket;
use TokenBucket\Decision;
use WP_Error;

/** One guess of a password. It is counted before the password is verified, unless it is denied. */
final class Attempt
{
    /** @var list<TokenBucket> the buckets that gave a token */
    private array $buckets = [];

    /** @param string $kind 'login' or 'application': the beginning of the names of the limits */
    public function __construct(private readonly Limits $limits, private readonly string $kind)
    {
    }

    /** Returns the error of a denial, which gives all tokens back, or null. */
    public function begin(string $name): ?WP_Error
    {
        $network = Limits::network();
        $accounts = Limits::accounts($name);
        $keys = [["{$this->kind}_network", $network]];
        foreach ($accounts as $account) {
            if (!KnownNetworks::contain($account, $network)) {
                $keys[] = ["{$this->kind}_account", $account];
            }
        }
        $this->buckets = array_map(fn (array $key) => $this->limits->bucket(...$key), $keys);
        $decision = TokenBucket::attemptAll($this->buckets);
        if (!$decision->allowed) {
            $this->buckets = [];
            return Limits::deny($decision, $keys[$decision->refusedBy][0]);
        }
        foreach ($accounts as $account) {
            $decision = $this->limits->lockout("{$this->kind}_lockout", $account, $network)->attempt();
            if (!$decision->allowed) {
                $this->refund();
                return Limits::deny($decision, "{$this->kind}_lockout");
            }
        }
        return null;
    }

    /** Ends an attempt with the right password of this user. */
    public function succeed(int $user): void
    {
        $this->refund();
        $network = Limits::network();
        $this->limits->lockout("{$this->kind}_lockout", (string) $user, $network)->succeed();
        KnownNetworks::add($user, $network);
    }

    private function refund(): void
    {
        foreach ($this->buckets as $bucket) {
            $bucket->refund();
        }
        $this->buckets = [];
    }
}
