<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel;

use Illuminate\Cache\RateLimiting\Limit;
use Illuminate\Support\Carbon;
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
 *
 * A refused job gets a place: it is released until the token of its place is refilled. The places
 * are reservations in a bucket of their own, which decides nothing. While jobs wait for their
 * places, a job that has no place must leave the tokens of those that are due now. If none of them
 * comes back for the decay time, the jobs were deleted, or the worker has stopped. Then all places
 * are given up.
 *
 * A bucket of one token gains nothing while it is full, so a token that waits for a job is wasted.
 * With such a limit, a job without a place leaves the token for five seconds at most, and for none
 * if the decay time is short. A job whose token another one has taken is tried again as soon as the
 * next token is there.
 */
final class JobLimits
{
    /**
     * The seconds in which a job with a place comes back after its token was refilled: Laravel adds
     * three seconds, whole seconds add one, and a worker may be late.
     */
    public const SECONDS_TO_RETURN = 5.0;
    /** The seconds that Laravel adds to the time for which a job is released. */
    private const SECONDS_OF_LARAVEL = 3;
    /** The seconds for which a job leaves the tokens to others if it cannot state its attempts. */
    private const SECONDS_OF_UNKNOWN = 2.9;
    /** The shortest decay time for which the token of a limit of one job waits for a job. */
    private const SECONDS_OF_LONG_DECAY = 60;

    /** The decision of all limits, or null if no token has been requested. */
    private ?Decision $decision = null;
    /** The limit that refuses the job. */
    private ?object $refusing = null;
    /** The seconds until the place of a refused job, or null if it has none yet. */
    private ?int $place = null;
    /** @var list<object> the limits whose places jobs wait for */
    private array $booked = [];
    /** @var array<string, int> the questions of each key that the decision has not answered yet */
    private array $questions = [];
    /** @var array<string, int> the hits of each key that the decision still pays for */
    private array $hits = [];

    /**
     * @param list<object> $limits as the queue's middleware describes them
     * @param mixed $job the job, or another value for which the application calls the limiter
     */
    private function __construct(private readonly Buckets $buckets, private readonly array $limits, private readonly mixed $job)
    {
    }

    /**
     * Returns the limits of a job with the keys that the queue's middleware uses.
     *
     * @param mixed $limits the result of the named limiter
     * @param mixed $job as for the constructor
     */
    public static function of(Buckets $buckets, string $name, mixed $limits, mixed $job = null): self
    {
        $limits = Collection::wrap($limits)->whereInstanceOf(Limit::class)->map(fn (Limit $limit) => (object) [
            'key' => md5($name . $limit->key),
            'maxAttempts' => $limit->maxAttempts,
            'decaySeconds' => $limit->decaySeconds ?? 60 * $limit->decayMinutes,
        ])->values()->all();
        Buckets::nameSources($limits);
        return new self($buckets, $limits, $job);
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
            $this->booked = [];
            [$this->decision, $this->refusing] = $this->buckets->take($this->limits, $this->floor(...));
            $this->place = null;
            if ($this->refusing === null) {
                array_map($this->passed(...), $this->booked);
            }
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
        return $this->refusing === null ? null : $this->place ??= $this->takePlace($this->refusing, $this->decision);
    }

    private function takePlace(object $limit, Decision $decision): int
    {
        $places = $this->buckets->places($limit);
        $isOfOne = $limit->maxAttempts < 2;
        // Of a limit of one job, a late job that took a place behind the others would leave a gap.
        if ($places !== null && !($isOfOne && $this->grace() === 0.0) && in_array($decision->reason, ['insufficient_tokens', 'below_floor', 'exceeds_capacity'], true)) {
            // A place at which the job will have failed would waste a token.
            $reservation = $places->reserve(1, max(0.0, $this->secondsToRetry() - self::SECONDS_OF_LARAVEL));
            if ($reservation->decision->allowed) {
                $reservation->delay > 0 || $this->keepPlaces($limit);
                // The bucket of places is full when the first place is taken, but the other bucket
                // is empty.
                return $isOfOne ? $this->placeOfOne($limit, $places, $reservation->delay) : (int) ceil($reservation->delay + $limit->decaySeconds / $limit->maxAttempts);
            }
        }
        return Buckets::releaseAfter($decision, $limit->decaySeconds);
    }

