<?php

declare(strict_types=1);

namespace TokenBucket;

use TokenBucket\Polyfill\Argument;
use TokenBucket\Polyfill\BadQuota;
use TokenBucket\Polyfill\Calendar;
use TokenBucket\Polyfill\Home;

final class Quota extends \TokenBucket
{
    private $_period;
    private $_anchor;

    public function __construct(\TokenBucketStorage $storage, $identifier, int $limit, Period $period, ?\DateTimeInterface $anchor = null)
    {
        if (Home::of($storage) === null) {
            throw new \LogicException(self::class . " needs one of the extension's own storages");
        }
        $identifier = (new Argument(self::class . '::__construct', 2, 'identifier'))->string($identifier);
        try {
            Calendar::counting($period, $limit);
        } catch (BadQuota) {
            throw (new Argument(self::class . '::__construct', 3, 'limit'))->invalid("must be between 1 and the microseconds of the period's shortest window");
        }
        parent::__construct($storage, $identifier, $limit, $limit / Calendar::average($period));
        $this->_period = $period;
        $anchor === null || self::timestamp($anchor, '__construct', 5, 'anchor');
        // The default anchor is a Monday, and the first day of a month and of a year. A given
        // anchor is copied, because the caller may change the object.
        $this->_anchor = $anchor === null
            ? new \DateTimeImmutable('2024-01-01 00:00:00 UTC')
            : \DateTimeImmutable::createFromInterface($anchor);
    }

    public function window(?\DateTimeInterface $at = null): array
    {
        $window = Calendar::of($this)->window($at === null ? null : self::timestamp($at, 'window', 1, 'at'));
        $date = fn (int $start) => (new \DateTimeImmutable("@$start"))->setTimezone($this->_anchor->getTimezone());
        return array_map($date, $window);
    }

    /** Returns a Unix time, which must be far from the limits of integers. */
    private static function timestamp(\DateTimeInterface $date, string $method, int $position, string $name): int
    {
        $seconds = $date->getTimestamp();
        return $seconds >= -377_705_116_800 && $seconds < 253_402_300_800
            ? $seconds
            : throw (new Argument(self::class . "::$method", $position, $name))->invalid('must be between the years -9999 and 9999');
    }
}
