--TEST--
phpinfo() shows the settings and the state, but no identifiers
--INI--
tokenbucket.track_identifiers=1
tokenbucket.namespace=shop
--FILE--
<?php
$bucket = new TokenBucket(new TokenBucketStorageSharedMemory, 'somebody@example.org', 1, 0.001);
var_dump($bucket->consume(), $bucket->consume());
ob_start();
phpinfo(INFO_MODULES);
$info = ob_get_clean();
$section = substr($info, strpos($info, "\ntokenbucket\n"));
foreach (array_keys(ini_get_all('tokenbucket')) as $name) {
    echo preg_match('/^' . preg_quote($name) . ' => .*$/m', $section, $line) ? $line[0] : "$name is missing", "\n";
}
var_dump(str_contains($info, phpversion('tokenbucket')));
var_dump(str_contains($info, 'somebody'));
?>
--EXPECT--
bool(true)
bool(false)
tokenbucket.failure_report => log => log
tokenbucket.guard => no value => no value
tokenbucket.guard_allow => no value => no value
tokenbucket.guard_local => no value => no value
tokenbucket.guard_mode => enforce => enforce
tokenbucket.guard_trusted_proxies => no value => no value
tokenbucket.namespace => shop => shop
tokenbucket.shm_full => evict => evict
tokenbucket.shm_group => no value => no value
tokenbucket.shm_mode => 0600 => 0600
tokenbucket.shm_path => no value => no value
tokenbucket.shm_size => 32M => 32M
tokenbucket.track_identifiers => 1 => 1
bool(true)
bool(false)
