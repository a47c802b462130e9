<?php

declare(strict_types=1);

namespace TokenBucket;

enum Period
{
    case Minute;
    case Hour;
    case Day;
    case Week;
    case Month;
    case Year;
}
