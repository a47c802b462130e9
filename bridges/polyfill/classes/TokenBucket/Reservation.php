<?php

declare(strict_types=1);

namespace TokenBucket;

use TokenBucket\Polyfill\GiveBack;
use TokenBucket\Polyfill\Home;
use TokenBucket\Polyfill\MemoryStore;
use TokenBucket\Polyfill\Outcome;
use TokenBucket\Polyfill\Process;
use TokenBucket\Polyfill\Question;
use TokenBucket\Polyfill\Seconds;

final readonly class Reservation
{
    use Polyfill\NotCopied;

    public Decision $decision;

    public float $delay;

    private \TokenBucketStorage $storage;

    private string $identifier;

    /** @var object{due: ?int, giveBack: GiveBack, process: int, isCancelled: bool} */
    private object $state;

    private function __construct(\TokenBucketStorage $storage, Question $question, Outcome $outcome, int $now)
    {
        $delay = $question->step->debt($outcome);
        $this->decision = $question->decision($outcome);
        $this->delay = $outcome->isGranted() ? Seconds::fromTicks($delay) : INF;
        $this->storage = $storage;
        $this->identifier = $question->identifier;
        $this->state = (object) [
            'due' => $outcome->isGranted() ? $now + $delay : null,
            'giveBack' => GiveBack::reservation($question->step, $outcome->emptyAt),
            'process' => Process::id(),
            'isCancelled' => false,
        ];
    }

    public function wait(): void
    {
        if ($this->state->due === null) {
            throw new \LogicException('The reservation was not granted');
        }
        try {
            do {
                if ($this->state->isCancelled) {
                    throw new \LogicException('The reservation was cancelled');
                }
            } while (!Home::of($this->storage)->store->sleepUntil($this->state->due));
        } catch (\Throwable $thrown) {
            // A handler of a signal has thrown.
            $this->cancel();
            throw $thrown;
        }
    }

    public function cancel(): void
    {
        if ($this->state->due === null || $this->state->isCancelled) {
            return;
        }
        $this->state->isCancelled = true;
        $home = Home::of($this->storage);
        // A forked child has a copy of the object, which must not give the same tokens back again.
        if ($this->state->process === Process::id() || $home->store instanceof MemoryStore) {
            $home->giveBack($this->identifier, $this->state->giveBack);
        }
    }
}
