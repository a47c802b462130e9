--TEST--
Random histories on a database with a fixed clock match an exact model
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

/** A model of the bucket that the contract defines, in whole microseconds. */
final class Model
{
    public int $empty_at = 0;
    /** The greatest span of the calls that took tokens since the bucket was last full. */
    private int $span = 0;

    public function __construct(public int $now)
    {
    }

    /** Returns the instant at which the bucket was empty, or 0 if it is full under every limit. */
    public function state(): int
    {
        return $this->empty_at + $this->span <= $this->now ? 0 : $this->empty_at;
    }

    public function next(int $cost, int $burst): int
    {
        return $cost === 0 ? $this->state() : max($this->state(), $this->now - $burst) + $cost;
    }

    public function consume(int $cost, int $burst): bool
    {
        $next = $this->next($cost, $burst);
        if ($next > $this->now) {
            return false;
        }
        if ($cost > 0) {
            $this->move($next, $burst);
        }
        return true;
    }

    public function raise(int $empty_at, int $burst): void
    {
        $this->move(max($this->state(), $empty_at), $burst);
    }

    private function move(int $empty_at, int $burst): void
    {
        $this->span = $this->state() === 0 ? $burst : max($this->span, $burst);
        $this->empty_at = $empty_at;
    }

    public function refund(int $cost, int $burst): void
    {
        $this->span = $this->state() === 0 ? $this->span : max($this->span, $burst);
        $this->empty_at = min($this->empty_at, max($this->empty_at - $cost, $this->now - $burst));
    }
}

$server = MariaDbServer::start();
$seed = (int) (getenv('TOKENBUCKET_SEED') ?: mt_rand());
mt_srand($seed);
foreach ([true, false] as $emulated) {
    $db = $server->connect([PDO::ATTR_EMULATE_PREPARES => $emulated]);
    $storage = new TokenBucketStoragePDOMySQL($db, 'limits');
    $storage->prepare();
    $storage = new TokenBucketStoragePDO($db, 'limits', denialCache: false);
    for ($history = 0; $history < (is_slow() ? 3 : 40); $history++) {
        $id = "history $history " . (int) $emulated;
        $model = new Model(mt_rand(1_600_000_000, 2_000_000_000) * 1_000_000 + mt_rand(0, 999_999));
        $quotas = [];
        for ($i = 0; $i < 3; $i++) {
            // The cost of a token in whole microseconds, so that no rounding is needed.
            $unit = [1_000, 4_000, 125_000, 1_000_000, 8_000_000, 1_000_000_000][mt_rand(0, 5)];
            $quotas[] = [new TokenBucket($storage, $id, $capacity = mt_rand(1, 50), 1e6 / $unit), $unit, $capacity];
        }
        for ($call = 0; $call < 60; $call++) {
            [$bucket, $unit, $capacity] = $quotas[mt_rand(0, 2)];
            $model->now += mt_rand(0, 3) === 0 ? mt_rand(0, 2 * $unit * $capacity) : mt_rand(0, $unit);
            $db->exec(sprintf('SET timestamp = %d.%06d', intdiv($model->now, 1_000_000), $model->now % 1_000_000));
            $count = mt_rand(0, $capacity);
            [$cost, $burst] = [$count * $unit, $capacity * $unit];
            $where = "seed $seed, history $history, call $call";
            switch (mt_rand(0, 10)) {
                case 0:
                    $bucket->refund($count);
                    $model->refund($cost, $burst);
                    break;
                case 1:
                    $decision = $bucket->peek($count);
                    check($decision->allowed === ($model->next($cost, $burst) <= $model->now), "$where: peek");
                    break;
                case 2:
                    if (mt_rand(0, 3) === 0) {
                        $bucket->reset();
                        $model->empty_at = 0;
                    }
                    break;
                case 3:
                    $bucket->block($seconds = mt_rand(0, 3000) / 1000);
                    $model->raise($model->now + (int) round($seconds * 1e6) - $unit, $burst);
                    break;
                case 4:
                    $bucket->drain($count);
                    $model->raise($model->now - $cost, $burst);
                    break;
                default:
                    $wait = max(0, $model->next($cost, $burst) - $model->now);
                    $decision = $bucket->attempt($count);
                    check($decision->allowed === $model->consume($cost, $burst), "$where: $count of $capacity");
                    check(abs($decision->retryAfter * 1e6 - $wait) < 0.5, "$where: $decision->retryAfter, not $wait");
                    $left = (int) floor(min($model->now - $model->state(), $burst) / $unit);
                    check((int) $decision->remaining === $left, "$where: $decision->remaining left, not $left");
            }
            $row = $db->query("SELECT CAST(ROUND(microtime * 1e6) AS SIGNED) FROM limits WHERE identifier = '$id'")->fetchColumn();
            check(($row ?: 0) == $model->empty_at, "$where: state $row, not $model->empty_at");
        }
    }
}
// retryAfter is exact. The call is granted after this time, and not a microsecond earlier.
$bucket = new TokenBucket($storage, 'wait', 3, 8);
$bucket->consume(3);
$wait = (int) round($bucket->attempt(1)->retryAfter * 1e6);
foreach ([[$wait - 1, false], [$wait, true]] as [$after, $expected]) {
    $then = $model->now + $after;
    $db->exec(sprintf('SET timestamp = %d.%06d', intdiv($then, 1_000_000), $then % 1_000_000));
    check($bucket->peek(1)->allowed === $expected, "$after of $wait");
}
echo "done\n";
?>
--EXPECT--
done
