<?php

declare(strict_types=1);

use TokenBucket\Decision;
use TokenBucket\Polyfill\Amount;
use TokenBucket\Polyfill\Argument;
use TokenBucket\Polyfill\BadQuota;
use TokenBucket\Polyfill\Batch;
use TokenBucket\Polyfill\Calendar;
use TokenBucket\Polyfill\GiveBack;
use TokenBucket\Polyfill\Grain;
use TokenBucket\Polyfill\Home;
use TokenBucket\Polyfill\Made;
use TokenBucket\Polyfill\NotSerialized;
use TokenBucket\Polyfill\Overrides;
use TokenBucket\Polyfill\Question;
use TokenBucket\Polyfill\Quota;
use TokenBucket\Polyfill\Seconds;
use TokenBucket\Polyfill\Step;
use TokenBucket\Polyfill\Waiting;
use TokenBucket\Reservation;

class TokenBucket
{
    use NotSerialized;

    public const MILLISECOND = 0.001;
    public const SECOND = 1;
    public const MINUTE = 60;
    public const HOUR = 3600;
    public const DAY = 86400;
    public const WEEK = 604800;
    public const MICROTIME_DELTA = 0.0001;

    private $_storage;
    protected $_identifier;
    protected $_bucket_capacity;
    protected $_tokens_per_second;

    public static function compare_microtimes($m1, $m2)
    {
        $m1 = (float) (new Argument('TokenBucket::compare_microtimes', 1, 'm1'))->number($m1);
        $m2 = (float) (new Argument('TokenBucket::compare_microtimes', 2, 'm2'))->number($m2);
        if (abs(($m1 - $m2) / ($m2 == 0 ? 1.0 : $m2)) < static::MICROTIME_DELTA) {
            return 0;
        }
        return $m1 > $m2 ? 1 : -1;
    }

    public function __construct(TokenBucketStorage $storage, $identifier, $bucket_capacity, $tokens_per_second)
    {
        (new Argument('TokenBucket::__construct', 2, 'identifier'))->string($identifier);
        $capacity = new Argument('TokenBucket::__construct', 3, 'bucket_capacity');
        $rate = new Argument('TokenBucket::__construct', 4, 'tokens_per_second');
        $numbers = [$capacity->number($bucket_capacity), $rate->number($tokens_per_second)];
        try {
            Quota::of(...[...$numbers, Home::of($storage)->grain ?? Grain::Nanosecond]);
        } catch (BadQuota $bad) {
            throw ($bad->place === BadQuota::CAPACITY ? $capacity : $rate)->invalid($bad->getMessage());
        }
        // The properties keep the values as passed.
        $this->_storage = $storage;
        $this->_identifier = $identifier;
        $this->_bucket_capacity = $bucket_capacity;
        $this->_tokens_per_second = $tokens_per_second;
    }

    public function consume($token_count = 1)
    {
        $argument = new Argument('TokenBucket::consume', 1, 'token_count');
        return $this->question($argument->number($token_count), $argument)->isGranted();
    }

    public function attempt(int|float $tokens = 1, int|float $floor = 0): Decision
    {
        $question = $this->question($tokens, new Argument('TokenBucket::attempt', 1, 'tokens'));
        return $this->leaving($question, $tokens, $floor, new Argument('TokenBucket::attempt', 2, 'floor'), 'attempt')->decide();
    }

    public function peek(int|float $tokens = 1, int|float $floor = 0): Decision
    {
        $question = $this->question($tokens, new Argument('TokenBucket::peek', 1, 'tokens'));
        $question = $this->leaving($question, $tokens, $floor, new Argument('TokenBucket::peek', 2, 'floor'), 'peek');
        return $question->decision($question->home('peek')->take($question->identifier, $question->step->dry()));
    }

    public function charge(int|float $tokens): Decision
    {
        $argument = new Argument('TokenBucket::charge', 1, 'tokens');
        $question = $this->question($tokens, $argument);
        return $this->charged($question, $this->price($question, $tokens, $argument), 'charge', $argument);
    }

