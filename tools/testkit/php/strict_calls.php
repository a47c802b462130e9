<?php
declare(strict_types=1);

/** Returns the functions of calls_by_mode() in strict mode. */
return [
    fn (string $class, ...$arguments) => new $class(...$arguments),
    fn (object $object, string $method, ...$arguments) => $object->$method(...$arguments),
    fn (callable $callable, array $arguments) => $callable(...$arguments),
];
