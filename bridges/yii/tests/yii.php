<?php

/**
 * Declares the parts of Yii that the bridge uses, because Debian has no packages of Yii. Their
 * signatures are those of yiisoft/rate-limiter 3 and yiisoft/yii2 2.0.
 */

declare(strict_types=1);

namespace Yiisoft\Yii\RateLimiter {
    interface CounterInterface
    {
        public function hit(string $id): CounterState;
    }

    final class CounterState
    {
        public function __construct(
            public readonly int $limit,
            public readonly int $remaining,
            public readonly int $resetTime,
            public readonly bool $isFailStoreUpdatedData = false,
        ) {
        }

        public function isLimitReached(): bool
        {
            return $this->remaining === 0;
        }
    }
}

namespace yii\base {
    class InvalidConfigException extends \Exception
    {
    }
}

namespace yii\web {
    class TooManyRequestsHttpException extends \Exception
    {
    }
}

namespace yii\filters {
    class RateLimiter
    {
        public $errorMessage = 'Rate limit exceeded.';
        public array $headers = [];

        public function init()
        {
        }

        public function checkRateLimit($user, $request, $response, $action)
        {
        }

        public function addRateLimitHeaders($response, $limit, $remaining, $reset)
        {
            $this->headers[] = [$limit, $remaining, $reset];
        }
    }
}
