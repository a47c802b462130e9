<?php
require_once __DIR__ . '/../../tools/testkit/php/fpm.php';

/** A script that takes one token and prints the result and the id of its process. */
const CONSUME = <<<'PHP'
    <?php
    $bucket = new TokenBucket(new TokenBucketStorageSharedMemory, $_GET['id'], $_GET['capacity'], $_GET['rate'] ?? 0.001);
    echo $bucket->consume() ? 'granted' : 'denied', ' ', getmypid();
    PHP;

/** Like CONSUME, but replies only when $_GET['count'] processes run it. They meet in a file. */
const MEET = CONSUME . <<<'PHP'

    file_put_contents($_GET['met'], '.', FILE_APPEND);
    for ($end = hrtime(true) + 60e9; filesize($_GET['met']) < $_GET['count'] && hrtime(true) < $end; usleep(1_000)) {
        clearstatcache();
    }
    PHP;

/** The results that clients received. */
final class Traffic
{
    public int $granted = 0;
    public int $denied = 0;
    /** The number of requests without a reply. */
    public int $lost = 0;
    /** @var array<int, int> the number of replies by the process id of the worker */
    public array $workers = [];

    /**
     * Starts $clients processes together, each of which sends $requests requests. Runs $meanwhile
     * in another process at the same time. Until $meanwhile returns, the clients send more
     * requests. Returns the results.
     */
    public static function of(int $clients, int $requests, callable $get, ?callable $meanwhile = null): self
    {
        $running = tempnam(sys_get_temp_dir(), 'tokenbucket-traffic-');
        $meanwhile === null && unlink($running);
        $counts = in_processes($clients + ($meanwhile === null ? 0 : 1), function (int $index) use ($clients, $requests, $get, $meanwhile, $running) {
            if ($index === $clients) {
                try {
                    $meanwhile();
                } finally {
                    unlink($running);
                }
                return [];
            }
            $counts = [];
            for ($i = 0; $i < $requests || $meanwhile !== null && file_exists($running); $i++) {
                $answer = $get($index) ?? 'lost';
                $counts[$answer] = ($counts[$answer] ?? 0) + 1;
            }
            return $counts;
        });
        $traffic = new self;
        foreach ($counts as $of_client) {
            foreach ($of_client as $answer => $count) {
                $traffic->count($answer, $count);
            }
        }
        return $traffic;
    }

    /**
     * Requests a script like MEET once from each of $count workers, so that each of them replies.
     *
     * @param callable(array<string, string|int>, int): ?string $get is called with the variables of
     * the meeting and the number of the client
     */
    public static function of_each(int $count, string $folder, callable $get): self
    {
        $met = tempnam($folder, 'met-');
        chmod($met, 0666);
        $traffic = self::of($count, 1, fn (int $client) => $get(['met' => $met, 'count' => $count], $client));
        check(count($traffic->workers) === $count, 'served by ' . count($traffic->workers) . " of $count workers");
        return $traffic;
    }

    private function count(string $answer, int $count): void
    {
        if (!preg_match('/^(lost|granted|denied)(?: (\d+))?$/', $answer, $match)) {
            throw new RuntimeException("A worker answered: $answer");
        }
        $this->{$match[1]} += $count;
        if (isset($match[2])) {
            $this->workers[(int) $match[2]] = ($this->workers[(int) $match[2]] ?? 0) + $count;
        }
    }
}
