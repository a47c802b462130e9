<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\HttpClient\Tests;

use PHPUnit\Framework\TestCase;
use TokenBucket\Bridge\HttpClient\Reply;

/** Tests how the fields of replies are read, of well-behaved and of other servers. */
final class ReplyTest extends TestCase
{
    private const DATE = 'Sun, 06 Nov 1994 08:49:37 GMT';

    public function testRetryAfterIsSecondsOrAnInstantThatTheReplysDateMeasures(): void
    {
        $seconds = [
            '0' => 0.0, '2.0' => 2.0, '64.57' => 64.57, '30, 30' => 30.0, '5,6' => 6.0, '30,' => 30.0, '120' => 120.0, ' 7 ' => 7.0, '31536000' => 31_536_000.0, '30;x=1' => 30.0,
            '1784111777' => 1e9, '1784111777.5' => 1e9 + 0.5, '1784111777000' => 1e9,
            'Sun, 06 Nov 1994 08:50:37 GMT' => 60.0,
            'Sunday, 06-Nov-94 08:50:37 GMT' => 60.0,
            'Sun Nov  6 08:50:37 1994' => 60.0,
            'Wed Nov 16 08:49:37 1994' => 864_000.0,
            'Mon, 06 Nov 2034 08:49:37 GMT' => 1_262_304_000.0,
            'Sun, 06 Nov 1994 08:49:37 GMT' => 0.0,
            'Sat, 05 Nov 1994 08:49:37 GMT' => 0.0,
            'Sun, 06 Nov 1994 08:50:37 GMT, Sun, 06 Nov 1994 08:51:37 GMT' => 120.0,
            'Sunday, 06-Nov-94 08:50:37 GMT, 7' => 60.0,
            '1994-11-06T08:50:37Z' => 60.0, '1994-11-06T10:50:37+02:00' => 60.0, '1994-11-06T08:51Z' => 83.0,
        ];
        foreach ($seconds as $value => $expected) {
            self::assertSame($expected, self::reply(['Retry-After' => [(string) $value]])->retryAfter(), (string) $value);
        }
    }

    public function testAMalformedRetryAfterCountsAsMissing(): void
    {
        $values = [
            '', ',', '-1', '.5', '1.2.3', '+5', '1e3', '0x10', '5 seconds', '5, x', "5\n6", 'tomorrow', 'now', '12:00', 'NAN', 'INF', '٣',
            'Mon, 06 Nov 1994 08:50:37 GMT', 'Sun, 06 Nov 1994 08:50:37', 'Sun, 06 Nov 1994 08:50:37 CET', 'Sun, 6 Nov 1994 08:50:37 GMT',
            'Sun, 31 Feb 1994 08:50:37 GMT', 'Sun, 06 Nov 1994 25:50:37 GMT', '1994-11-06T08:50:37', '1994-11-31T08:50:37Z',
        ];
        foreach ($values as $value) {
            self::assertNull(self::reply(['Retry-After' => [$value]])->retryAfter(), $value);
        }
        self::assertSame(6.0, self::reply(['Retry-After' => ['5', 'soon', '6']])->retryAfter());
        self::assertNull(self::reply([])->retryAfter());
    }

    public function testWithoutADateOfTheReplyThisHostsClockMeasures(): void
    {
        foreach ([[], ['Date' => ['yesterday']]] as $headers) {
            $before = time();
            $wait = (new Reply($headers + ['retry-after' => [gmdate('D, d M Y H:i:s \G\M\T', $before + 600)]]))->retryAfter();
            self::assertGreaterThanOrEqual($before + 600 - time(), $wait);
            self::assertLessThanOrEqual(600, $wait);
        }
    }

    public function testAReplyOf403DeniesIfItStatesALimit(): void
    {
        foreach ([['Retry-After' => ['5']], ['RETRY-AFTER' => ['nonsense']], ['x-ratelimit-remaining' => ['0']], ['RateLimit' => ['"a";r=0']]] as $headers) {
            self::assertTrue(self::reply($headers)->isDenial(), json_encode($headers));
        }
        foreach ([[], ['X-RateLimit-Remaining' => ['1']], ['X-RateLimit-Remaining' => ['zero']], ['X-RateLimit-Remaining' => ['']]] as $headers) {
            self::assertFalse(self::reply($headers)->isDenial(), json_encode($headers));
        }
    }

