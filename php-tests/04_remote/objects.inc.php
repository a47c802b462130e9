<?php
/** Defines helpers for tests of constructors that run PHP code while they convert arguments. */
require_once __DIR__ . '/../../tools/testkit/php/check.php';

/** A server name whose conversion to a string stores the object under construction in $reached. */
final class Reaching
{
    public static ?object $reached = null;

    public function __construct(private string $name, private ?Closure $meanwhile = null)
    {
    }

    public function __toString(): string
    {
        foreach (debug_backtrace() as $frame) {
            if (($frame['function'] ?? '') === '__construct') {
                self::$reached = $frame['object'];
            }
        }
        ($this->meanwhile ?? fn () => null)(self::$reached);
        return $this->name;
    }
}
