<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel;

use Closure;
use Illuminate\Cache\RateLimiter as LaravelRateLimiter;
use Illuminate\Cache\RateLimiting\Limit;
use Illuminate\Contracts\Cache\Repository;
use Illuminate\Support\Collection;
use Symfony\Component\HttpFoundation\Request;
use Throwable;
use TokenBucket;
use TokenBucket\Decision;
use UnitEnum;

/**
 * Answers from the bucket of a key if both numbers of its limit are known, and from Laravel's
 * counter in the cache otherwise.
 *
 * The numbers are known after attempt() in any process, after a throttled route in this process,
 * or from the configuration. attempt() and the limits of jobs are exact. hit() after
 * tooManyAttempts() is two decisions, so concurrent callers may all pass the first one. Their
 * tokens become a debt.
 */
class RateLimiter extends LaravelRateLimiter
{
    /** Begins the keys of the queue's middleware ThrottlesExceptions. */
    private const EXCEPTIONS = 'laravel_throttles_exceptions:';
    /** Ends the item of the cache that holds the attempts and seconds of a key. */
    private const NUMBERS = ':bucket';

    /** @var list<object> the limits of the last job */
    private array $job = [];
    /** The decision of these limits, or null if no token has been requested. */
    private ?Decision $decision = null;
    /** The limit that refuses the job. */
    private ?object $refusing = null;

    /** True while a method of Laravel's limiter runs. */
    private bool $counting = false;
    /** The number of attempt() calls whose callbacks run. */
    private int $running = 0;
    /** @var array<string, int> how often each key was cleared while callbacks run */
    private array $clears = [];

    /** @param Closure(): Repository $makeCache is called when the cache is first needed */
    public function __construct(private readonly Closure $makeCache, private readonly Buckets $buckets)
    {
        // Without this property, PHP calls __get() when a method reads it.
        unset($this->cache);
    }

    public function __get($name)
    {
        return $this->cache = ($this->makeCache)();
    }

    /** Forgets the numbers of all keys, except those of the configuration. */
    public function forget(): void
    {
        $this->job = [];
        $this->buckets->forget();
    }

    /**
     * Returns a named limiter. If it is called for a job, the next tooManyAttempts() takes a token
     * of each of its limits, as the queue's middleware asks for them one after the other.
     */
    public function limiter($name)
    {
        $limiter = parent::limiter($name);
        $name = $name instanceof UnitEnum ? $name->value ?? $name->name : $name;
        return $limiter === null ? null : function (...$arguments) use ($name, $limiter) {
            $limits = $limiter(...$arguments);
            // A request has a middleware of its own, which decides its limits.
            $this->job = ($arguments[0] ?? null) instanceof Request ? [] : self::ofJob($name, $limits);
            $this->decision = null;
            return $limits;
        };
    }

    public function attempt($key, $maxAttempts, Closure $callback, $decaySeconds = 60)
    {
        $key = $this->clean($key);
        $numbers = [(int) $maxAttempts, $this->secondsUntil($decaySeconds)];
        $bucket = $this->buckets->ofKey($key, ...$numbers);
        $decision = $maxAttempts < 1 ? null : $bucket->attempt();
        if (!$decision?->allowed) {
            return false;
        }
        $this->tellOthers($key, $numbers, $decision);
        $clears = $this->clears[$key] ?? 0;
        $isCleared = fn (): bool => $clears !== ($this->clears[$key] ?? 0);
        $this->running++;
        try {
            $result = $callback();
            if ($isCleared()) {
                // Laravel counts the call after the callback.
                $bucket->charge(1);
            }
            // Laravel 8, which has no increment(), returns true instead of any empty result.
            return method_exists(parent::class, 'increment') ? ($result ?? true) : ($result ?: true);
        } catch (Throwable $e) {
            if (!$isCleared()) {
                // Laravel counts only calls that return.
                $bucket->refund();
            }
            throw $e;
        } finally {
            if (--$this->running === 0) {
                $this->clears = [];
            }
        }
    }

    public function tooManyAttempts($key, $maxAttempts)
    {
        if ($this->belongsToJob($key)) {
            if ($this->decision === null) {
                [$this->decision, $this->refusing] = $this->buckets->take($this->job);
            }
            return $this->refusing?->key === $key;
        }
        return $this->bucket($key) === null ? $this->count(__FUNCTION__, $key, $maxAttempts) : $this->attempts($key) >= $maxAttempts;
    }

    public function hit($key, $decaySeconds = 60)
    {
        // tooManyAttempts() has taken the token of a job.
        return $this->belongsToJob($key) ? $this->attempts($key) : $this->increment($key, $decaySeconds);
    }

