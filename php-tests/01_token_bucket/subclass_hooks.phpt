--TEST--
A subclass may declare hooks on the protected properties
--SKIPIF--
<?php
if (PHP_VERSION_ID < 80400) {
    die('skip needs property hooks');
}
?>
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

class Hooked extends TokenBucket
{
    public string $tenant = 'a';
    public int $factor = 1;
    public ?Throwable $throw = null;

    protected $_identifier {
        get => "$this->tenant:" . $this->_identifier;
        set => strtolower($value);
    }
    protected $_bucket_capacity {
        get => $this->_bucket_capacity * $this->factor;
    }
    protected $_tokens_per_second {
        get => $this->throw === null ? $this->_tokens_per_second : throw $this->throw;
    }

    public function seconds($tokens)
    {
        return $this->_tokens_to_seconds($tokens);
    }
}

class FixedCapacity extends TokenBucket
{
    protected $_bucket_capacity {
        get => 7;
    }
}

class Unrelated extends TokenBucket
{
    public int $doubled {
        get => 2 * $this->_bucket_capacity;
    }
}

class Telling extends GrantingStorage
{
    public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure)
    {
        echo "consume $identifier $microtime $full_microtime\n";
        return true;
    }
}

alike(['TokenBucketStorageMemory', 'TokenBucketStorageSharedMemory'], function (string $class) {
    $storage = new $class;
    $bucket = new Hooked($storage, 'ID', 10, 0.001);
    $left = fn (string $id, int $capacity = 10) => (new TokenBucket($storage, $id, $capacity, 0.001))->peek()->remaining;
    var_dump($bucket->consume(4), $left('a:id'));
    $bucket->tenant = 'b';
    var_dump($bucket->consume(3), $left('b:id'), $bucket->attempt(1)->remaining);
    $bucket->factor = 2;
    $bucket->tenant = 'c';
    var_dump($bucket->consume(11), $bucket->peek()->capacity, $left('c:id', 20), $bucket->seconds(1));
    $bucket->throw = new DomainException('no rate');
    echo thrown(fn () => $bucket->consume()), ' ', thrown(fn () => $bucket->attempt()), ' ', thrown(fn () => $bucket->seconds(1)), "\n";
    $bucket->throw = null;
    var_dump(TokenBucket::attemptAll([$bucket, $bucket], 4)->remaining);
});
echo "-- userland storage --\n";
$bucket = new Hooked(new Telling, 'ID', 10, 1);
$bucket->factor = 3;
var_dump($bucket->consume(2));
echo "-- others --\n";
var_dump((new FixedCapacity(new TokenBucketStorageMemory, 'x', 3, 1))->peek()->capacity);
$unrelated = new Unrelated(new TokenBucketStorageMemory, 'x', 7, 1);
var_dump($unrelated->consume(7), $unrelated->consume(), $unrelated->doubled);
?>
--EXPECT--
bool(true)
float(6)
bool(true)
float(7)
float(6)
bool(true)
float(20)
float(9)
float(1000)
DomainException: no rate DomainException: no rate DomainException: no rate
float(1)
-- userland storage --
consume a:id 2 30
bool(true)
-- others --
float(7)
bool(true)
bool(false)
int(14)
