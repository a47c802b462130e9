<?php

/**
 * Prints the decisions of a random history, which follows from a seed, and of first calls on the
 * grains of all storages. The extension and this package must print the same.
 */

declare(strict_types=1);

/** Returns all values of a decision or reservation as text, with the bits of each float. */
function exactly(mixed $value): string
{
    $exact = static fn (mixed $it) => is_float($it) ? $it . '/' . bin2hex(pack('E', $it)) : $it;
    if ($value instanceof TokenBucket\Reservation) {
        return $exact($value->delay) . ' ' . exactly($value->decision);
    }
    if ($value instanceof TokenBucket\Decision) {
        return json_encode([...array_map($exact, get_object_vars($value)), ...$value->headers()]);
    }
    return is_array($value) ? implode(' | ', array_map(exactly(...), $value)) : json_encode($exact($value));
}

/** @param callable(): mixed $call */
function tell(string $name, callable $call): void
{
    try {
        $answer = $call();
    } catch (ValueError | LogicException $e) {
        $answer = get_class($e) . ': ' . preg_replace('/, called in .*/', '', $e->getMessage());
    }
    echo $name, ' ', exactly($answer), "\n";
}

function any(array $values): mixed
{
    return $values[mt_rand(0, count($values) - 1)];
}

/** Starts each new bucket with a few tokens. */
class Starting extends TokenBucket
{
    protected function _bootstrap($initialTokens)
    {
        parent::_bootstrap(min($initialTokens, 3));
    }
}

/** Charges half as much again for each token. */
class Dearer extends TokenBucket
{
    protected function _tokens_to_seconds($tokens)
    {
        return 1.5 * parent::_tokens_to_seconds($tokens);
    }
}

function history(int $seed, int $calls): void
{
    mt_srand($seed);
    $storages = [new TokenBucketStorageMemory(), new TokenBucketStorageMemory()];
    $capacities = [1, 2, 3, 7, 10, 97, 1000, 0.5, 2.5, 10.0, 1e6, 1e9, 0.001, PHP_INT_MAX];
    $rates = [1, 3, 7, 0.3, 11.5, 10 / 60, 7 / 3600, 1e5 / 7, 1e6, 3e6, 1e9, 7.7e9, 1e15, 1 / 86400, 1e-8, 4e-10];
    $tokens = [0, 1, 1, 1, 2, 3, 5, 10, 0.1, 0.5, 2.5, 1 / 3, 100, 1e6, 1e-9, PHP_INT_MAX, 1e300];
    $reservations = [];
    for ($made = [], $i = 0; count($made) < 12; $i++) {
        $class = any([TokenBucket::class, TokenBucket::class, TokenBucket::class, Starting::class, Dearer::class]);
        [$capacity, $rate] = [any($capacities), any($rates)];
        tell("new $class $capacity $rate", function () use (&$made, $class, $storages, $capacity, $rate, $i) {
            $made[] = new $class(any($storages), 'bucket ' . ($i % 9), $capacity, $rate);
        });
    }
    $zones = ['UTC', 'Europe/Berlin', 'America/St_Johns', 'Australia/Lord_Howe', 'Africa/Casablanca'];
    while (count($made) < 18) {
        $anchor = new DateTimeImmutable('@' . mt_rand(0, 2_000_000_000));
        $anchor = any([null, $anchor->setTimezone(new DateTimeZone(any($zones)))]);
        $made[] = $quotas[] = new TokenBucket\Quota(any($storages), 'bucket ' . mt_rand(0, 12), any([1, 3, 1000, 60_000_000]), any(TokenBucket\Period::cases()), $anchor);
    }
    foreach ([[3, 0.3, 2.0, 60.0], [1, 1.0, 1.1, 1e6], [2, 1e-9, 7.77, 1e8], [5, 7.5, 1.0, 1.0], [2, 1 / 3, 1e300, 3e8]] as $number => $rules) {
        $lockouts[] = new TokenBucket\Lockout(any($storages), 'lockout ' . $number % 3, ...$rules);
    }
    for ($i = 0; $i < $calls; $i++) {
        [$bucket, $number, $method] = [any($made), any($tokens), mt_rand(0, 25)];
        $seconds = any([0.0, 1e-9, 0.001, 0.3, 1.0, 7.5, 60.0, 3600.0, 1e6]);
        match ($method) {
            0, 1 => tell('attempt', fn () => $bucket->attempt($number, any([0, 0, 1, 2.5, 5]))),
            2 => tell('consume', fn () => $bucket->consume($number)),
            3 => tell('peek', fn () => $bucket->peek($number, any([0, 0.5, 3, 1e300]))),
            4 => tell('charge', fn () => $bucket->charge($number)),
            5 => tell('settle', fn () => $bucket->settle($number, any($tokens))),
            6 => tell('refund', fn () => $bucket->refund($number)),
            7 => tell('reserve', function () use ($bucket, $number, $seconds, &$reservations) {
                return $reservations[] = $bucket->reserve($number, any([INF, $seconds]));
            }),
            8 => tell('cancel', fn () => $reservations === [] ? null : any($reservations)->cancel()),
            9 => tell('wait', fn () => $bucket->wait($seconds, $number)),
            10, 11 => tell('advance', fn () => any($storages)->advance($seconds) ?? $storages[0]->now()),
            12 => tell('attemptAll', fn () => TokenBucket::attemptAll([$bucket, 'b' => any($made), [any($made), any($tokens), any([0, 1, 3])]], $number)),
            13 => tell('attemptEach', fn () => TokenBucket::attemptEach([$bucket, [any($made), $number, any([0, 2])]])),
            14 => tell('storage', fn () => $storages[0]->consume('bucket 1', $seconds, any([1.0, 10 / 3, 60.0]), fn () => true)),
            15 => tell('block', fn () => $bucket->block($seconds)),
            16 => tell('drain', fn () => $bucket->drain($number)),
            17 => tell('reset', fn () => mt_rand(0, 3) > 0 ? null : $bucket->reset()),
            18, 19, 20 => tell('lockout', fn () => any($lockouts)->attempt()),
            21 => tell('lockout peek', fn () => any($lockouts)->peek()),
            22 => tell('succeed', fn () => mt_rand(0, 9) > 0 ? null : any($lockouts)->succeed()),
            23 => tell('window', fn () => array_map(fn ($date) => $date->format('c e'), any($quotas)->window(any([null, new DateTime('@' . mt_rand(-1_000_000_000, 2_000_000_000))])))),
            24 => tell('quota', fn () => any($quotas)->attempt(any([0, 1, 1, 2, 1000]))),
            25 => tell('headersOf', fn () => TokenBucket\Decision::headersOf([$bucket->attempt($number), 'a "b"' => any($made)->peek(), any($lockouts)->attempt()])),
        };
    }
}

