<?php
require_once __DIR__ . '/../../testkit/php/fpm.php';

/** A worker that asks for one token, and says what came of it and who it is. */
const CONSUME = <<<'PHP'
    <?php
    $bucket = new TokenBucket(new TokenBucketStorageSharedMemory, $_GET['id'], $_GET['capacity'], $_GET['rate'] ?? 0.001);
    echo $bucket->consume() ? 'granted' : 'denied', ' ', getmypid();
    PHP;

/** What clients were answered. */
final class Traffic
{
    public int $granted = 0;
    public int $denied = 0;
    /** Requests that were never answered. */
    public int $lost = 0;
    /** @var array<int, int> answers by worker */
    public array $workers = [];

    /** Clients that start together and send so many requests each; $meanwhile runs beside them. */
    public static function of(int $clients, int $requests, callable $get, ?callable $meanwhile = null): self
    {
        $counts = in_processes($clients + ($meanwhile === null ? 0 : 1), function (int $index) use ($clients, $requests, $get, $meanwhile) {
            if ($index === $clients) {
                $meanwhile();
                return [];
            }
            $counts = [];
            for ($i = 0; $i < $requests; $i++) {
                $answer = $get() ?? 'lost';
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
