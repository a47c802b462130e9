<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel;

use Closure;
use Illuminate\Contracts\Cache\Repository;
use Illuminate\Support\Str;
use Throwable;
use TokenBucket;
use TokenBucket\Decision;
use TokenBucket\Quota;
use TokenBucketStorage;
use TokenBucketStorageSharedMemory;

use function count;
use function max;
use function min;

/**
 * Makes the buckets of limits, and finds the bucket of a key. The callers pass keys as Laravel's
 * limiter cleans them.
 *
 * A bucket holds as many tokens as the limit has attempts, and is refilled in the limit's decay
 * time, or at the starts of Windows. A number may be computed for each request, so it is no part of
 * the bucket's name (FirstNumbers), except to separate limits with equal keys in one list.
 */
final class Buckets
{
    /** The number of keys that are remembered, so that the memory of workers stays bounded. */
    private const REMEMBERED = 100;
    /** The longest decay time in seconds. The span of a bucket may be a little more: 36 years. */
    public const MAX_SECONDS = 1_000_000_000;
    /** The most seconds for which a job is released because the store is not available. */
    private const MOST_SECONDS_OF_OUTAGE = 60;

    /** @var array<string, TokenBucket> the buckets of the last keys, newest last */
    private array $recent = [];
    private ?TokenBucketStorage $storage = null;
    private ?FirstNumbers $first = null;

    /**
     * Both functions are called when their result is first needed.
     *
     * @param Closure(): TokenBucketStorage $makeStorage
     * @param Closure(): array<string, array{int, int|float}> $declared returns attempts and seconds by pattern of keys
     */
    public function __construct(private readonly Closure $makeStorage, private readonly Closure $declared, private readonly Windows $windows = new Windows())
    {
    }

    /** @param Closure(): Repository $makeCache is called when the cache is first needed */
    public function useCache(Closure $makeCache): void
    {
        $this->first = new FirstNumbers($makeCache, $this->storage(...));
    }

    /**
     * Names the sources of limits. A source is empty, or it is the literal text of a route.
     *
     * @param array<object> $limits in one list
     */
    public static function nameSources(array $limits, string $source = ''): void
    {
        foreach ($limits as $limit) {
            $numbers = $limit->maxAttempts . ':' . self::seconds($limit);
            $keys[$limit->key][$numbers][] = $limit;
        }
        foreach ($keys ?? [] as $sorts) {
            foreach ($sorts as $numbers => $equal) {
                foreach ($equal as $limit) {
                    $limit->source = count($sorts) > 1 ? "$source=$numbers" : $source;
                }
            }
        }
    }

    /**
     * Takes a token from the bucket of every limit, or from none.
     *
     * @param non-empty-array<object> $limits as Laravel's middleware describes them
     * @param null|Closure(object): float $floor returns the tokens that a limit must keep
     * @return array{Decision, ?object} the decision, and the limit that refuses
     */
    public function take(array $limits, ?Closure $floor = null): array
    {
        foreach ($limits as $limit) {
            // Equal limits count as one limit, and take one token.
            $name = self::nameOfLimit($limit);
            $takes[$name] ??= [$this->ofLimit($limit), self::cost($limit), $floor === null ? 0 : $floor($limit)];
            $named[$name] ??= $limit;
        }
        if (count($takes) === 1) {
            // Most requests have one limit. For these, attempt() takes less time than attemptAll().
            [$bucket, $cost, $least] = $takes[$name];
            $decision = $bucket->attempt($cost, $least);
            return [$decision, $decision->allowed ? null : $named[$name]];
        }
        $decision = TokenBucket::attemptAll($takes);
        return [$decision, $decision->allowed ? null : $named[$decision->refusedBy]];
    }

    /** Returns the decision that take() would return now for one limit, and takes no token. */
    public function peek(object $limit): Decision
    {
        return $this->ofLimit($limit, false)->peek(self::cost($limit));
    }

    /** Takes a token from the bucket of a limit, even if the bucket is empty. */
    public function charge(object $limit): Decision
    {
        return $this->ofLimit($limit)->charge(self::tokens(self::seconds($limit)));
    }

