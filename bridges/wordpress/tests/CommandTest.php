<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\WordPress\Tests;

require_once __DIR__ . '/SiteTestCase.php';

/** Tests the command that frees blocked clients, over a segment that both processes share. */
final class CommandTest extends SiteTestCase
{
    private static string $folder;

    public static function setUpBeforeClass(): void
    {
        self::$folder = sys_get_temp_dir() . '/tokenbucket-command-' . getmypid();
        mkdir(self::$folder, 0700);
        self::$site = new Site('', ['tokenbucket.shm_path' => self::$folder . '/segment']);
    }

    public static function tearDownAfterClass(): void
    {
        parent::tearDownAfterClass();
        exec('rm -rf ' . escapeshellarg(self::$folder));
    }

    public function testFreesBlockedClients(): void
    {
        self::$site->addUser('blocked');
        $guesses = self::requests(7, fn (int $i) => Site::form('blocked', "wrong $i", '192.0.2.1'));
        self::assertAnswers([200 => 5, 429 => 2], 5, $guesses);
        $shared = ['tokenbucket.shm_path' => self::$folder . '/segment'];
        $lines = $this->command(['list'], $shared);
        self::assertCount(1, $lines, implode("\n", $lines));
        [$list] = $lines;
        self::assertMatchesRegularExpression('/^(\w{32})\tlogin_lockout\tblocked\t192\.0\.2\.1\t\S+$/', $list);
        $id = substr($list, 0, 32);
        self::assertStringStartsWith('Error: This process does not share', $this->command(['free', $id], [])[0]);
        self::assertSame(['Error: There is no such block.'], $this->command(['free', 'unknown'], $shared));
        self::assertAnswers([429 => 1], 0, [Site::form('blocked', 'right password', '192.0.2.1')]);
        self::assertSame(['Success: Freed: 1.'], $this->command(['free', $id], $shared));
        self::assertAnswers([302 => 1], 1, [Site::form('blocked', 'right password', '192.0.2.1')]);
        self::assertAnswers([200 => 5, 429 => 2], 5, $guesses);
        self::assertSame(['Success: Freed: 1.'], $this->command(['free', '--all'], $shared));
        self::assertSame([], $this->command(['list'], $shared));
    }

    /** @return list<string> the printed lines */
    private function command(array $arguments, array $ini): array
    {
        $command = [__DIR__ . '/command.php', self::$site->folder . '/site', ...$arguments];
        $options = example_arguments(Site::EXTENSIONS, $ini + ['display_errors' => '1']);
        exec(escapeshellarg(PHP_BINARY) . " $options " . implode(' ', array_map(escapeshellarg(...), $command)) . ' 2>&1', $lines);
        return $lines;
    }
}
