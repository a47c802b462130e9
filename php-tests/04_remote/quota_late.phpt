--TEST--
A call on quotas whose windows end meanwhile is repeated, and takes one timeout in all
--EXTENSIONS--
pcntl
--INI--
tokenbucket.failure_report=none
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

use TokenBucket\OnFailure;
use TokenBucket\Period;
use TokenBucket\Quota;

/** In seconds. */
const TIMEOUT = 1.6;

/** Lets a reply take a part of the timeout, and the next ones more than the rest. */
final class Late implements Watcher
{
    private float $part = 0.4;

    public function __construct(private readonly float $from)
    {
    }

    public function asked(int $client, string $bytes): void
    {
    }

    public function answered(int $client, string $bytes): void
    {
        if (microtime(true) >= $this->from) {
            usleep((int) (1e6 * $this->part * TIMEOUT));
            $this->part = 0.9;
        }
    }

    public function ended(int $client): void
    {
    }
}

$server = RedisServer::start();
$calls = [
    'attempt' => fn (array $quotas) => [$quotas[0]->attempt()],
    'attemptEach' => fn (array $quotas) => TokenBucket::attemptEach($quotas),
    'attemptAll' => fn (array $quotas) => [TokenBucket::attemptAll($quotas)],
];
foreach ($calls as $method => $call) {
    // The windows end in one to two seconds.
    $end = time() + 2;
    $proxy = new Proxy("tcp://127.0.0.1:$server->port", new Late($end - 0.2));
    $storage = new TokenBucketStorageRedis("redis://127.0.0.1:$proxy->port", "$method:", TIMEOUT, OnFailure::Deny, false);
    $quotas = array_map(fn (int $i) => new Quota($storage, "$i", 1, Period::Minute, new DateTimeImmutable("@$end")), range(0, 4));
    check(array_sum(array_map(fn ($it) => (int) $it->consume(), $quotas)) === 5, 'used up');
    $before = $proxy->roundTrips();
    time_sleep_until($end - 0.1);
    $decisions = $call($quotas);
    check($proxy->roundTrips() - $before >= 2, "$method: repeated");
    // With a timeout of its own, the repeat would get its reply.
    check(array_unique(array_column($decisions, 'fallback')) === [true], "$method: by policy");
}
?>
--EXPECT--