    public function settle(int|float $reserved, int|float $actual): Decision
    {
        $first = new Argument('TokenBucket::settle', 1, 'reserved');
        $second = new Argument('TokenBucket::settle', 2, 'actual');
        $question = $this->question($reserved, $first);
        // Both costs are rounded in the same way, so in total exactly the actual cost is taken.
        $taken = $this->price($question, $reserved, $first);
        $price = $this->price($question, $actual, $second);
        if ($price->cost >= $taken->cost) {
            $more = $question->isNative() ? $actual - $reserved : 0;
            $question = $this->asked($more, $question);
            return $this->charged($question, $price->costing($price->cost - $taken->cost), 'settle', $second);
        }
        $home = $question->home('settle');
        $home->giveBack($question->identifier, GiveBack::refund($taken->cost - $price->cost, $price));
        $look = $price->costing(0)->dry();
        return $question->changed($look, $home->take($question->identifier, $look));
    }

    public function reserve(int|float $tokens = 1, float $maxWait = INF): Reservation
    {
        $maxWait = (new Argument('TokenBucket::reserve', 2, 'maxWait'))->patience($maxWait);
        $question = $this->question($tokens, new Argument('TokenBucket::reserve', 1, 'tokens'))->refuseWindows('reserve()')->within($maxWait);
        $home = $question->home('reserve');
        $outcome = $question->take($home);
        return Made::of(Reservation::class, $this->_storage, $question, $outcome, $home->store->now());
    }

    public function wait(float $timeout, int|float $tokens = 1): Decision
    {
        $timeout = (new Argument('TokenBucket::wait', 1, 'timeout'))->patience($timeout);
        return (new Waiting($this->question($tokens, new Argument('TokenBucket::wait', 2, 'tokens'))->refuseWindows('wait()')))->within($timeout);
    }

    public function refund(int|float $tokens = 1): void
    {
        $argument = new Argument('TokenBucket::refund', 1, 'tokens');
        $question = $this->question($tokens, $argument);
        $home = $question->home('refund');
        $step = $this->measured($question, $tokens);
        $cost = Overrides::hasOwnPrices($this) ? $step->cost : $question->quota->refund($argument->amount($tokens));
        $home->giveBack($question->identifier, GiveBack::refund($cost, $step));
    }

    public function reset(): void
    {
        $question = $this->question(0, new Argument('TokenBucket::reset', 1, ''));
        $question->home('reset')->reset($question->identifier);
    }

    public function block(float $seconds): Decision
    {
        $argument = new Argument('TokenBucket::block', 1, 'seconds');
        $argument->amount($seconds);
        $ticks = Seconds::toTicks($seconds);
        if ($ticks >= Quota::MOST) {
            throw $argument->invalid('must be less than 2^60 nanoseconds (36 years)');
        }
        $question = $this->question(1, $argument);
        $home = $question->home('block');
        if ($question->step->windows !== null) {
            // Blocks until the end of the window in which the time of the block ends.
            $home->advance($question->identifier, Calendar::of($this)->windows($ticks)->end());
            $look = $question->step->costing(0)->dry();
            return $question->changed($look, $home->take($question->identifier, $look));
        }
        $step = $this->measured($question, 1);
        // A bucket with a capacity below one token is full at the end of the block.
        return $this->raised($question, new Step(min($step->cost, $step->span), $step->span), $ticks, 'block');
    }

    public function drain(int|float $tokens = 0): Decision
    {
        $question = $this->question($tokens, new Argument('TokenBucket::drain', 1, 'tokens'));
        $question->home('drain');
        $question->refuseWindows('drain()');
        return $this->raised($question, $this->measured($question, $tokens), 0, 'drain');
    }

    public static function attemptAll(array $buckets, int|float $tokens = 1): Decision
    {
        return (new Batch(self::questions('attemptAll', $buckets, $tokens)))->takeAll();
    }

    public static function attemptEach(array $buckets): array
    {
        return (new Batch(self::questions('attemptEach', $buckets, 1)))->takeEach();
    }

    protected function _bootstrap($initialTokens)
    {
        $storage = $this->storage();
        $seconds = $this->seconds($initialTokens);
        if (!is_finite($seconds)) {
            throw (new Argument('TokenBucket::_bootstrap', 1, 'initialTokens'))->invalid('must be finite');
        }
        $home = Home::of($storage);
        if ($home === null) {
            $storage->bootstrap($this->_identifier, microtime(true) - $seconds);
        } else {
            $quota = Quota::of($this->number('_bucket_capacity'), $this->number('_tokens_per_second'), $home->grain);
            $home->startAt($this->identifier(), $seconds, $quota->span);
        }
    }

