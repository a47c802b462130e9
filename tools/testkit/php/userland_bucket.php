<?php
/**
 * The published userland TokenBucket, under another name.
 *
 * Native storages must work with this class exactly as with the native class.
 */
class UserlandTokenBucket
{
    /* Constants to map from tokens per unit to tokens per second */
    const MILLISECOND = 0.001;
    const SECOND = 1;
    const MINUTE = 60;
    const HOUR = 3600;
    const DAY = 86400;
    const WEEK = 604800;
    const MICROTIME_DELTA = 0.0001;

    private $_storage;
    protected $_identifier;
    protected $_bucket_capacity;
    protected $_tokens_per_second;

    public static function compare_microtimes($m1, $m2)
    {
        if (($m2 == 0 && ($m1 == 0 || abs($m1 - $m2) < static::MICROTIME_DELTA)) || abs(($m1 - $m2) / $m2) < static::MICROTIME_DELTA) {
            return 0;
        }
        if ($m1 > $m2) {
            return 1;
        }
        return -1;
    }

    public function __construct(TokenBucketStorage $storage, $identifier, $bucket_capacity, $tokens_per_second)
    {
        assert($bucket_capacity > 0, "Token Bucket capacity must be > 0");
        $this->_storage = $storage;
        $this->_identifier = $identifier;
        $this->_bucket_capacity = $bucket_capacity;
        $this->_tokens_per_second = $tokens_per_second;
    }

    public function consume($token_count = 1)
    {
        if ($token_count > $this->_bucket_capacity) {
            return false;
        }
        $microtime = $this->_tokens_to_seconds($token_count);
        $full_microtime = $this->_tokens_to_seconds($this->_bucket_capacity);
        return $this->_storage->consume($this->_identifier, $microtime, $full_microtime, function () use ($token_count) {
            $this->_bootstrap($this->_bucket_capacity - $token_count);
            return true;
        });
    }

    protected function _bootstrap($initialTokens)
    {
        $microtime = microtime(true) - $this->_tokens_to_seconds($initialTokens);
        $this->_storage->bootstrap($this->_identifier, $microtime);
    }

    protected function _tokens_to_seconds($tokens)
    {
        return $tokens / $this->_tokens_per_second;
    }

    protected function _seconds_to_tokens($seconds)
    {
        return (int) $seconds * $this->_tokens_per_second;
    }
}

/** A userland storage that keeps nothing and grants each call. */
class GrantingStorage implements TokenBucketStorage
{
    public function prepare()
    {
    }

    public function bootstrap($identifier, $microtime)
    {
    }

    public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure)
    {
        return true;
    }
}

/**
 * A userland storage in an array, with its own clock. The algorithm is that of the published PDO
 * storage.
 */
class ArrayStorage implements TokenBucketStorage
{
    public $rows = [];
    public $elapsed = 0.0;
    public $stopped_at = null;
    public $prepared = 0;

    public function now()
    {
        if ($this->stopped_at === null) {
            return microtime(true) + $this->elapsed;
        }
        // Without this microsecond, the available time could be 0, by which the published class
        // would divide.
        $this->stopped_at += 1e-6;
        return $this->stopped_at + $this->elapsed;
    }

    /**
     * Fills all buckets and stops the clock. From then on, the clock advances only with $elapsed,
     * and by a microsecond at each reading.
     */
    public function stop_when_full()
    {
        $this->stopped_at = 1e6;
        $this->elapsed = 0.0;
        $this->rows = array_fill_keys(array_keys($this->rows), 0.0);
    }

    public function prepare()
    {
        $this->prepared++;
    }

    public function bootstrap($identifier, $microtime)
    {
        $this->rows[$identifier] = $microtime + $this->elapsed;
    }

    public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure)
    {
        if (!isset($this->rows[$identifier])) {
            return $bootstrap_closure() ? true : false;
        }
        $now = $this->now();
        $available = min($now - $this->rows[$identifier], $full_microtime);
        if (UserlandTokenBucket::compare_microtimes($microtime, $available) > 0) {
            return false;
        }
        $this->rows[$identifier] = $now - $available + $microtime;
        return true;
    }
}
