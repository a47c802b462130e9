<?php

declare(strict_types=1);

namespace TokenBucket;

use TokenBucket\Polyfill\Status;

/** Returns the fields of the extension's status(), and 'polyfill' => true. */
function status(): array
{
    return Status::fields();
}

/** Returns the state of the file as OpenMetrics text for Prometheus. */
function metrics(): string
{
    return Status::metrics();
}
