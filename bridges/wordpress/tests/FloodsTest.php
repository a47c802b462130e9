<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\WordPress\Tests;

use PHPUnit\Framework\Attributes\DataProvider;

require_once __DIR__ . '/SiteTestCase.php';

/** Tests floods of guesses while a user logs in, with the plugin and without it. */
final class FloodsTest extends SiteTestCase
{
    private const GUESSES = 30;
    /** A lockout allows five attempts in flight. */
    private const LOGINS = 4;
    private const HOME = '198.51.100.9';

    /** @return iterable<string, array{string, bool, int}> the number of guesses that are verified */
    public static function floods(): iterable
    {
        foreach (['form' => 5, 'XML-RPC' => 5, 'multicall' => 5, 'application passwords' => 10] as $kind => $lockout) {
            yield "$kind, from one address" => [$kind, false, $lockout];
            yield "$kind, from many addresses" => [$kind, true, 20];
        }
    }

    #[DataProvider('floods')]
    public function testAUserLogsInDuringAFlood(string $kind, bool $many, int $verified): void
    {
        $name = strtolower(preg_replace('/\W/', '', $kind)) . ($many ? 'many' : 'one');
        $user = self::$site->addUser($name);
        $secret = $kind === 'application passwords' ? self::$site->addApplicationPassword($user) : 'right password';
        // The limit of an account does not apply to networks in which it logged in.
        self::assertAnswers([302 => 1], 1, [Site::form($name, 'right password', self::HOME)]);
        $plain = self::flood($kind, $many, $name, $secret, self::PLAIN);
        $limited = self::flood($kind, $many, $name, $secret, []);
        fprintf(STDERR, "%s: of %d guesses, %d are verified with the plugin and %d without. Logins of the user: %d and %d of %d\n", $this->dataName(), self::GUESSES, $limited['verified'] - $limited['logins'], $plain['verified'] - $plain['logins'], $limited['logins'], $plain['logins'], self::LOGINS);
        self::assertSame(['logins' => self::LOGINS, 'denied' => 0, 'verified' => self::GUESSES + self::LOGINS], $plain);
        self::assertSame(['logins' => self::LOGINS, 'denied' => self::GUESSES - $verified, 'verified' => $verified + self::LOGINS], $limited);
    }

    /** @return array{logins: int, denied: int, verified: int} */
    private static function flood(string $kind, bool $many, string $name, string $secret, array $lines): array
    {
        $request = fn (string $password, string $address) => match ($kind) {
            'form' => Site::form($name, $password, $address, $lines),
            'XML-RPC' => Site::xmlRpc($name, $password, $address, $lines),
            'multicall' => Site::multicall($name, $password === $secret ? [$password] : [$password, "$password 2", $secret], $address, $lines),
            'application passwords' => Site::rest($name, $password, $address, $lines),
        };
        $requests = [];
        for ($i = 0; $i < self::GUESSES; $i++) {
            if ($i % 7 === 3) {
                $requests["login $i"] = $request($secret, self::HOME);
            }
            $requests["guess $i"] = $request("wrong $i", $many ? "192.0.2.$i" : '203.0.113.' . crc32($kind) % 250);
        }
        self::$site->count();
        $responses = array_combine(array_keys($requests), self::$site->send(array_values($requests)));
        $verified = self::$site->count();
        $denied = array_filter($responses, fn (array $response) => $response['status'] === 429);
        foreach ($denied as $response) {
            self::assertMatchesRegularExpression('/^Retry-After: [1-9]\d*\r?$/mi', $response['head']);
            self::assertMatchesRegularExpression('/^Cache-Control: .*no-cache/mi', $response['head']);
        }
        $isLogin = fn (array $response) => match ($kind) {
            'form' => $response['status'] === 302,
            'XML-RPC', 'multicall' => str_contains($response['body'], 'isAdmin'),
            'application passwords' => $response['status'] === 200,
        };
        return ['logins' => count(array_filter($responses, $isLogin)), 'denied' => count($denied), 'verified' => $verified];
    }
}
