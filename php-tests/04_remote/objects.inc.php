<?php
/** A storage whose constructor runs PHP code, and the error that a call on it throws. */
require __DIR__ . '/../../testkit/php/check.php';

/** A server's name; while the constructor asks for it, whoever is being constructed is at hand. */
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