/** Prints the decisions of lockouts whose blocks become long enough to show every bit. */
function lockouts(): void
{
    for ($i = 0; $i < 8; $i++) {
        $storage = new TokenBucketStorageMemory();
        $lockout = new TokenBucket\Lockout($storage, 'x', any([1, 3]), any([0.3, 1e5 / 7]), 1.3 + mt_rand(1, 1000) / 700, 1e9);
        do {
            tell('lockout', $lockout->attempt(...));
            $storage->advance($block = $lockout->peek()->retryAfter);
        } while ($block < 3e8 && $storage->now() < 2e9);
    }
}

/**
 * Prints the decisions of first calls, which do not depend on the clock of the host. On a server's
 * storage, no call is for more than the capacity, because the extension decides such a call without
 * its fallback.
 */
function first_calls(TokenBucketStorage $storage): void
{
    $most = $storage instanceof TokenBucketStorageSharedMemory ? 2 : 1;
    for ($i = 0; $i < 400; $i++) {
        $capacity = any([1, 2, 3, 7, 10, 97, 0.5, 2.5, 1000, 1e6, mt_rand(1, 1000), mt_rand(1, 100000) / 1000]);
        $rate = any([1, 3, 7, 10 / 60, 1e5 / 7, 1e6 / 7.5, 1e6, 3e6, 7.7e9, 1e12, 1e15, mt_rand(1, 100000) / mt_rand(1, 1000)]);
        $bucket = new TokenBucket($storage, bin2hex(random_bytes(8)), $capacity, $rate);
        tell("first $capacity $rate", fn () => $bucket->attempt(any([0, min(1, $capacity), $capacity / 2, $capacity / 3, $capacity, $most * $capacity])));
    }
}

error_reporting(E_ALL);
history((int) $argv[1], (int) $argv[2]);
lockouts();
first_calls(new TokenBucketStorageSharedMemory());
first_calls(new TokenBucketStorageRedis('unix:///nonexistent', timeout: 0.01));
