<?php
/**
 * Constructs storages with values of all kinds. The file that defines $new determines whether
 * strict_types applies.
 */
function construct(callable $new): void
{
    foreach (['TokenBucketStorageRedis' => 'redis://h', 'TokenBucketStorageMemcached' => 'h'] as $class => $server) {
        echo "-- $class --\n";
        $name = new class($server) {
            public function __construct(private string $name)
            {
            }

            public function __toString(): string
            {
                return $this->name;
            }
        };
        foreach ([
            'server' => $name, 'number as a server' => 5, 'prefix' => 5, 'null as a prefix' => null, 'timeout' => '0.5',
            'integer as a timeout' => 1, 'true as a timeout' => true, 'text as a timeout' => '1 s', 'denialCache' => 0, 'text as denialCache' => '',
            'null as denialCache' => null, 'denialCacheMaxAge' => ' 2.5', 'integer as denialCacheMaxAge' => 2,
        ] as $what => $value) {
            $argument = preg_replace('/.* /', '', $what);
            $arguments = $argument === 'server' ? [$value] : [$server, ...[$argument => $value]];
            echo "$what: ", thrown(function () use ($new, $class, $arguments): void {
                $storage = @$new($class, ...$arguments);
                echo implode(' ', array_map(json_encode(...), array_values((array) $storage))), ' ';
            }), ' ', error_get_last()['message'] ?? '', "\n";
            error_clear_last();
        }
        echo "-- named arguments in any order, some omitted --\n";
        print_r($new($class, ...[
            'denialCacheMaxAge' => 1.0,
            'prefix' => 'p',
            $class === 'TokenBucketStorageRedis' ? 'dsn' : 'servers' => $server,
            'onFailure' => TokenBucket\OnFailure::Deny,
        ]));
    }
}
