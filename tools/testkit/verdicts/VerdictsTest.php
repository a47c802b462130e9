<?php

declare(strict_types=1);

use PHPUnit\Framework\TestCase;

/** One test for each verdict: passed, failed, inconclusive, and passed at last. */
final class VerdictsTest extends TestCase
{
    public static function setUpBeforeClass(): void
    {
        require_once getenv('TESTKIT') . '/check.php';
    }

    public function testFails(): void
    {
        self::fail('planted');
    }

    public static function cases(): iterable
    {
        return ['stays (inconclusive)' => [5], 'passes at last' => [3]];
    }

    #[PHPUnit\Framework\Attributes\DataProvider('cases')]
    public function testIsInconclusive(int $needed): void
    {
        file_put_contents($file = getenv('VERDICTS') . "/$needed", '.', FILE_APPEND);
        filesize($file) >= $needed || inconclusive('planted');
        self::assertFileExists($file);
    }
}
