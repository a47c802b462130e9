<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/** Makes objects of classes whose constructors are private, because only buckets make them. */
final class Made
{
    /**
     * @template T of object
     * @param class-string<T> $class
     * @return T
     */
    public static function of(string $class, mixed ...$arguments): object
    {
        $reflection = new \ReflectionClass($class);
        $object = $reflection->newInstanceWithoutConstructor();
        $reflection->getConstructor()->invoke($object, ...$arguments);
        return $object;
    }
}