    protected function _tokens_to_seconds($tokens)
    {
        return $tokens / $this->_tokens_per_second;
    }

    protected function _seconds_to_tokens($seconds)
    {
        return $seconds * $this->_tokens_per_second;
    }

    /**
     * Returns the questions of a list of buckets, by the keys of the list.
     *
     * @return non-empty-array<Question>
     */
    private static function questions(string $method, array $buckets, int|float $tokens): array
    {
        $argument = new Argument("TokenBucket::$method", 1, 'buckets');
        if ($buckets === []) {
            throw $argument->invalid('must not be empty');
        }
        foreach ($buckets as $key => $element) {
            $elements[$key] = self::element($element)
                ?? throw $argument->wrong('must contain only TokenBucket objects, or lists of a TokenBucket object, a number of tokens and possibly a floor');
        }
        $other = new Argument("TokenBucket::$method", 2, 'tokens');
        return array_map(static function (array $element) use ($tokens, $argument, $other, $method): Question {
            [$bucket, $number, $floor] = $element;
            $question = $bucket->question($number ?? $tokens, $number === null ? $other : $argument);
            return $bucket->leaving($question, $number ?? $tokens, $floor ?? 0, $argument, $method);
        }, $elements);
    }

    /** @return array{self, int|float|null, int|float|null}|null the bucket, its tokens and floor */
    private static function element(mixed $element): ?array
    {
        if (!is_array($element)) {
            return $element instanceof self ? [$element, null, null] : null;
        }
        [$bucket, $number, $floor] = [$element[0] ?? null, $element[1] ?? null, $element[2] ?? null];
        $isNumber = static fn (mixed $it) => is_int($it) || is_float($it);
        $isValid = $bucket instanceof self && $isNumber($number) && count($element) === ($isNumber($floor) ? 3 : 2);
        return $isValid ? [$bucket, $number, $floor] : null;
    }

    /** Returns the values of a call for tokens, which PHP code cannot change during the call. */
    private function question(int|float $number, Argument $argument): Question
    {
        $storage = $this->storage();
        $home = $storage instanceof TokenBucketStorage ? Home::of($storage) : null;
        $identifier = $this->identifier();
        $grain = $home->grain ?? Grain::Nanosecond;
        $calendar = $this instanceof TokenBucket\Quota ? Calendar::of($this) : null;
        try {
            $quota = $calendar?->quota($this->_bucket_capacity) ?? Quota::of($this->number('_bucket_capacity'), $this->number('_tokens_per_second'), $grain);
        } catch (BadQuota $bad) {
            throw new ValueError("TokenBucket::\$_$bad->place {$bad->getMessage()}");
        }
        $step = $quota->step($argument->amount($number))->in($calendar?->windows());
        if ($home !== null && Overrides::hasOwnPrices($this) && !$step->exceedsCapacity()) {
            $step = $this->ownStep($number, $grain);
        }
        return $this->asked($number, new Question($home, $identifier, $quota, $step, null, static fn () => false));
    }

    /**
     * Returns the question of a call that leaves at least the floor in the bucket. The ticks of the
     * floor are the cost of the tokens and the floor together, minus the cost of the tokens. So
     * rounding never denies a call for which a full bucket has exactly enough tokens.
     */
    private function leaving(Question $question, int|float $number, int|float $floor, Argument $argument, string $method): Question
    {
        if ($argument->amount($floor)->isZero()) {
            return $question;
        }
        $grain = $question->home($method, ' with a floor')->grain;
        $question->refuseWindows("$method() with a floor");
        $all = $number + $floor;
        $step = $question->quota->step($argument->amount(is_float($all) ? min($all, PHP_FLOAT_MAX) : $all));
        $cost = match (true) {
            $step->exceedsCapacity() => $question->step->span + $grain->ticks(),
            Overrides::hasOwnPrices($this) => $this->ownStep($all, $grain)->cost,
            default => $step->cost,
        };
        return $question->with($question->step->within(-max(0, $cost - $question->step->cost)));
    }

