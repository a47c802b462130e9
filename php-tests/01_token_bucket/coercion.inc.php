<?php
/**
 * Makes calls with values of all kinds through $new and $call. The file that defines $new and $call
 * determines whether strict_types applies.
 */

class Name
{
    public function __toString(): string
    {
        return 'named';
    }
}

class Unnamed
{
    public function __toString(): string
    {
        throw new DomainException('no name');
    }
}

function coerce(callable $new, callable $call): void
{
    $storage = new TokenBucketStorageMemory;
    $left = fn(string $id) => (new TokenBucket($storage, $id, 10, 0.001))->peek()->remaining;

    echo "-- identifiers --\n";
    foreach (['42' => 42, '1.5' => 1.5, '1' => true, '' => false, 'named' => new Name] as $string => $value) {
        $before = $left((string) $string);
        $new(TokenBucket::class, $storage, $value, 10, 0.001)->consume();
        echo json_encode((string) $string), ': ', $before - $left((string) $string), "\n";
    }
    echo 'null: ', thrown(fn() => @$new(TokenBucket::class, $storage, null, 10, 0.001)), ' ', error_get_last()['message'] ?? 'no message', "\n";
    echo thrown(fn() => $new(TokenBucket::class, $storage, [], 10, 1)), "\n";
    echo thrown(fn() => $new(TokenBucket::class, $storage, new stdClass, 10, 1)), "\n";
    echo thrown(fn() => $new(TokenBucket::class, $storage, new Unnamed, 10, 1)), "\n";

    echo "-- capacity and rate --\n";
    foreach (['10', '2.5', ' 1', '1 ', '1e1', true, 3, 0.5, '10abc', 'abc', '', [], new stdClass, new Name] as $value) {
        $shown = is_object($value) ? get_class($value) : json_encode($value);
        echo "$shown: ";
        try {
            $bucket = $new(TokenBucket::class, $storage, "n $shown", $value, 1);
            echo $bucket->peek()->capacity, ' ';
            $bucket = $new(TokenBucket::class, $storage, "n $shown", 1, $value);
            $bucket->consume();
            echo $bucket->peek()->retryAfter, "\n";
        } catch (TypeError $e) {
            echo $e->getMessage(), "\n";
        }
    }

    echo "-- consume(), untyped --\n";
    foreach (['2', '2.5', ' 1', true, false, 2, 0.5, '2abc', 'abc', [], new stdClass] as $value) {
        $bucket = $new(TokenBucket::class, $storage, 'c' . bin2hex(random_bytes(8)), 10, 1);
        try {
            $granted = $call($bucket, 'consume', $value);
            echo json_encode($value), ': ', json_encode($granted), ' ', 10 - $bucket->peek(0)->resetAfter, "\n";
        } catch (TypeError $e) {
            echo json_encode($value), ': ', $e->getMessage(), "\n";
        }
    }

    echo "-- typed: int|float \$tokens --\n";
    foreach (['attempt', 'peek', 'refund'] as $method) {
        foreach (['2', '2.5', true, 2, 0.5, '2abc'] as $value) {
            $bucket = $new(TokenBucket::class, $storage, 't' . bin2hex(random_bytes(8)), 10, 1);
            $bucket->consume(5);
            try {
                $call($bucket, $method, $value);
                echo "$method(", json_encode($value), '): ', 10 - $bucket->peek(0)->resetAfter, "\n";
            } catch (TypeError $e) {
                echo $e->getMessage(), "\n";
            }
        }
    }

    echo "-- typed: float --\n";
    $bucket = $new(TokenBucket::class, $storage, 'w', 10, 1);
    foreach ([1, 0.5, '1'] as $timeout) {
        try {
            echo json_encode($call($bucket, 'wait', $timeout)->allowed), "\n";
        } catch (TypeError $e) {
            echo $e->getMessage(), "\n";
        }
    }
    foreach ([1, 0.5, '1'] as $seconds) {
        try {
            echo json_encode($call($storage, 'advance', $seconds)), "\n";
        } catch (TypeError $e) {
            echo $e->getMessage(), "\n";
        }
    }

    echo "-- typed: string, bool --\n";
    $decision = $bucket->peek();
    foreach ([['p', true], [5, false], ['p', 1]] as $arguments) {
        try {
            echo $call($decision, 'headers', ...$arguments)['RateLimit'], "\n";
        } catch (TypeError $e) {
            echo $e->getMessage(), "\n";
        }
    }

    echo "-- the storage interface, untyped --\n";
    $yes = fn() => true;
    foreach ([[7, '1000', '10000'], [7.5, true, 10000], [new Name, 1000.0, ' 10000']] as $arguments) {
        echo json_encode($call($storage, 'consume', ...[...$arguments, $yes])), "\n";
    }
    echo $left('7'), ' ', $left('7.5'), ' ', $left('named'), "\n";
    echo json_encode($call($storage, 'bootstrap', 8, (string) (microtime(true) - 4500))), ' ', $left('8'), "\n";
}
