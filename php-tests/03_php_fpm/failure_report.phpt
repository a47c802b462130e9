--TEST--
Under php-fpm: the workers of a pool log an outage once
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/fpm.php';

const CODE = <<<'PHP'
<?php
set_error_handler(fn (int $level, string $message) => throw new ErrorException($message));
$storage = new TokenBucketStorageRedis('unix:///nowhere?db=' . $_GET['db'], onFailure: TokenBucket\OnFailure::Allow);
try {
    echo (new TokenBucket($storage, 'x', 1, 1))->consume() ? 'allowed' : 'denied';
} catch (ErrorException $e) {
    echo 'handler';
}
PHP;
$pool = ['pm.max_children' => 2, 'php_admin_flag[log_errors]' => 'on', 'php_admin_flag[display_errors]' => 'off'];
$folder = sys_get_temp_dir() . '/tokenbucket-log-' . getmypid() . '-' . bin2hex(random_bytes(4));
mkdir($folder);
chmod($folder, 0777);
register_shutdown_function(function () use ($folder) {
    array_map(unlink(...), glob("$folder/*"));
    rmdir($folder);
});
$fpm = new Fpm([
    'www' => $pool + ['php_admin_value[error_log]' => "$folder/www.log"],
    'strict' => $pool + ['php_admin_value[error_log]' => "$folder/strict.log", 'php_admin_value[tokenbucket.failure_report]' => 'warning'],
    'quiet' => $pool + ['php_admin_value[error_log]' => "$folder/quiet.log", 'php_admin_value[tokenbucket.failure_report]' => 'none'],
]);
$script = $fpm->script('consume', CODE);
foreach (['www', 'strict', 'quiet'] as $db => $name) {
    $answers = array_map(fn () => $fpm->get($script, ['db' => $db], $name), range(1, 20));
    preg_match_all('/tokenbucket: unix:.*/', (string) @file_get_contents("$folder/$name.log"), $lines);
    echo "$name: ", json_encode(array_count_values($answers)), "\n  ", implode("\n  ", $lines[0]), "\n";
}
?>
--EXPECT--
www: {"allowed":20}
  tokenbucket: unix:///nowhere?db=0: cannot connect: No such file or directory (os error 2); allowing all calls until it recovers
strict: {"handler":1,"allowed":19}
  
quiet: {"allowed":20}
