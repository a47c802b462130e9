<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\WordPress\Tests;

use PHPUnit\Framework\TestCase;

require_once __DIR__ . '/Site.php';

/** Tests that share a site. Each test uses accounts and addresses of its own. */
abstract class SiteTestCase extends TestCase
{
    /** The field of requests that WordPress answers without the plugin. */
    protected const PLAIN = ['X-Plain: 1'];
    protected const SETTINGS = '';

    protected static Site $site;

    public static function setUpBeforeClass(): void
    {
        self::$site = new Site(static::SETTINGS);
    }

    public static function tearDownAfterClass(): void
    {
        self::$site->stop();
    }

    protected function tearDown(): void
    {
        self::assertNoErrors();
    }

    protected static function assertNoErrors(): void
    {
        // WordPress looks for new versions, and warns because it can contact no other server.
        self::assertSame('', implode('', preg_grep('~//wordpress[.]org/support/forums/~', preg_split('/(?<=\n)/', self::$site->errors()), PREG_GREP_INVERT)));
    }

    /** @return list<array> the requests with the numbers 0 to $number - 1 */
    protected static function requests(int $number, \Closure $request): array
    {
        return array_map($request, range(0, $number - 1));
    }

    /** @return array<int, int> the number of responses by status */
    protected static function statuses(array $responses): array
    {
        $statuses = array_count_values(array_column($responses, 'status'));
        ksort($statuses);
        return $statuses;
    }

    /** Sends requests, and asserts the number of responses by status and of verified passwords. */
    protected static function assertAnswers(array $statuses, int $verified, array $requests, string $message = ''): array
    {
        self::$site->count();
        $responses = self::$site->send($requests);
        self::assertSame([$statuses, $verified], [self::statuses($responses), self::$site->count()], $message);
        return $responses;
    }
}
