<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

use TokenBucket\Decision;

/** A call that takes tokens and sleeps until the bucket holds them. */
final class Waiting
{
    public function __construct(private readonly Question $question) {}

    /** @param int $timeout the longest wait in ticks */
    public function within(int $timeout): Decision
    {
        return $this->question->isNative() ? $this->reserve($this->question->within($timeout)) : $this->repeat($timeout);
    }

    /** Reserves the tokens and sleeps until the bucket holds them. */
    private function reserve(Question $question): Decision
    {
        $home = $question->home('wait');
        $outcome = $question->take($home);
        $delay = $question->step->debt($outcome);
        if (!$outcome->isGranted() || $delay === 0) {
            return $question->decision($outcome);
        }
        $cancel = GiveBack::reservation($question->step, $outcome->emptyAt);
        try {
            $isOver = $home->store->sleepUntil($home->store->now() + $delay);
        } catch (\Throwable $thrown) {
            // A handler of a signal has thrown.
            $home->giveBack($question->identifier, $cancel);
            throw $thrown;
        }
        if ($isOver) {
            // The reserved tokens are due now, and no other token is left.
            return $question->decision(new Outcome(Outcome::GRANTED, $outcome->emptyAt, $outcome->emptyAt));
        }
        $home->giveBack($question->identifier, $cancel);
        // Other calls may have taken tokens during the sleep.
        $seen = $home->take($question->identifier, new Step(0, $question->step->span, 0, true));
        return $question->decision(new Outcome(Outcome::INTERRUPTED, $seen->now, $seen->emptyAt));
    }

    /** Repeats a call on a storage that is written in PHP, which has no reservations. */
    private function repeat(int $left): Decision
    {
        while (true) {
            $decision = $this->question->decide();
            $answer = Answer::behind($decision);
            if ($decision->allowed || $answer->retryAfter === null || $answer->retryAfter > $left) {
                return $decision;
            }
            $start = hrtime(true);
            $nap = $answer->retryAfter;
            $isOver = Nap::take($nap);
            $slept = hrtime(true) - $start;
            if (!$isOver) {
                $resetAfter = max(0, $answer->resetAfter - $slept);
                return (new Answer($answer->quota, Outcome::INTERRUPTED, 0, max(0, $nap - $slept), $resetAfter))->decision();
            }
            $left = max(0, $left - $slept);
        }
    }
}
