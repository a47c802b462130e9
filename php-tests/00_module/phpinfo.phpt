--TEST--
phpinfo() shows the settings and the state, but no identifiers
--INI--
tokenbucket.failure_report=none
tokenbucket.track_identifiers=1
tokenbucket.namespace=shop
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

$bucket = new TokenBucket(new TokenBucketStorageSharedMemory, 'somebody@example.org', 1, 0.001);
print_values($bucket->consume(), $bucket->consume());
ob_start();
phpinfo(INFO_MODULES);
$info = ob_get_clean();
$section = substr($info, strpos($info, "\ntokenbucket\n"));
foreach (array_keys(ini_get_all('tokenbucket')) as $name) {
    echo preg_match('/^' . preg_quote($name) . ' => .*$/m', $section, $line) ? $line[0] : "$name is missing", "\n";
}
print_values(str_contains($info, phpversion('tokenbucket')), str_contains($info, 'somebody'));

$redis = new TokenBucketStorageRedis('unix:///nowhere.sock', 'api', 0.1, TokenBucket\OnFailure::Local);
for ($i = 0; $i < 3; $i++) {
    (new TokenBucket($redis, 'id', 2, 0.001))->consume();
}
ob_start();
phpinfo(INFO_MODULES);
preg_match('/\ntokenbucket\n\n(.*?)\n\n/s', ob_get_clean(), $section);
echo preg_replace(['/(?<=Version => ).*/', '/(?<=Build => )(commit \w+, )?rustc [\d.]+ .*, for PHP ' . PHP_MAJOR_VERSION . '\.' . PHP_MINOR_VERSION . ', API 20\d{6}$/m', '/\d+ bytes/', '/\d+ s ago/', '/down, [a-z ]+(?:\d+ ms)?/', '/[\d.]+ ms/'], ['%s', '%s', '%d bytes', '%d s ago', 'down', '%f ms'], $section[1]), "\n";
?>
--EXPECT--
true false
tokenbucket.failure_report => no value => no value
tokenbucket.guard => no value => no value
tokenbucket.guard_allow => no value => no value
tokenbucket.guard_headers => 0 => 0
tokenbucket.guard_local => no value => no value
tokenbucket.guard_max_age => no value => no value
tokenbucket.guard_mode => enforce => enforce
tokenbucket.guard_password_hash => no value => no value
tokenbucket.guard_preflights => no value => no value
tokenbucket.guard_trusted_proxies => no value => no value
tokenbucket.namespace => shop => shop
tokenbucket.shm_full => evict => evict
tokenbucket.shm_group => no value => no value
tokenbucket.shm_mode => 0600 => 0600
tokenbucket.shm_path => no value => no value
tokenbucket.shm_size => 32M => 32M
tokenbucket.track_identifiers => 1 => 1
true false
tokenbucket support => enabled
Version => %s
Build => %s
Shared memory => memfd
Shared by => this process and its children, such as workers; other processes have other buckets
Size => %d bytes
Created => %d s ago, with all buckets full
Slots => 2 live (0.0 %), 0 full again, 0 being claimed, 2097150 empty
Calls granted by shared memory => 3
Calls denied by shared memory => 2
Refunds, also of attemptAll() => 0
Buckets that reset() filled => 0
Buckets that took a slot => 2
Slots of full buckets that other buckets took => 0
Claims of one process that another process finished => 0
Claims that gave way to another claim for the same bucket => 0
Claims of killed or suspended processes that were taken over => 0
Retries after another process changed the bucket first => 0
Calls denied after too many conflicts in a row => 0
Calls denied because no slot was free => 0
Buckets forgotten before they were full => 0
Clients that a limit of the guard blocked for a time => 0
Permits held => 0
Permits denied because all of their identifier were held => 0
Permits taken back because their process has died or their lease has ended => 0
Releases of permits that the process did not hold any more => 0
Guard => not in force: no limit is set
Decisions => shared_memory "shop": 1 granted by the store, 1 denied by the store
Decisions => redis "shop/api": 0 granted by the store, 0 denied by the store, 0 denied by the denial cache, 2 granted by the fallback, 1 denied by the fallback
Calls sent to a remote store => 3
Denials from the denial cache, without a call to the store => 0
Calls that a remote store failed => 3
Breakers that opened after failures in a row => 1
Calls that a failure policy decided instead of the remote store (policy local) => 3
Calls that a failure policy decided instead of the remote store (policy allow) => 0
Calls that a failure policy decided instead of the remote store (policy deny) => 0
Calls that a failure policy decided instead of the remote store (policy throw) => 0
Calls that found that the clock of a store was set back => 0
Calls whose tokens were taken from a remote store ahead => 0
Grants by tokens taken ahead, without a call to the store => 0
Calls taken ahead that were given up => 0
Store => unix:///nowhere.sock?db=0: down, calls 3, mean %f ms, 99 % within %f ms, failures: connect 3, the last one %d s ago: cannot connect: No such file or directory (os error 2)