    public function increment($key, $decaySeconds = 60, $amount = 1)
    {
        $bucket = $this->bucket($key);
        if ($bucket === null) {
            // Laravel 8 has no increment().
            return method_exists(parent::class, 'increment') ? $this->count(__FUNCTION__, $key, $decaySeconds, $amount) : $this->count('hit', $key, $decaySeconds);
        }
        // As in Laravel, the amount may be a numeric string.
        $amount += 0;
        if ($amount < 0) {
            $bucket->refund(-$amount);
            return $this->attempts($key);
        }
        return self::taken($bucket->charge($amount));
    }

    public function attempts($key)
    {
        $bucket = $this->bucket($key);
        return $bucket === null ? $this->count(__FUNCTION__, $key) : self::taken($bucket->peek());
    }

    public function remaining($key, $maxAttempts)
    {
        return $this->bucket($key) === null ? $this->count(__FUNCTION__, $key, $maxAttempts) : max(0, $maxAttempts - $this->attempts($key));
    }

    public function availableIn($key)
    {
        if ($this->decision?->allowed === false && $this->belongsToJob($key)) {
            return Buckets::releaseAfter($this->decision, $this->refusing);
        }
        $bucket = $this->bucket($key);
        if ($bucket === null) {
            return $this->count(__FUNCTION__, $key);
        }
        $decision = $bucket->peek();
        // ThrottlesExceptions releases a job for this time, so the bucket must be full then.
        return (int) ceil(str_starts_with((string) $key, self::EXCEPTIONS) ? $decision->resetAfter : $decision->retryAfter);
    }

    public function resetAttempts($key)
    {
        if (!$this->counting) {
            $this->fill($key);
        }
        return $this->count(__FUNCTION__, $key);
    }

    public function clear($key)
    {
        $this->fill($key);
        $this->count(__FUNCTION__, $key);
    }

    /** Fills the bucket of a key. */
    private function fill($key): void
    {
        $key = $this->clean($key);
        $this->buckets->reset($key);
        if ($this->running > 0) {
            $this->clears[$key] = ($this->clears[$key] ?? 0) + 1;
        }
    }

    /**
     * Keeps the numbers of a key in the cache while its bucket is not full, so that other requests
     * find the bucket.
     *
     * @param array{int, int} $numbers attempts and seconds
     */
    private function tellOthers(string $key, array $numbers, Decision $decision): void
    {
        if ($this->buckets->declared($key, $this->clean(...)) !== null) {
            return;
        }
        try {
            $this->cache->put($key . self::NUMBERS, $numbers, max(1, (int) ceil($decision->resetAfter)));
        } catch (Throwable) {
            // The decision does not depend on the cache.
        }
    }

    /** Calls a method of Laravel's limiter, whose own calls use its counter, too. */
    private function count(string $method, mixed ...$arguments): mixed
    {
        $outer = $this->counting;
        $this->counting = true;
        try {
            return parent::$method(...$arguments);
        } finally {
            $this->counting = $outer;
        }
    }

    /** Returns the tokens that a bucket lacks. */
    private static function taken(Decision $decision): int
    {
        return (int) ($decision->capacity - $decision->remaining);
    }

    /** Returns the bucket of a key, or null if Laravel's counter decides. */
    private function bucket($key): ?TokenBucket
    {
        if ($this->counting) {
            return null;
        }
        $key = $this->clean($key);
        $bucket = $this->buckets->find($key, $this->clean(...));
        if ($bucket === null && is_array($numbers = $this->cache->get($key . self::NUMBERS))) {
            $bucket = $this->buckets->ofKey($key, ...$numbers);
        }
        return $bucket;
    }

    /**
     * Returns the key under which Laravel counts. Spellings that differ only in accents have one
     * key. A key may be an integer or an object as in Laravel.
     */
    private function clean($key): string
    {
        return $this->cleanRateLimiterKey((string) $key);
    }

    private function belongsToJob($key): bool
    {
        return in_array($key, array_column($this->job, 'key'), true);
    }

    /** @return list<object> the limits of a job with the keys that the queue's middleware uses */
    private static function ofJob(string $name, mixed $limits): array
    {
        return Collection::wrap($limits)->whereInstanceOf(Limit::class)->map(fn (Limit $limit) => (object) [
            'key' => md5($name . $limit->key),
            'maxAttempts' => $limit->maxAttempts,
            'decaySeconds' => $limit->decaySeconds ?? 60 * $limit->decayMinutes,
        ])->values()->all();
    }
}
