<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/** The methods of TokenBucketStorage, as userland buckets call them. */
trait StorageMethods
{
    use NotCopied;

    public function prepare() {}

    public function bootstrap($identifier, $microtime)
    {
        $identifier = (new Argument(self::class . '::bootstrap', 1, 'identifier'))->string($identifier);
        $argument = new Argument(self::class . '::bootstrap', 2, 'microtime');
        $microtime = (float) $argument->number($microtime);
        if (!is_finite($microtime)) {
            throw $argument->invalid('must be finite');
        }
        $this->home()->startAt($identifier, $this->secondsSince($microtime));
    }

    public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure)
    {
        $argument = static fn (int $position, string $name) => new Argument(self::class . '::consume', $position, $name);
        $identifier = $argument(1, 'identifier')->string($identifier);
        $cost = (float) $argument(2, 'microtime')->number($microtime);
        $full = (float) $argument(3, 'full_microtime')->number($full_microtime);
        if (!is_callable($bootstrap_closure)) {
            throw $argument(4, 'bootstrap_closure')->wrong('must be a valid callback');
        }
        $argument(2, 'microtime')->amount($cost);
        $argument(3, 'full_microtime')->amount($full);
        $home = $this->home();
        $step = Seconds::toStep($cost, $full, $home->grain);
        $isAgreed = true;
        $first = $home->firstState($identifier, $step, static function () use ($bootstrap_closure, &$isAgreed): void {
            $isAgreed = (bool) $bootstrap_closure();
        });
        return $isAgreed && $home->take($identifier, $step, $first)->isGranted();
    }

    private function home(): Home
    {
        return Home::of($this);
    }

    private function secondsSince(float $microtime): float
    {
        return microtime(true) - $microtime;
    }
}
