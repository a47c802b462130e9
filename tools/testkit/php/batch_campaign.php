<?php
/**
 * Processes that call attemptAll() while some are killed, and the judgement of their logs.
 *
 * Each call takes 1 to 3 tokens from 3 of 8 buckets. A worker notes each call in a file, as one
 * record: the instant before the call, three pairs of bucket and cost, the instant after the call,
 * and the result. The first two parts are written before the call. So the last record of a killed
 * worker shows the call that may have taken tokens.
 *
 * The judgement, for each bucket:
 *
 * - **No window above the bound.** A granted call took its tokens at some instant between its two
 *   instants. The calls wholly inside a window must fit capacity + rate × window. A queue shows
 *   that for all windows: it serves tokens at the rate, those of the earliest end first. A window
 *   is above the bound exactly if a call is not served capacity / rate after its end, because this
 *   order misses no deadline that another order meets.
 * - **Wrong denials.** A denial of n tokens is wrong if the bucket held n tokens at every instant
 *   of the call, in every possible order of the concurrent calls. The bucket can have held the
 *   fewest tokens if each granted call took its tokens as late as possible: at the judged instant
 *   if the call runs then, and at its end otherwise. A denied call takes nothing. So the tokens
 *   that a batch takes and gives back explain no denial of another call. A killed call counts as
 *   granted. A denial for another reason than missing tokens is wrong, too. After a wrong denial,
 *   the denied tokens count as taken, because an exact bucket would have granted them. So one lost
 *   token makes one denial wrong, not every later one. A batch that another bucket denies holds
 *   tokens for a moment. If the kernel suspends it then, many calls may be denied because of these
 *   tokens, and more of them on a busy machine. So after a wrong denial, the denials that start
 *   before the end of all such batches that have begun by then are not counted.
 * - **No lost tokens.** A bucket that refills no token during the test lacks exactly the granted
 *   tokens, and at most the tokens of the killed calls.
 *
 * All numbers are integers. Tokens are counted in billionths, so that a rate in tokens a second
 * adds as many units each nanosecond.
 */
final class BatchCampaign
{
    /** The average seconds between two kills. */
    private const KILL_EVERY = 0.05;
    /** The seconds between two holds of replies, and the seconds of a hold. */
    private const HOLD_EVERY = 0.2, HOLD = 0.04;
    private const WORKERS = 8;
    private const TOKEN = 1_000_000_000;
    private const GRANTED = 0, OTHER_REASON = 255;
    /** The greatest error of a store's clock in nanoseconds. Redis counts whole microseconds. */
    private const SLACK = 2_000;

    public int $kills = 0;
    public float $seconds = 0;
    private readonly string $folder;
    /** @var list<list<array{int, int, int, int}>> by bucket: start, end, cost, result */
    private array $log = [];
    /** @var array<string, int> the ends of killed calls by file */
    private array $deaths = [];

    /**
     * @param list<array{int, float, callable(): TokenBucketStorage}> $buckets capacity, rate, and
     *        the storage. A rate below 1 means that the bucket refills no token
     * @param callable(array<int, array{TokenBucket, int}>): TokenBucket\Decision $attempt_all
     */
    public function __construct(private readonly array $buckets, private $attempt_all, private readonly ?Proxy $proxy = null)
    {
        $this->folder = sys_get_temp_dir() . '/tokenbucket-batches-' . getmypid() . '-' . hrtime(true);
        mkdir($this->folder);
    }

    /** Returns the calls of a worker: a few, or the number in TOKENBUCKET_BATCHES. */
    public static function size(int $few): int
    {
        return (int) (getenv('TOKENBUCKET_BATCHES') ?: $few);
    }

