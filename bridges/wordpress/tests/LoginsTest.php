<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\WordPress\Tests;

use PHPUnit\Framework\TestCase;

require_once __DIR__ . '/Site.php';

/** Tests floods of guesses, beside the same WordPress without the plugin. */
final class LoginsTest extends TestCase
{
    private const PLAIN = ['X-Plain: 1'];

    private Site $site;

    protected function setUp(): void
    {
        $this->site = new Site();
    }

    protected function tearDown(): void
    {
        self::assertSame('', $this->site->errors());
        $this->site->stop();
    }

    public function testAFloodFromOneAddressIsVerifiedFiveTimes(): void
    {
        foreach (['form' => Site::form(...), 'xmlRpc' => Site::xmlRpc(...)] as $kind => $request) {
            $address = $kind === 'form' ? '192.0.2.1' : '192.0.2.2';
            $plain = $this->site->send(self::guesses(60, fn (int $i) => $request('owner', "wrong $i", $address, self::PLAIN)));
            self::assertSame([60, [200 => 60]], [$this->site->verified(), self::statuses($plain)], "$kind without the plugin");
            $limited = $this->site->send(self::guesses(60, fn (int $i) => $request(['owner', 'OWNER', 'owner@example.com'][$i % 3], "wrong $i", $address)));
            self::assertSame([5, [200 => 5, 429 => 55]], [$this->site->verified(), self::statuses($limited)], $kind);
            // Also the right password is denied, and not verified.
            [$right] = $this->site->send([$request('owner', 'right password', $address)]);
            self::assertSame([0, 429], [$this->site->verified(), $right['status']]);
            self::assertMatchesRegularExpression('/^Retry-After: [1-9]\d*\r?$/mi', $right['head']);
            self::assertMatchesRegularExpression('/^Cache-Control: .*no-cache/mi', $right['head']);
            self::assertStringContainsString('Too many attempts', $right['body']);
        }
        // The owner logs in from another network meanwhile.
        [$owner] = $this->site->send([Site::form('owner', 'right password', '198.51.100.7')]);
        self::assertSame([1, 302], [$this->site->verified(), $owner['status']]);
    }

    /** @return list<array> */
    private static function guesses(int $number, \Closure $guess): array
    {
        return array_map($guess, range(0, $number - 1));
    }

    /** @return array<int, int> the number of responses by status */
    private static function statuses(array $responses): array
    {
        $statuses = array_count_values(array_column($responses, 'status'));
        ksort($statuses);
        return $statuses;
    }
}
