--TEST--
attemptAll() of killed processes exceeds no bound, loses only their tokens and rarely denies wrongly
--EXTENSIONS--
pcntl
--SKIPIF--
<?php
if (getenv('SKIP_SLOW_TESTS') || getenv('USE_ZEND_ALLOC') === '0' || PHP_DEBUG) {
    die('skip slow');
}
?>
--INI--
opcache.jit=disable
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';
require __DIR__ . '/../../tools/testkit/php/batch_campaign.php';

use TokenBucket\Decision;

$storage = fn () => new TokenBucketStorageSharedMemory;
$quotas = [
    [900_000, 0.001], [900_000, 0.001], [20, 10_000], [5, 5_000], [100, 20_000], [10, 10_000], [50, 10_000], [1000, 25_000],
];
$buckets = array_map(fn (array $quota) => [...$quota, $storage], $quotas);
$calls = BatchCampaign::size(10_000);

$conflicts = fn () => TokenBucket\status()['shared_memory']['conflicts'];
$before = $conflicts();
$campaign = (new BatchCampaign($buckets, TokenBucket::attemptAll(...)))->run($calls);
$conflicts = $conflicts() - $before;
$verdict = $campaign->judge();
$text = json_encode($verdict) . " in $campaign->seconds s, $campaign->kills kills";
check($verdict['above'] === 0, "above the bound: $text");
check($verdict['excess'] === 0, "lost or gained tokens: $text");
check($verdict['lost'] <= 9 * $campaign->kills && $campaign->kills > 0, "lost by killed calls: $text");
check($verdict['wrong'] < 0.001 * $verdict['calls'], "wrong denials: $text");
// The upper limit is high, because the buckets grant most calls on a machine that is ten times
// slower.
check($verdict['granted'] > 0.002 * $verdict['calls'] && $verdict['granted'] < 0.99 * $verdict['calls'], "not contended: $text");
// A batch swaps six words at most, three of them to undo its swaps. Each swap can make a swap of
// each of the other seven processes fail. More conflicts would mean that processes retry although
// no other process has succeeded.
check($conflicts <= 7 * 6 * $verdict['calls'], "$conflicts conflicts: $text");

// Controls: an application that takes from one bucket after the other. If a bucket denies, the
// application refunds the full costs of the earlier buckets late, or never.
$careless = fn (bool $gives_back) => function (array $buckets) use ($gives_back): Decision {
    $taken = [];
    foreach ($buckets as $id => [$bucket, $tokens]) {
        if (!$bucket->attempt($tokens)->allowed) {
            usleep(500);
            foreach ($gives_back ? $taken : [] as [$other, $its_tokens]) {
                $other->refund($its_tokens);
            }
            return new Decision(allowed: false, reason: 'insufficient_tokens', refusedBy: $id);
        }
        $taken[] = [$bucket, $tokens];
    }
    return new Decision(allowed: true, reason: 'granted');
};
$late = (new BatchCampaign($buckets, $careless(true)))->run(2_000)->judge();
check($late['above'] > 0, 'control: gives back late: ' . json_encode($late));
$never = (new BatchCampaign($buckets, $careless(false)))->run(2_000)->judge();
check($never['excess'] > 0, 'control: never gives back: ' . json_encode($never));
check($never['wrong'] >= 0.001 * $never['calls'], 'control: wrong denials: ' . json_encode($never));

// Control: a limiter that denies one call in a hundred for no reason.
$unfair = function (array $buckets): Decision {
    if (mt_rand(1, 100) > 1) {
        return TokenBucket::attemptAll($buckets);
    }
    return new Decision(allowed: false, reason: 'insufficient_tokens', refusedBy: array_key_first($buckets));
};
$unfair = (new BatchCampaign($buckets, $unfair))->run(2_000)->judge();
check($unfair['wrong'] >= 0.001 * $unfair['calls'], 'control: unfair: ' . json_encode($unfair));
echo "done\n";
?>
--EXPECT--
done