    /** Runs all workers until each of them has made this number of calls. */
    public function run(int $calls): self
    {
        ini_set('memory_limit', -1);
        $begin = hrtime(true);
        $workers = [];
        for ($slot = 0; $slot < self::WORKERS; $slot++) {
            $workers[$this->fork($slot, 0, $calls)] = [$slot, 0];
        }
        $kill_at = $hold_at = $begin;
        while ($workers !== []) {
            usleep(500);
            $now = hrtime(true);
            if ($now >= $kill_at && count($workers) === self::WORKERS) {
                send_signal('KILL', array_rand($workers));
                $kill_at = hrtime(true) + (int) (self::KILL_EVERY * 2e9 * mt_rand() / mt_getrandmax());
            }
            if ($this->proxy !== null && $now >= $hold_at) {
                $this->proxy->set(Proxy::HOLD_REPLIES);
                usleep((int) (self::HOLD * 1e6));
                $this->proxy->set(Proxy::PASS);
                $hold_at = hrtime(true) + (int) (self::HOLD_EVERY * 1e9);
            }
            while (($pid = pcntl_waitpid(-1, $status, WNOHANG)) > 0) {
                if (!isset($workers[$pid])) {
                    continue;
                }
                [$slot, $life] = $workers[$pid];
                unset($workers[$pid]);
                $this->deaths["$slot.$life"] = hrtime(true);
                $done = array_sum(array_map(fn ($file) => intdiv(filesize($file), 23), glob("$this->folder/$slot.*")));
                if (pcntl_wtermsig($status) === 9) {
                    $this->kills++;
                } elseif ($done < $calls) {
                    exit("a worker ended early\n");
                }
                clearstatcache();
                if ($done < $calls) {
                    $workers[$this->fork($slot, $life + 1, $calls - $done)] = [$slot, $life + 1];
                }
            }
        }
        $this->seconds = (hrtime(true) - $begin) / 1e9;
        return $this;
    }

    private function fork(int $slot, int $life, int $calls): int
    {
        $seed = mt_rand();
        $pid = pcntl_fork();
        if ($pid === 0) {
            mt_srand($seed);
            try {
                $this->work("$this->folder/$slot.$life", $calls);
            } catch (Throwable $error) {
                echo $error->getMessage(), "\n";
            }
            // Ends without the shutdown functions of the parent.
            send_signal('TERM', getmypid());
            sleep(1);
        }
        return $pid;
    }

    private function work(string $file, int $calls): void
    {
        $file = fopen($file, 'a');
        $buckets = $this->tokenBuckets();
        $end = '';
        while ($calls-- > 0) {
            $all = [];
            $record = '';
            foreach (array_rand($buckets, 3) as $id) {
                $all[$id] = [$buckets[$id], mt_rand(1, 3)];
                $record .= chr($id) . chr($all[$id][1]);
            }
            // One write() notes the end of the previous call and the start of this one.
            fwrite($file, $end . pack('P', hrtime(true)) . $record);
            $decision = ($this->attempt_all)($all);
            $time = hrtime(true);
            $result = match ($decision->reason) {
                'granted' => self::GRANTED,
                'insufficient_tokens' => 1 + $decision->refusedBy,
                default => self::OTHER_REASON,
            };
            $end = pack('PC', $time, $result);
        }
        fwrite($file, $end);
    }

    /** @return list<TokenBucket> */
    private function tokenBuckets(): array
    {
        $bucket = fn (int $id, array $of) => new TokenBucket($of[2](), "campaign $id " . basename($this->folder), $of[0], $of[1]);
        return array_map($bucket, array_keys($this->buckets), $this->buckets);
    }

    /**
     * Judges the logs.
     *
     * @return array{calls: int, granted: int, wrong: int, above: int, lost: int, excess: int} the
     *         numbers of calls, granted calls, wrong denials and grants above the bound; the tokens
     *         that killed calls lost, and the tokens that were lost or gained in another way
     */
    public function judge(): array
    {
        $files = glob("$this->folder/*");
        $sum = ['calls' => 0, 'granted' => 0, 'wrong' => 0, 'above' => 0, 'lost' => 0, 'excess' => 0];
        foreach ($files as $file) {
            $results = array_map(fn (string $record) => ord($record[22] ?? "\1"), str_split(file_get_contents($file), 23));
            $sum['calls'] += count($results);
            $sum['granted'] += count(array_keys($results, self::GRANTED));
            $sum['wrong'] += count(array_keys($results, self::OTHER_REASON));
        }
        foreach ($this->tokenBuckets() as $id => $bucket) {
            [$taken, $denied, $undone] = $this->calls($files, $id);
            [$capacity, $rate] = $this->buckets[$id];
            $certain = array_filter($taken, fn (array $call) => $call[3]);
            if ($rate < 1) {
                // A part of a token may be refilled.
                $missing = $capacity - (int) $bucket->peek()->remaining - array_sum(array_column($certain, 2));
                $lost = min($missing, array_sum(array_column($taken, 2)) - array_sum(array_column($certain, 2)));
                $sum['lost'] += max(0, $lost);
                $sum['excess'] += abs($missing - max(0, $lost));
                $rate = 0;
            }
            $sum['above'] += self::above($certain, $capacity * self::TOKEN, (int) $rate);
            $sum['wrong'] += self::wrong($taken, $denied, $undone, $capacity * self::TOKEN, (int) $rate);
        }
        array_map(unlink(...), $files);
        rmdir($this->folder);
        return $sum;
    }