    /**
     * Returns the seconds until a place of a limit of one job. The next place begins a decay time
     * after the job comes back, not after the token is refilled.
     */
    private function placeOfOne(object $limit, TokenBucket $places, float $delay): int
    {
        $wait = $this->buckets->peek($limit)->retryAfter;
        $delay > 0 || !self::keepsToken($limit) || $this->keepToken($limit, $wait);
        $seconds = (int) ceil(max($delay, $wait));
        $places->charge(($seconds - $delay) / $limit->decaySeconds);
        return $seconds;
    }

    /** Keeps the places of a limit that the job has passed while others wait for their places. */
    private function passed(object $limit): void
    {
        $this->grace() < self::SECONDS_TO_RETURN && $this->keepPlaces($limit);
        self::keepsToken($limit) && $this->keepToken($limit, $limit->decaySeconds);
    }

    /**
     * Keeps the places of a limit for its decay time, in which a job should come back. Of a limit
     * of few jobs, two may be late: they find the token taken, and come back once more.
     */
    private function keepPlaces(object $limit): void
    {
        $seconds = $limit->decaySeconds * (1 + 2 / $limit->maxAttempts) + 2 * self::SECONDS_TO_RETURN;
        $this->buckets->blocked('returns', $limit)->block(min(Buckets::MAX_SECONDS, $seconds));
    }

    /** Keeps the token of a limit of one job, which is refilled then, for a job with a place. */
    private function keepToken(object $limit, float $secondsUntilRefilled): void
    {
        $this->buckets->blocked('new', $limit)->block(min(Buckets::MAX_SECONDS, $secondsUntilRefilled + self::SECONDS_TO_RETURN));
    }

    private static function keepsToken(object $limit): bool
    {
        return $limit->maxAttempts < 2 && $limit->decaySeconds >= self::SECONDS_OF_LONG_DECAY;
    }

    /** Returns the tokens of a limit that the job leaves to jobs with places. */
    private function floor(object $limit): float
    {
        $places = $this->buckets->places($limit);
        if ($places === null || $places->peek()->allowed) {
            return 0.0;
        }
        $returns = $this->buckets->blocked('returns', $limit)->peek();
        if ($returns->allowed && !$returns->fallback) {
            $places->reset();
            return 0.0;
        }
        $this->booked[] = $limit;
        $grace = $this->grace();
        $floor = $grace * $limit->maxAttempts / $limit->decaySeconds;
        if ($limit->maxAttempts > 1) {
            return min($limit->maxAttempts - 1, $floor);
        }
        if ($grace === 0.0 || !self::keepsToken($limit)) {
            return 0.0;
        }
        // A bucket of one token never has more, so any floor refuses the job.
        return $this->buckets->blocked('new', $limit)->peek()->retryAfter <= self::SECONDS_TO_RETURN - $grace ? 0.0 : $floor;
    }

    /** Returns the seconds for which the job leaves the tokens to jobs with places. */
    private function grace(): float
    {
        try {
            $attempts = is_object($this->job) && is_callable([$this->job, 'attempts']) ? $this->job->attempts() : null;
        } catch (\BadMethodCallException) {
            // A mock in a test, which need not know this method for Laravel's limiter.
            $attempts = null;
        }
        return match (true) {
            !is_int($attempts) => self::SECONDS_OF_UNKNOWN,
            $attempts > 1 => 0.0,
            default => self::SECONDS_TO_RETURN,
        };
    }

    /** Returns the seconds after which a job with retryUntil() fails if it comes back. */
    private function secondsToRetry(): float
    {
        try {
            $queued = is_object($this->job) ? $this->job->job ?? null : null;
            $until = is_object($queued) && is_callable([$queued, 'retryUntil']) ? $queued->retryUntil() : null;
        } catch (\BadMethodCallException) {
            // A mock in a test, as for attempts().
            $until = null;
        }
        return is_numeric($until) ? (float) $until - Carbon::now()->getTimestamp() : INF;
    }

    /** Returns the bucket of a key. The key must be one of this job. */
    public function bucket(string $key): TokenBucket
    {
        return $this->buckets->ofLimit(array_column($this->limits, null, 'key')[$key]);
    }
}
