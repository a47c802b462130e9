--TEST--
The commands of the page install the polyfill and a bridge, and remove them
--SKIPIF--
<?php
require __DIR__ . '/../../../tools/testkit/php/new_user.php';
NewUser::isAble() || die('skip Composer is missing or does not run on this PHP');
?>
--FILE--
<?php
require __DIR__ . '/../../../tools/testkit/php/check.php';
require __DIR__ . '/../../../tools/testkit/php/new_user.php';

putenv('TOKENBUCKET=');
$user = new NewUser('install', []);
// Without a version, Composer's message depends on the branch of this work tree.
$package = ['type' => 'path', 'url' => dirname(__DIR__, 3) . '/bridges/yii', 'options' => ['versions' => ['tokenbucket/yii' => 'dev-main']]];
$repository = 'composer config repositories.yii ' . escapeshellarg(json_encode($package));
echo "-- without the extension --\n";
// The composer of NewUser prints nothing, not even errors, so this runs Debian's composer.
$message = thrown(fn () => $user->run("$repository && php /usr/bin/composer require --no-interaction tokenbucket/yii:@dev 2>&1"));
echo str_contains($message, $user->block('text', 'ext-tokenbucket')) ? "the message of the page\n" : $message;
echo "-- with the polyfill --\n";
$user->run($user->block('sh', 'composer require'));
$user->run("$repository && composer require tokenbucket/yii:@dev");
echo $user->run($user->block('sh', 'vendor/autoload.php'));
$user->write('folder.php', '<?php
require "vendor/autoload.php";
TokenBucket\Polyfill\Settings::$folder = __DIR__ . "/buckets";
$bucket = new TokenBucket(new TokenBucketStorageSharedMemory, "x", 10, 1e-5);
echo $bucket->attempt()->remaining, " ", decoct(fileperms(__DIR__ . "/buckets") & 0777), "\n";');
echo $user->run('php folder.php && php folder.php');
echo "-- without the polyfill --\n";
$user->run('composer remove tokenbucket/yii');
$user->run($user->command('composer remove '));
var_dump(is_dir("$user->folder/vendor/tokenbucket"));
?>
--EXPECTF--
-- without the extension --
the message of the page
-- with the polyfill --
bool(true)
9 700
8 700
-- without the polyfill --
bool(false)