    /**
     * Returns the calls that took tokens from a bucket, those that it denied, and those that
     * another bucket denied: start, end, cost, and false for a killed call.
     */
    private function calls(array $files, int $id): array
    {
        $taken = $denied = $undone = [];
        foreach ($files as $file) {
            foreach (str_split(file_get_contents($file), 23) as $record) {
                if (strlen($record) !== 14 && strlen($record) !== 23) {
                    continue;
                }
                $at = [$record[8] => $record[9], $record[10] => $record[11], $record[12] => $record[13]];
                $cost = $at[chr($id)] ?? null;
                if ($cost === null) {
                    continue;
                }
                $start = unpack('P', $record)[1];
                if (strlen($record) === 14) {
                    $taken[] = [$start, $this->deaths[basename($file)], ord($cost), false];
                    continue;
                }
                $end = unpack('P', $record, 14)[1];
                $result = ord($record[22]);
                if ($result === self::GRANTED) {
                    $taken[] = [$start, $end, ord($cost), true];
                } elseif ($result === 1 + $id) {
                    $denied[] = [$start, $end, ord($cost), true];
                } else {
                    $undone[] = [$start, $end, ord($cost), true];
                }
            }
        }
        return [$taken, $denied, $undone];
    }

    /** Returns the number of granted calls at whose end a window is above the bound. */
    private static function above(array $granted, int $capacity, int $rate): int
    {
        if ($rate === 0) {
            return (int) (array_sum(array_column($granted, 2)) * self::TOKEN > $capacity);
        }
        sort($granted);
        $patience = intdiv($capacity, $rate) + self::SLACK;
        $queue = new SplMinHeap();
        $now = $above = 0;
        foreach ([...$granted, [PHP_INT_MAX, 0, 0]] as [$start, $end, $cost]) {
            while (!$queue->isEmpty() && $now < $start) {
                [$deadline, $left] = $queue->extract();
                $served_at = $now + intdiv($left + $rate - 1, $rate);
                if ($served_at > $deadline) {
                    // The call is not served, so that it does not put later calls above the bound,
                    // too.
                    $above++;
                } elseif ($served_at > $start) {
                    $queue->insert([$deadline, $left - $rate * ($start - $now)]);
                    $now = $start;
                } else {
                    $now = $served_at;
                }
            }
            $now = $start;
            $queue->insert([$end + $patience, $cost * self::TOKEN]);
        }
        return $above;
    }

    /**
     * Returns the number of denials that no order of the calls explains. If one suspended batch may
     * have caused several of them, they count as one.
     */
    private static function wrong(array $taken, array $denied, array $undone, int $capacity, int $rate): int
    {
        // The order of events at one instant: those that explain a denial come first.
        $events = [];
        foreach ($undone as [$start, $end]) {
            $events[] = [$start, -1, 0, $end];
        }
        foreach ($taken as [$start, $end, $cost]) {
            $events[] = [$start, 0, 0, $cost * self::TOKEN];
            $events[] = [$end, 3, 0, $cost * self::TOKEN];
        }
        foreach ($denied as $index => [$start, $end, $cost]) {
            $events[] = [$start, 1, $index, 0];
            $events[] = [$end, 2, $index, $cost * self::TOKEN];
        }
        sort($events);
        $running = $ended = $now = $wrong = $latest_end = $counted_until = 0;
        $most = [];
        foreach ($events as [$time, $event, $index, $cost]) {
            $ended = max(0, $ended - $rate * ($time - $now));
            $now = $time;
            if ($event === -1) {
                $latest_end = max($latest_end, $cost);
            } elseif ($event === 0) {
                $running += $cost;
                foreach ($most as &$lacking) {
                    $lacking = max($lacking, $running + $ended);
                }
                unset($lacking);
            } elseif ($event === 1) {
                $most[$index] = $running + $ended;
            } elseif ($event === 2) {
                if ($capacity - $most[$index] - $rate * self::SLACK >= $cost) {
                    if ($denied[$index][0] >= $counted_until) {
                        $wrong++;
                        $counted_until = $latest_end;
                    }
                    $ended = min($capacity, $ended + $cost);
                }
                unset($most[$index]);
            } else {
                $running -= $cost;
                $ended = min($capacity, $ended + $cost);
            }
        }
        return $wrong;
    }
}