    /**
     * Returns the bucket of a key that the application has chosen.
     *
     * @param bool $isDate true if a date states the seconds
     * @param ?bool $begins true if the call may begin a window, and null for declared numbers
     */
    public function ofKey(string $key, int $attempts, int|float $seconds, bool $isDate = false, ?bool $begins = false): TokenBucket
    {
        return $this->bucket($key, self::identifier($key), $attempts, $seconds, $isDate, $begins);
    }

    /**
     * Returns the bucket of a key, or null if this process does not know both of its numbers.
     *
     * @param ?Closure(string): string $clean as for declared()
     */
    public function find(string $key, ?Closure $clean = null): ?TokenBucket
    {
        if (isset($this->recent[$key])) {
            return $this->recent[$key];
        }
        $declared = $this->declared($key, $clean);
        if ($declared !== null) {
            return $this->ofKey($key, ...[...$declared, false, null]);
        }
        $numbers = $this->first?->known(self::identifier($key));
        return $numbers === null ? null : $this->ofKey($key, ...$numbers);
    }

    /** Lets other requests find the bucket of a key until it is full. */
    public function keep(string $key, float $secondsUntilFull): void
    {
        $this->first?->keep(self::identifier($key), $secondsUntilFull);
    }

    /**
     * Returns the attempts and seconds of a key that the configuration declares.
     *
     * @param ?Closure(string): string $clean cleans the patterns of declared keys
     * @return null|array{int, int|float}
     */
    public function declared(string $key, ?Closure $clean = null): ?array
    {
        foreach (($this->declared)() as $pattern => [$attempts, $seconds]) {
            if (Str::is($clean === null ? $pattern : $clean($pattern), $key)) {
                // Numbers from the environment are strings.
                return [self::attempts($attempts), 0 + $seconds];
            }
        }
        return null;
    }

    /** Forgets the buckets of all keys. */
    public function forget(): void
    {
        $this->recent = [];
    }

    /** Fills the bucket of a key, and ends the window of its first numbers. */
    public function reset(string $key, bool $endsWindow = true): void
    {
        try {
            $this->first?->fill(self::identifier($key), $endsWindow);
        } catch (Throwable) {
            // The buckets do not depend on the cache.
        }
        if (isset($this->recent[$key])) {
            $this->recent[$key]->reset();
        }
        // A reset does not depend on the numbers of the bucket.
        (new TokenBucket($this->storage(), self::identifier($key), 1, 1))->reset();
        $this->windows->reset($this->storage(), self::identifier($key));
    }

    /**
     * Returns the whole seconds to wait after a denial, or the decay time if waiting does not help.
     */
    public static function retryAfter(Decision $decision, object $limit): int
    {
        return (int) ceil(is_finite($decision->retryAfter) ? $decision->retryAfter : self::seconds($limit));
    }

    /**
     * Returns the whole seconds for which a refused job is released.
     *
     * The queue limits the attempts of a job, and a release costs an attempt. With Laravel's
     * limiter, released jobs come back at the end of the window, when the whole limit is available.
     * So the bridge releases a job until the bucket is full, and not only until it holds one token.
     *
     * @param int|float $seconds the decay time
     */
    public static function releaseAfter(Decision $decision, int|float $seconds): int
    {
        return (int) ceil(match ($decision->reason) {
            'granted', 'insufficient_tokens' => $decision->resetAfter,
            'exceeds_capacity' => $seconds,
            // The denial is not due to missing tokens. The store may work again long before a day
            // ends.
            default => min(self::MOST_SECONDS_OF_OUTAGE, $seconds),
        });
    }

    /**
     * Returns the start and the end of the current window, or null for a bucket that refills
     * continuously.
     *
     * @return null|array{\DateTimeImmutable, \DateTimeImmutable}
     */
    public static function window(TokenBucket $bucket): ?array
    {
        return $bucket instanceof Quota ? $bucket->window() : null;
    }

