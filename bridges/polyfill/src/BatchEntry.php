<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/** All steps of a batch on one bucket. */
final class BatchEntry
{
    /** @var non-empty-array<Step> by the keys of the caller's list */
    private array $steps = [];

    public function __construct(private readonly Home $home, private readonly string $key, public readonly Quota $quota) {}

    /** @throws \ValueError if the questions have different limits */
    public function add(int|string $key, Question $question): void
    {
        if (!$question->quota->equals($this->quota)) {
            throw (new Argument('TokenBucket::attemptAll', 1, 'buckets'))->invalid('must not contain buckets that have one storage and one identifier, but different limits');
        }
        $this->steps[$key] = $question->step;
    }

    public function isInFile(): bool
    {
        return $this->home->store instanceof FileStore;
    }

    public function together(\Closure $calls): mixed
    {
        return $this->home->store->together($calls);
    }

    /** Returns one step that takes the tokens of all steps and leaves the greatest floor. */
    public function step(): Step
    {
        $cost = 0;
        $maxWait = 0;
        foreach ($this->steps as $step) {
            // A cost above the greatest one exceeds every capacity.
            $cost = min($cost + $step->cost, Quota::MOST + 1);
            $maxWait = min($maxWait, $step->maxWait);
        }
        return $this->steps[$this->firstKey()]->costing($cost)->within($maxWait);
    }

    public function run(bool $isDry): Outcome
    {
        return $this->home->takeByKey($this->key, $isDry ? $this->step()->dry() : $this->step());
    }

    public function undo(Outcome $outcome): void
    {
        $this->home->giveBackByKey($this->key, GiveBack::take($this->step(), $outcome->emptyAt));
    }

    public function firstKey(): int|string
    {
        return array_key_first($this->steps);
    }

    /** Returns the key of the first step that the bucket cannot pay if the steps run in order. */
    public function blamed(Outcome $outcome): int|string
    {
        foreach ($this->steps as $key => $step) {
            $outcome = $step->within($this->step()->maxWait)->decide($outcome->emptyAt, $outcome->now);
            if (!$outcome->isGranted()) {
                return $key;
            }
        }
        return $this->firstKey();
    }
}
