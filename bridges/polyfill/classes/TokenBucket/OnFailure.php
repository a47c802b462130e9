<?php

declare(strict_types=1);

namespace TokenBucket;

enum OnFailure
{
    case Local;
    case Allow;
    case Deny;
    case Throw;
}