    /** Returns the bucket of a limit, as Laravel's middleware describes it. */
    public function ofLimit(object $limit, bool $begins = true): TokenBucket
    {
        return $this->bucket($limit->key, self::nameOfLimit($limit), (int) $limit->maxAttempts, self::seconds($limit), false, $begins);
    }

    /**
     * Returns the bucket whose reservations are the places of refused jobs, or null for a quota and
     * for a limit that never refuses or always refuses.
     */
    public function places(object $limit): ?TokenBucket
    {
        if ($limit->maxAttempts < 1 || self::seconds($limit) <= 0 || $this->ofLimit($limit) instanceof Quota) {
            return null;
        }
        return new TokenBucket($this->storage(), 'places:' . self::nameOfLimit($limit), 1, self::rate((int) $limit->maxAttempts, self::seconds($limit)));
    }

    /**
     * Returns a bucket for blocks.
     *
     * @param string $what 'returns': jobs come back to their places; 'new': the token of a limit of
     *     one job is missing or new
     */
    public function blocked(string $what, object $limit): TokenBucket
    {
        return new TokenBucket($this->storage(), "$what:" . self::nameOfLimit($limit), 1, 1e6);
    }

    /** Reports whether only processes of this host can share the buckets. */
    public function areInSharedMemory(): bool
    {
        return $this->storage() instanceof TokenBucketStorageSharedMemory;
    }

    private static function nameOfLimit(object $limit): string
    {
        return 'limit:' . strlen($limit->source ?? '') . ':' . ($limit->source ?? '') . ":$limit->key";
    }

    /** Returns a name that no limit of a route and no item of the cache has. */
    private static function identifier(string $key): string
    {
        return "key:$key";
    }

    private function bucket(string $key, string $identifier, int $attempts, int|float $seconds, bool $isDate, ?bool $begins): TokenBucket
    {
        // As in Laravel, a window counts under each number of attempts.
        $refilled = fn (int $tokens, int|float $seconds) => $this->windows->quota($this->storage(), $identifier, max(1, $attempts), $seconds)
            ?? new TokenBucket($this->storage(), $identifier, max(1, $tokens), self::rate(max(1, $tokens), $seconds));
        $bucket = $this->first === null || $begins === null
            ? $refilled($attempts, $seconds)
            : $this->first->bucket($identifier, $attempts, $seconds, $isDate, $begins, $refilled);
        unset($this->recent[$key]);
        $this->recent[$key] = $bucket;
        if (count($this->recent) > self::REMEMBERED) {
            unset($this->recent[array_key_first($this->recent)]);
        }
        return $bucket;
    }

    /** Returns the tokens that a bucket gains in a second, within the bounds of a bucket. */
    private static function rate(int $attempts, int|float $seconds): float
    {
        return min(1e15, $attempts / min(max($seconds, 1e-6), self::MAX_SECONDS));
    }

    private function storage(): TokenBucketStorage
    {
        return $this->storage ??= ($this->makeStorage)();
    }

    /**
     * Converts attempts to an integer. The number may be a string, a fraction or infinite. As in
     * Laravel, 2.5 attempts are 3.
     */
    public static function attempts(mixed $number): int
    {
        return self::integer(ceil((float) $number));
    }

    /** Returns the nearest integer below, because a capacity may be beyond the integers. */
    public static function integer(float $tokens): int
    {
        return $tokens >= PHP_INT_MAX ? PHP_INT_MAX : (int) $tokens;
    }

    /** Returns the decay time, which Laravel 8 to 10 count in minutes. */
    private static function seconds(object $limit): int|float
    {
        return 0 + ($limit->decaySeconds ?? 60 * $limit->decayMinutes);
    }

    /** Returns the tokens of an attempt: more than the capacity if the limit allows no attempt. */
    private static function cost(object $limit): int
    {
        $tokens = self::tokens(self::seconds($limit));
        return $limit->maxAttempts > 0 ? $tokens : 2 * $tokens;
    }

    /** Returns the tokens of an attempt. A decay time of zero allows everything, as in Laravel. */
    public static function tokens(int|float $seconds): int
    {
        return $seconds > 0 ? 1 : 0;
    }
}
