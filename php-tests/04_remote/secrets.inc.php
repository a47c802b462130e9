<?php
/** Searches for a planted password in everything that PHP code can read of a storage. */
require_once __DIR__ . '/../../tools/testkit/php/check.php';
require __DIR__ . '/tls.inc.php';

// The long password is longer than the part of an unknown command that Redis quotes.
const PASSWORDS = [
    'plain' => 'hunter2-planted',
    'with signs' => 'p@ss:w%rd "planted" \'x\'/?#',
    'long' => 'planted0123456789planted0123456789planted0123456789planted0123456789planted0123456789planted0123456789planted0123456789planted0123456789planted0123456789',
];

/**
 * Returns the forms in which a text contains the password, its beginning or its end.
 */
function found(string $text, string $password): array
{
    $found = [];
    foreach ([
        'as it is' => $password, 'encoded' => rawurlencode($password), 'escaped' => addcslashes($password, "'\\\""),
        'its head' => substr($password, 0, 8), 'its tail' => substr($password, -8),
        'base64' => base64_encode($password),
    ] as $how => $spelling) {
        if (str_contains($text, $spelling)) {
            $found[] = $how;
        }
    }
    return $found;
}

/** Returns all visible text of an exception. The trace contains the object that threw it. */
function seen_of(Throwable $e): string
{
    ob_start();
    var_dump($e->getTrace());
    print_r($e);
    debug_zval_dump($e);
    return ob_get_clean() . $e->getMessage() . $e . $e->getTraceAsString() . var_export(array_map(
        // Removes the objects, because var_export() fails on an object that contains itself.
        fn ($frame) => array_diff_key($frame, ['object' => 0]), $e->getTrace()
    ), true) . serialize(array_map(fn ($frame) => $frame['function'] ?? '', $e->getTrace()));
}

/** Returns all visible text of a storage, of a bucket, of status(), metrics() and phpinfo(). */
function seen(TokenBucketStorage $storage): string
{
    $bucket = new TokenBucket($storage, 'x', 1, 1);
    ob_start();
    foreach ([$storage, $bucket, (array) $storage, get_mangled_object_vars($storage)] as $value) {
        var_dump($value);
        print_r($value);
        var_export($value);
        debug_zval_dump($value);
        echo json_encode($value);
    }
    foreach ((new ReflectionClass($storage))->getProperties() as $property) {
        var_dump($property->getValue($storage));
    }
    var_dump(TokenBucket\status(), TokenBucket\metrics());
    phpinfo(INFO_MODULES);
    return ob_get_clean();
}

/** Holds the secrets of the test in static properties, which no trace or dump shows. */
final class Planted
{
    public static string $password = '';
    public static array $arguments = [];
    public static string $class = '';
    public static string $seen = '';

    public static function storage(TokenBucket\OnFailure $policy): TokenBucketStorage
    {
        return new self::$class(...self::$arguments, onFailure: $policy);
    }

    public static function warned(int $level, string $message): bool
    {
        self::$seen .= $message . print_r(debug_backtrace(), true) . seen_of(new ErrorException($message));
        return true;
    }
}

/** Checks that no visible text contains the password and that there is text to search. */
function look(string $what): void
{
    Planted::$seen = '';
    $exceptions = 0;
    try {
        // The first failure of an outage causes a warning. After the third failure, calls no longer
        // contact the store.
        $local = Planted::storage(TokenBucket\OnFailure::Local);
        (new TokenBucket($local, 'x', 1, 1))->consume();
        check(str_contains(Planted::$seen, 'using shared memory of this host'), "$what: no warning");
        Planted::$seen .= seen($local);
        $throwing = Planted::storage(TokenBucket\OnFailure::Throw);
        foreach (['attempt', 'reset', 'consume', 'peek', 'refund'] as $method) {
            try {
                (new TokenBucket($throwing, 'x', 1, 1))->$method();
            } catch (TokenBucket\StorageException $e) {
                Planted::$seen .= seen_of($e);
                $exceptions++;
            }
        }
        Planted::$seen .= seen($throwing);
    } catch (ValueError $e) {
        Planted::$seen .= seen_of($e);
        $exceptions++;
    }
    $found = found(Planted::$seen, Planted::$password);
    check($found === [], "$what: " . implode(', ', $found) . around(Planted::$seen));
    check($exceptions > 0 && strlen(Planted::$seen) > 1000, "$what: nothing failed");
}

/** Returns the text around the password's head or tail. */
function around(string $text): string
{
    foreach ([substr(Planted::$password, 0, 8), substr(Planted::$password, -8)] as $part) {
        if (($place = strpos($text, $part)) !== false) {
            return ': ' . substr($text, max(0, $place - 100), 400);
        }
    }
    return '';
}

set_error_handler(Planted::warned(...));
