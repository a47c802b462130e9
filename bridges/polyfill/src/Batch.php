<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

use TokenBucket\Decision;

/**
 * The calls of attemptAll() and attemptEach().
 *
 * The buckets of one store form a group, whose tokens are taken at one instant. All groups but the
 * first are checked before tokens are taken. If a bucket denies then, all tokens are given back.
 */
final class Batch
{
    /** @param non-empty-array<Question> $questions by the keys of the caller's list */
    public function __construct(private readonly array $questions) {}

    /** Takes tokens from each bucket that holds them. */
    public function takeEach(): array
    {
        $taken = [];
        try {
            $decisions = [];
            foreach ($this->questions as $key => $question) {
                if (!$question->isNative()) {
                    $decisions[$key] = $question->decide();
                    continue;
                }
                $outcome = $question->take($question->home('attemptEach'));
                $decisions[$key] = $question->decision($outcome);
                if ($outcome->isGranted()) {
                    $taken[] = [$question->home('attemptEach'), $question->identifier, GiveBack::take($question->step, $outcome->emptyAt)];
                }
            }
            return $decisions;
        } catch (\Throwable $thrown) {
            // The caller gets an exception instead of the decisions, so all tokens are given back.
            foreach (array_reverse($taken) as [$home, $identifier, $change]) {
                $home->giveBack($identifier, $change);
            }
            throw $thrown;
        }
    }

    /** Takes tokens from every bucket, or from none. */
    public function takeAll(): Decision
    {
        foreach ($this->questions as $question) {
            if ($question->bootstrap !== null) {
                throw new \LogicException('TokenBucket::attemptAll() does not support a class that overrides _bootstrap()');
            }
        }
        $groups = $this->groups();
        foreach ($this->questions as $key => $question) {
            if ($question->step->exceedsCapacity()) {
                $outcome = $question->home('attemptAll')->take($question->identifier, $question->step->dry());
                return $this->decision($key, $question->step, $outcome);
            }
        }
        foreach (array_reverse(array_slice($groups, 1)) as $group) {
            $refused = $group[0]->together(fn () => $this->refused($group));
            if ($refused !== null) {
                return $this->decision(...$refused);
            }
        }
        return $this->charge($groups);
    }

    /** @param list<list<BatchEntry>> $groups */
    private function charge(array $groups): Decision
    {
        $taken = [];
        foreach ($groups as $group) {
            $refused = $group[0]->together(function () use ($group, &$taken): ?array {
                return $this->refused($group) ?? $this->take($group, $taken);
            });
            if ($refused !== null) {
                foreach (array_reverse($taken) as [$entry, $outcome]) {
                    $entry->undo($outcome);
                }
                return $this->decision(...$refused);
            }
        }
        return $this->decision(...$this->tightest($taken));
    }

    /**
     * Returns the groups: the buckets of each store, with the steps on each bucket as one entry.
     * The file is the last group, so that its tokens are never held while another store decides.
     *
     * @return list<non-empty-list<BatchEntry>>
     */
    private function groups(): array
    {
        $groups = [];
        foreach ($this->questions as $key => $question) {
            $home = $question->home('attemptAll');
            $store = spl_object_id($home->store);
            $bucket = $home->key($question->identifier);
            $entry = $groups[$store][$bucket] ??= new BatchEntry($home, $bucket, $question->quota);
            $entry->add($key, $question);
        }
        $groups = array_map(array_values(...), array_values($groups));
        usort($groups, static fn (array $a, array $b) => $a[0]->isInFile() <=> $b[0]->isInFile());
        return $groups;
    }

    /**
     * Returns the key, the step and the outcome of the first bucket that would deny, or null.
     *
     * @param list<BatchEntry> $group
     */
    private function refused(array $group): ?array
    {
        foreach ($group as $entry) {
            $outcome = $entry->run(true);
            if (!$outcome->isGranted()) {
                return [$entry->blamed($outcome), $entry->step(), $outcome];
            }
        }
        return null;
    }

    /**
     * Takes the tokens of a group, and adds the entries with their outcomes to $taken.
     *
     * @param list<BatchEntry> $group
     */
    private function take(array $group, array &$taken): ?array
    {
        foreach ($group as $entry) {
            $outcome = $entry->run(false);
            if (!$outcome->isGranted()) {
                return [$entry->blamed($outcome), $entry->step(), $outcome];
            }
            $taken[] = [$entry, $outcome];
        }
        return null;
    }

    /** Returns the take after which the fewest tokens are left, or the first of several. */
    private function tightest(array $taken): array
    {
        $least = null;
        foreach ($taken as [$entry, $outcome]) {
            $remaining = Answer::remaining($entry->quota, $entry->step(), $outcome);
            if ($least === null || $remaining < $least) {
                $least = $remaining;
                $tightest = [$entry->firstKey(), $entry->step(), $outcome];
            }
        }
        return $tightest;
    }

    private function decision(int|string $key, Step $step, Outcome $outcome): Decision
    {
        $question = $this->questions[$key];
        $answer = Answer::of($question->quota, $step, $outcome);
        return $answer->decision($question->isFallback(), $outcome->isGranted() ? null : $key);
    }
}
