<?php

declare(strict_types=1);

namespace TokenBucket;

use TokenBucket\Polyfill\Argument;
use TokenBucket\Polyfill\Home;
use TokenBucket\Polyfill\LockoutAnswer;
use TokenBucket\Polyfill\LockoutRules;
use TokenBucket\Polyfill\Quota;
use TokenBucket\Polyfill\Seconds;

final class Lockout
{
    use Polyfill\NotSerialized;

    private readonly \TokenBucketStorage $storage;
    private readonly string $identifier;
    private readonly LockoutRules $rules;

    public function __construct(
        \TokenBucketStorage $storage,
        string $identifier,
        int $attempts = 5,
        float $block = 900.0,
        float $factor = 2.0,
        float $maxBlock = 86400.0
    ) {
        if ($attempts < 1 || $attempts > 512) {
            throw self::argument(3, 'attempts')->invalid('must be between 1 and 512');
        }
        $first = self::length($block, self::argument(4, 'block'));
        if (!is_finite($factor) || $factor < 1) {
            throw self::argument(5, 'factor')->invalid('must be finite and greater than or equal to 1');
        }
        $longest = self::length($maxBlock, self::argument(6, 'maxBlock'));
        $this->storage = $storage;
        $this->identifier = $identifier;
        $this->rules = new LockoutRules($attempts, $first, $factor, $longest);
    }

    public function attempt(): Decision
    {
        return $this->decide('attempt', $this->rules->attempt(...));
    }

    public function peek(): Decision
    {
        return $this->decide('peek', $this->rules->peek(...));
    }

    public function succeed(): void
    {
        $this->decide('succeed', LockoutRules::succeed(...));
    }

    public function cancel(Decision $attempt): bool
    {
        throw new \LogicException(self::class . '::cancel() needs the extension');
    }

    /** @param \Closure(int, int): Polyfill\Outcome $decide */
    private function decide(string $method, \Closure $decide): Decision
    {
        $home = $this->home($method);
        $outcome = $home->updateLockout($this->identifier, $this->rules->maxBlock, $decide);
        return LockoutAnswer::decision($this->rules, $outcome, $home->isFallback);
    }

    private function home(string $method): Home
    {
        return Home::of($this->storage) ?? throw new \LogicException(
            self::class . "::$method() needs one of the extension's own storages"
        );
    }

    /** Returns a length of time in ticks. */
    private static function length(float $seconds, Argument $argument): int
    {
        $argument->amount($seconds);
        return match ($ticks = Seconds::toTicks($seconds)) {
            0 => throw $argument->invalid('must be greater than 0'),
            Quota::MOST => throw $argument->invalid('must be less than 2^60 nanoseconds (36 years)'),
            default => $ticks,
        };
    }

    private static function argument(int $position, string $name): Argument
    {
        return new Argument(self::class . '::__construct', $position, $name);
    }
}