    /** Returns a question that calls this bucket's methods for that number of tokens. */
    private function asked(int|float $number, Question $question): Question
    {
        $storage = $this->_storage;
        $bootstrap = function () use ($number): bool {
            $this->_bootstrap($this->_bucket_capacity - $number);
            return true;
        };
        $consume = fn (): bool => (bool) $storage->consume(
            $this->_identifier,
            $this->_tokens_to_seconds($number),
            $this->_tokens_to_seconds($this->_bucket_capacity),
            $bootstrap
        );
        return $question->calling(Overrides::hasOwnBootstrap($this) ? $bootstrap : null, $consume);
    }

    private function storage(): object
    {
        return $this->_storage
            ?? throw new Error('The TokenBucket object has not been correctly initialized by calling parent::__construct() in its constructor');
    }

    private function identifier(): string
    {
        try {
            return (new Argument('', 0, ''))->string($this->_identifier);
        } catch (TypeError) {
            throw new TypeError('TokenBucket::$_identifier must be of type string');
        }
    }

    private function number(string $property): int|float
    {
        try {
            return (new Argument('', 0, ''))->number($this->$property);
        } catch (TypeError) {
            throw new TypeError("TokenBucket::\$$property must be of type int|float");
        }
    }

    /** Returns the seconds in which tokens are refilled, or NAN if a subclass returns no number. */
    private function seconds(mixed $tokens): float
    {
        $seconds = $this->_tokens_to_seconds($tokens);
        return is_numeric($seconds) || is_bool($seconds) ? (float) $seconds : NAN;
    }

    /** Returns the step with the times of an overriding _tokens_to_seconds(). */
    private function ownStep(int|float $number, Grain $grain): Step
    {
        [$cost, $full] = [$this->seconds($number), $this->seconds($this->_bucket_capacity)];
        foreach (['cost' => $cost, 'full span' => $full] as $name => $seconds) {
            $fault = Amount::fault($seconds);
            if ($fault !== null) {
                throw new ValueError("_tokens_to_seconds(): $name $fault");
            }
        }
        return Seconds::toStep($cost, $full, $grain);
    }

    /** Returns the step of tokens that may exceed the capacity. */
    private function price(Question $question, int|float $number, Argument $argument): Step
    {
        $amount = $argument->amount($number);
        if (Overrides::hasOwnPrices($this)) {
            return $this->ownStep($number, $question->quota->grain);
        }
        $cost = $question->quota->price($amount) ?? throw $argument->invalid('must refill within 2^60 nanoseconds at the bucket\'s rate');
        return $question->step->costing($cost);
    }

    /** Returns the step. A subclass's own prices apply even to more tokens than the capacity. */
    private function measured(Question $question, int|float $number): Step
    {
        $isMeasured = !Overrides::hasOwnPrices($this) || !$question->step->exceedsCapacity();
        return $isMeasured ? $question->step : $this->ownStep($number, $question->quota->grain);
    }

    /**
     * Takes tokens, so that the bucket holds at most the tokens of $left when $ticks ticks have
     * passed. Changes nothing if $left exceeds the capacity.
     */
    private function raised(Question $question, Step $left, int $ticks, string $method): Decision
    {
        $question = $this->asked(0, $question->with(new Step(0, $left->span)));
        $home = $question->home($method);
        if ($question->bootstrap !== null) {
            // Creates the bucket first, as for a call that takes nothing.
            $question->take($home);
        }
        $look = new Step($left->span, $left->span, 0, true);
        return $question->changed($look, $left->exceedsCapacity()
            ? $home->take($question->identifier, $look)
            : $home->raise($question->identifier, $left->cost - $ticks, $left->span));
    }

    /** Takes tokens even if the bucket does not hold them. */
    private function charged(Question $question, Step $price, string $method, Argument $argument): Decision
    {
        $windows = $price->windows;
        // The charges of a window stay in the window, so that the next one is whole.
        $most = $windows === null ? Quota::MOST : max(0, $windows->shortest() - $price->span);
        $question = $question->with($price->within($most));
        $outcome = $question->take($question->home($method));
        // If the window is blocked, or the state is of a later window, the charge takes nothing.
        if (!$outcome->isGranted() && !$price->at($outcome->now)->isClosed($outcome->emptyAt)) {
            throw $argument->invalid($windows === null
                ? 'must not leave a debt that takes more than 2^60 nanoseconds to repay'
                : 'must not charge a window more tokens than it has microseconds');
        }
        return $question->decision($outcome);
    }
}
