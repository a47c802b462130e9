<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel;

use Illuminate\Cache\RateLimiting\Limit;
use Illuminate\Support\Collection;
use TokenBucket;
use TokenBucket\Decision;

/**
 * Decides the limits of a job at once, although the queue's middleware asks for them one after the
 * other.
 *
 * For each limit, a decision answers one question, which is a call of tooManyAttempts(), and pays
 * for one call of hit(). A denial pays for hits, too, because Laravel 8 to 10 hit the limits before
 * the one that refuses. A further question gets a new decision, and a further hit takes its own
 * token.
 */
final class JobLimits
{
    /** The decision of all limits, or null if no token has been requested. */
    private ?Decision $decision = null;
    /** The limit that refuses the job. */
    private ?object $refusing = null;
    /** @var array<string, int> the questions of each key that the decision has not answered yet */
    private array $questions = [];
    /** @var array<string, int> the hits of each key that the decision still pays for */
    private array $hits = [];

    /** @param list<object> $limits as the queue's middleware describes them */
    private function __construct(private readonly Buckets $buckets, private readonly array $limits)
    {
    }

    /**
     * Returns the limits of a job with the keys that the queue's middleware uses.
     *
     * @param mixed $limits the result of the named limiter
     */
    public static function of(Buckets $buckets, string $name, mixed $limits): self
    {
        return new self($buckets, Collection::wrap($limits)->whereInstanceOf(Limit::class)->map(fn (Limit $limit) => (object) [
            'key' => md5($name . $limit->key),
            'maxAttempts' => $limit->maxAttempts,
            'decaySeconds' => $limit->decaySeconds ?? 60 * $limit->decayMinutes,
        ])->values()->all());
    }

    public function has(mixed $key): bool
    {
        return in_array($key, array_column($this->limits, 'key'), true);
    }

    /** Reports whether a limit of the key refuses the job. Decides all limits if needed. */
    public function refuses(string $key): bool
    {
        $isAnswered = ($this->questions[$key] ?? 0) === 0;
        if ($isAnswered && ($this->refusing !== null || ($this->hits[$key] ?? 0) === 0)) {
            [$this->decision, $this->refusing] = $this->buckets->take($this->limits);
            $this->questions = $this->hits = array_count_values(array_column($this->limits, 'key'));
        }
        $this->questions[$key] = max(0, $this->questions[$key] - 1);
        return $this->refusing?->key === $key;
    }

    /** Reports whether the decision pays for a hit of the key. Each payment is used once. */
    public function paysFor(string $key): bool
    {
        if (($this->hits[$key] ?? 0) === 0) {
            return false;
        }
        $this->hits[$key]--;
        return true;
    }

    /** Reports whether the job has passed all limits, and the decision pays for no further hit. */
    public function isOver(): bool
    {
        return $this->decision?->allowed === true && array_sum($this->hits) === 0;
    }

    /** Returns the seconds until a refused job should be tried again, or null for other jobs. */
    public function releaseAfter(): ?int
    {
        return $this->refusing === null ? null : Buckets::releaseAfter($this->decision, $this->refusing->decaySeconds);
    }

    /** Returns the bucket of a key. The key must be one of this job. */
    public function bucket(string $key): TokenBucket
    {
        return $this->buckets->ofLimit(array_column($this->limits, null, 'key')[$key]);
    }
}
