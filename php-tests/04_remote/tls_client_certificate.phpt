--TEST--
A Redis server that requires a client certificate gets the one of the DSN
--EXTENSIONS--
pcntl
--SKIPIF--
<?php if (getenv('USE_ZEND_ALLOC') === '0') die('skip valgrind reports the assembly code of the TLS cipher'); ?>
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';
require __DIR__ . '/tls.inc.php';

$tls = new TlsRedis(true);
$other = new TlsRedis;
$database = 0;
// Uses another database for each call, because each database has a breaker of its own.
$consume = fn (string $options) => (new TokenBucket(
    new TokenBucketStorageRedis($tls->dsn(':hunter2@', database: ++$GLOBALS['database']) . $options, 'p:', PATIENCE, TokenBucket\OnFailure::Throw), 'x', 5, 1,
))->consume();
$say = fn (string $what, string $options) => print("$what: " . preg_replace(['~^.*/\d: ~', '~/\S*/~'], ['', '/…/'], thrown(fn () => $consume($options))) . "\n");
$pair = fn (string $certificate, string $key) => "&certfile=$certificate&keyfile=$key";
$tls->server->command('CONFIG', 'SET', 'requirepass', 'hunter2');
var_dump($consume($pair($tls->file('client.pem'), $tls->file('client.key'))));
$say('none', '');
$say('another CA', $pair($other->file('client.pem'), $other->file('client.key')));
$say('another key', $pair($tls->file('client.pem'), $other->file('client.key')));
$say('swapped', $pair($tls->file('client.key'), $tls->file('client.pem')));
$say('missing', $pair('/nowhere.pem', $tls->file('client.key')));
$say('no key', '&certfile=' . $tls->file('client.pem'));
$say('relative', $pair('client.pem', 'client.key'));
?>
--EXPECT--
bool(true)
none: TLS: received fatal alert: CertificateRequired
another CA: TLS: received fatal alert: UnknownCA
another key: TLS: keys may not be consistent: KeyMismatch
swapped: client certificate or key /…/client.key cannot be read, or is not a PEM file of its kind
missing: client certificate or key /nowhere.pem cannot be read, or is not a PEM file of its kind
no key: ValueError: TokenBucketStorageRedis::__construct(): Argument #1 ($dsn) must have absolute paths as its certfile and keyfile options, or neither option
relative: ValueError: TokenBucketStorageRedis::__construct(): Argument #1 ($dsn) must have absolute paths as its certfile and keyfile options, or neither option
