<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel\Console;

/** A command that cannot be done. The code is the exit status: 1, or 2 for a wrong command. */
final class Failure extends \Exception
{
}
