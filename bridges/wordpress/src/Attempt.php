<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\WordPress;

use TokenBucket\Decision;
use TokenBucket\Lockout;
use WP_Error;

/** One guess of a password. It is counted before the password is verified, unless it is denied. */
final class Attempt
{
    /** @var list<array{string, string, string}> the buckets that gave a token */
    private array $taken = [];
    /** @var list<string> the accounts whose passwords core compares */
    private array $accounts = [];
    /** @var list<array{Lockout, Decision}> the attempts that were counted */
    private array $counted = [];
    /** The user whom the last callback of the attempt returned. */
    public ?int $user = null;
    /** True if the password was right, and the request has no code of a second factor. */
    public bool $isVerified = false;

    /** @param string $kind 'login' or 'application': the beginning of the names of the limits */
    public function __construct(private readonly Limits $limits, private readonly string $kind)
    {
    }

    /**
     * Counts the attempt. If it is denied, returns the error and takes no token. Otherwise returns
     * null.
     */
    public function begin(string $name): ?WP_Error
    {
        $network = Limits::network();
        $this->accounts = Limits::accounts($name);
        $targets = [["{$this->kind}_network", '', $network]];
        foreach ($this->accounts as $account) {
            if (!KnownNetworks::contain($account, $network)) {
                $targets[] = ["{$this->kind}_account", $account, ''];
            }
        }
        $denial = $this->limits->take($targets);
        if ($denial !== null) {
            return $denial;
        }
        $this->taken = $targets;
        foreach ($this->accounts as $account) {
            $lockout = $this->limits->lockout("{$this->kind}_lockout", $account, $network);
            $decision = $lockout->attempt();
            $this->counted[] = [$lockout, $decision];
            if (!$decision->allowed) {
                $this->refund();
                return $this->limits->deny($decision, "{$this->kind}_lockout", $account, $network);
            }
        }
        return null;
    }

    /** Ends an attempt with the right password of this user. */
    public function succeed(int $user): void
    {
        $this->refund();
        $network = Limits::network();
        // A name without an account can be one that another plugin knows, such as a phone number.
        foreach ([(string) $user, ...array_filter($this->accounts, Limits::isUnknown(...))] as $account) {
            $this->limits->lockout("{$this->kind}_lockout", $account, $network)->succeed();
        }
        KnownNetworks::add($user, $network);
    }

    /**
     * Takes the attempt back, because the verifier has thrown, or another plugin has refused a
     * right password.
     */
    public function cancel(): void
    {
        $cancelled = 0;
        foreach ($this->counted as [$lockout, $decision]) {
            // The polyfill takes no attempt back.
            $cancelled += (int) (extension_loaded('tokenbucket') && $lockout->cancel($decision));
        }
        if ($cancelled === count($this->counted)) {
            $this->refund();
        }
    }

    /**
     * Ends an attempt of an earlier request with the right password of this user: that request has
     * asked for a second factor.
     */
    public static function succeedLater(Limits $limits, int $user): void
    {
        $network = Limits::network();
        $lockout = $limits->lockout('login_lockout', (string) $user, $network);
        $state = $lockout->peek();
        if ($state->remaining < $state->capacity) {
            $lockout->succeed();
            $limits->bucket('login_network', '', $network)->refund();
            if (!KnownNetworks::contain((string) $user, $network)) {
                $limits->bucket('login_account', (string) $user, '')->refund();
            }
        }
        KnownNetworks::add($user, $network);
    }

    private function refund(): void
    {
        foreach ($this->taken as $target) {
            $this->limits->bucket(...$target)->refund();
        }
        $this->taken = [];
    }
}