    public function testTheRemainingRequestsOfEachFormat(): void
    {
        $epoch = 784_111_777;
        $fields = [
            [[5, 30.0], ['RateLimit' => ['"default";r=5;t=30']]],
            [[5, null], ['RateLimit' => ['default; r=5']]],
            [[5, 30.0], ['RateLimit' => ['"a;r=0, \"b\"";x="r=1;t=2";r=5;pk=:cHI=:;t=30']]],
            [[2, 9.0], ['RateLimit' => ['"minute";r=7;t=3, "hour";r=2;t=9 ,"day";r=50;t=99']]],
            [[0, 1800.0], ['RateLimit' => ['"second";r=0;t=1', '"hour";r=0;t=1800']]],
            [[5, 30.0], ['RateLimit' => ['limit=10, remaining=5, reset=30']]],
            [[4, 60.0], ['X-RateLimit-Limit' => ['9'], 'X-RateLimit-Remaining' => ['4'], 'X-RateLimit-Reset' => ['60']]],
            [[4, 60.0], ['RateLimit-Remaining' => ['4'], 'RateLimit-Reset' => ['60']]],
            [[4, null], ['X-RateLimit-Remaining' => ['4'], 'X-RateLimit-Reset' => ['soon']]],
            [[0, 1_000_000_000.0], ['X-RateLimit-Remaining' => ['0'], 'X-RateLimit-Reset' => [(string) 1_000_000_000]]],
            [[0, 10.0], ['X-RateLimit-Remaining' => ['0'], 'X-RateLimit-Reset' => ['1784111777.0']], 1_784_111_767],
            [[0, 10.5], ['X-RateLimit-Remaining' => ['0'], 'X-RateLimit-Reset' => ['1784111777.5']], 1_784_111_767],
            [[0, 10.0], ['X-RateLimit-Remaining' => ['0'], 'X-RateLimit-Reset' => ['1784111777000']], 1_784_111_767],
            [[0, 10.0], ['X-RateLimit-Remaining' => ['0'], 'X-RateLimit-Reset' => ['1784111777000000']], 1_784_111_767],
            [[4, 0.5], ['X-RateLimit-Remaining' => ['4.9'], 'X-RateLimit-Reset' => ['0.5']]],
            [[4, 60.0], ['X-RateLimit-Remaining' => ['5', '4'], 'X-RateLimit-Reset' => ['60, 6']]],
            [[4, 60.0], ['X-RateLimit-Remaining' => ['4'], 'X-RateLimit-Reset' => ['1994-11-06T08:50:37Z']]],
            [[4, 60.0], ['X-RateLimit-Remaining' => ['4'], 'X-RateLimit-Reset' => ['Sun, 06 Nov 1994 08:50:37 GMT']]],
            [[0, 9.0], ['RateLimit' => ['"a";r=5;t=30'], 'X-RateLimit-Remaining' => ['4'], 'RateLimit-Remaining' => ['0'], 'RateLimit-Reset' => ['9']]],
            [[76, null], ['RateLimit-Limit' => ['100;w=21600'], 'RateLimit-Remaining' => ['76;w=21600']]],
            [[4, 60.0], ['X-Rate-Limit-Remaining' => ['4'], 'X-Rate-Limit-Reset' => [(string) 1_784_111_837]], 1_784_111_777],
            [[5, 30.0], ['RateLimit' => ['"' . str_repeat('\\"', 4096) . str_repeat('x', 8192) . '";r=5;t=30']]],
            [[0, 1_784_111_777.0 - $epoch], ['X-RateLimit-Remaining' => ['0'], 'X-RateLimit-Reset' => ['1784111777']]],
        ];
        foreach ($fields as $field) {
            [$expected, $headers, $now] = $field + [2 => $epoch];
            self::assertSame($expected, self::reply($headers + ['Date' => [gmdate('D, d M Y H:i:s \G\M\T', $now)]])->remaining(), json_encode($headers));
        }
    }

    public function testMalformedFieldsStateNothing(): void
    {
        $values = [
            '', '5', 'r=5', '"default"', '"default";r=', '"default";r=-1', '"default";r=1.5', '"default";r="5"', '"default";r=5x', '"default;r=5',
            '"default";r=9999999999999999999', '"' . str_repeat('\\"', 1_000_000), '"default" r=5', '"a";r=5,', '"a";r=5,,"b";r=4', '"a";R=5', '=5', 'limit=10, remaining=x, reset=30',
        ];
        foreach ($values as $value) {
            self::assertSame([null, null], self::reply(['RateLimit' => [$value]])->remaining(), $value);
        }
        foreach (['', '-1', '4, x', 'none', '99999999999999999999'] as $value) {
            self::assertSame([null, null], self::reply(['X-RateLimit-Remaining' => [$value]])->remaining(), $value);
        }
    }

    public function testAProxyMayRepeatTheResource(): void
    {
        foreach (['search' => ['search', ' search'], '' => ['search', 'core']] as $expected => $values) {
            self::assertSame($expected, (string) self::reply(['X-RateLimit-Resource' => $values])->resource());
        }
    }

    /** @param array<string, list<string>> $headers */
    private static function reply(array $headers): Reply
    {
        return new Reply($headers + ['Date' => [self::DATE]]);
    }
}
