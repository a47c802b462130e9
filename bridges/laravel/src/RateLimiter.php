<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel;

use Closure;
use DateTimeInterface;
use Illuminate\Cache\RateLimiter as LaravelRateLimiter;
use Illuminate\Contracts\Cache\Repository;
use Symfony\Component\HttpFoundation\Request;
use Throwable;
use TokenBucket;
use TokenBucket\Decision;
use TokenBucket\Quota;
use TokenBucket\StorageException;
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

    /** The limits of the last job, or null after it has passed them. */
    private ?JobLimits $job = null;

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
        $buckets->useCache(fn () => $this->cache);
    }

    public function __get($name)
    {
        return $this->cache = ($this->makeCache)();
    }

    /** Forgets the numbers of all keys, except those of the configuration. */
    public function forget(): void
    {
        $this->job = null;
        $this->buckets->forget();
    }

    /**
     * Returns a named limiter. The queue's middleware calls the named limiter for a job, and then
     * tooManyAttempts() for one limit after the other. The first of these calls decides all limits
     * of the job at once.
     */
    public function limiter($name)
    {
        // As in Laravel, a name may also be an integer or an object.
        $name = (string) ($name instanceof UnitEnum ? $name->value ?? $name->name : $name);
        $limiter = parent::limiter($name);
        return $limiter === null ? null : function (...$arguments) use ($name, $limiter) {
            $limits = $limiter(...$arguments);
            // A request has a middleware of its own, which decides its limits.
            $this->job = ($arguments[0] ?? null) instanceof Request ? null : JobLimits::of($this->buckets, $name, $limits, $arguments[0] ?? null);
            return $limits;
        };
    }

    public function attempt($key, $maxAttempts, Closure $callback, $decaySeconds = 60)
    {
        $key = $this->clean($key);
        $attempts = Buckets::attempts($maxAttempts);
        // As in Laravel, null is a time without end.
        $seconds = $decaySeconds === null ? Buckets::MAX_SECONDS : $this->secondsUntil($decaySeconds);
        $isDate = $decaySeconds instanceof DateTimeInterface;
        if (is_object($decaySeconds)) {
            // A date or an interval does not select a window of the calendar.
            $seconds = (float) $seconds;
        }
        $tokens = Buckets::tokens($seconds);
        $begins = $this->buckets->declared($key, $this->clean(...)) === [$attempts, $seconds] ? null : true;
        $bucket = $this->buckets->ofKey($key, $attempts, $seconds, $isDate, $begins);
        $window = Buckets::window($bucket);
        $decision = $attempts < 1 ? null : $bucket->attempt($tokens);
        if (!$decision?->allowed) {
            return false;
        }
        $this->keep($key, $decision);
        $clears = $this->clears[$key] ?? 0;
        $isCleared = fn (): bool => $clears !== ($this->clears[$key] ?? 0);
        $this->running++;
        try {
            $result = $callback();
            if ($isCleared()) {
                // Laravel counts the call after the callback.
                $this->buckets->ofKey($key, $attempts, $seconds, $isDate, $begins)->charge($tokens);
            }
            // Laravel 8, which has no increment(), returns true instead of any empty result.
            return method_exists(parent::class, 'increment') ? ($result ?? true) : ($result ?: true);
        } catch (Throwable $e) {
            // Once a later window has begun, it has all its tokens, so nothing is given back to it.
            // refund() cannot name a window. If the window ends between this comparison and the
            // refund, and other calls have taken tokens of the next window, that window gets one of
            // theirs back.
            if (!$isCleared() && $window == Buckets::window($bucket)) {
                // Laravel counts only calls that return.
                $bucket->refund($tokens);
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
        if ($this->job?->has($key)) {
            return $this->job->refuses($key);
        }
        return $this->bucket($key) === null ? $this->count(__FUNCTION__, $key, $maxAttempts) : $this->attempts($key) >= $maxAttempts;
    }

    public function hit($key, $decaySeconds = 60)
    {
        if (!$this->job?->has($key) || !$this->job->paysFor($key)) {
            return $this->increment($key, $decaySeconds);
        }
        // tooManyAttempts() has taken the token of a job.
        $attempts = $this->attempts($key);
        if ($this->job->isOver()) {
            $this->job = null;
        }
        return $attempts;
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
        $decision = $bucket->charge($amount);
        $this->keep($this->clean($key), $decision);
        return self::taken($decision);
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
        if ($this->job?->has($key) && $this->job->releaseAfter() !== null) {
            return $this->job->releaseAfter();
        }
        $bucket = $this->bucket($key);
        if ($bucket === null) {
            return $this->count(__FUNCTION__, $key);
        }
        $decision = $bucket->peek();
        if (str_starts_with((string) $key, self::EXCEPTIONS)) {
            // ThrottlesExceptions releases a job for this time, so the bucket must be full then.
            return Buckets::releaseAfter($decision, $decision->resetAfter);
        }
        // As in Laravel, the result is the time until the window ends if a call was counted in the
        // window.
        $states = $bucket instanceof Quota && $decision->remaining < $decision->capacity;
        return (int) ceil($states ? $decision->resetAfter : $decision->retryAfter);
    }

    public function resetAttempts($key)
    {
        if ($this->counting) {
            return $this->count(__FUNCTION__, $key);
        }
        $bucket = $this->bucket($key);
        $isCounted = $bucket !== null && self::taken($bucket->peek()) > 0;
        // As in Laravel, the window does not end.
        $this->fill($key, false);
        return $this->count(__FUNCTION__, $key) || $isCounted;
    }

    public function clear($key)
    {
        $this->fill($key, true);
        $this->count(__FUNCTION__, $key);
    }

    /** Fills the bucket of a key. */
    private function fill($key, bool $endsWindow): void
    {
        $key = $this->clean($key);
        try {
            $this->buckets->reset($key, $endsWindow);
        } catch (StorageException $e) {
            // Laravel's counter decides a key whose numbers are not known. The queue clears a key
            // after its job has succeeded, so an exception would run the job again.
            if (!str_starts_with($key, self::EXCEPTIONS) && $this->buckets->find($key, $this->clean(...)) !== null) {
                throw $e;
            }
        }
        if ($this->running > 0) {
            $this->clears[$key] = ($this->clears[$key] ?? 0) + 1;
        }
    }

    /** Lets other requests find the bucket of a key until it is full. */
    private function keep(string $key, Decision $decision): void
    {
        if ($this->buckets->declared($key, $this->clean(...)) !== null) {
            return;
        }
        try {
            $this->buckets->keep($key, $decision->resetAfter);
        } catch (Throwable) {
            // The decision does not depend on the cache.
        }
    }

    /**
     * Calls a method of Laravel's limiter. Its calls of other methods use Laravel's counter, too.
     */
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

    /** Returns a limiter over other buckets, which has no named limiters. */
    public function withBuckets(Buckets $buckets): self
    {
        return new self($this->makeCache, $buckets);
    }

    /** Returns the bucket of a key, or null if Laravel's counter decides. */
    public function bucket($key): ?TokenBucket
    {
        if ($this->counting) {
            return null;
        }
        $key = $this->clean($key);
        return $this->job?->has($key) ? $this->job->bucket($key) : $this->buckets->find($key, $this->clean(...));
    }

    /**
     * Returns the key under which Laravel counts. Spellings that differ only in accents have one
     * key. A key may be an integer or an object as in Laravel.
     */
    private function clean($key): string
    {
        return $this->cleanRateLimiterKey((string) $key);
    }
}
