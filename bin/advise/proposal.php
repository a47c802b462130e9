<?php
/** Proposes limits from what each client needed. */
namespace TokenBucket\Command\Advise;

use TokenBucket\Command\Failure;
use TokenBucket\LogReplay;

use function TokenBucket\Command\number;
use function TokenBucket\Command\text;

const SPANS = ['10 seconds', 'minute', 'hour'];
const QUANTILES = ['p50' => 0.5, 'p90' => 0.9, 'p99' => 0.99, 'p99.9' => 0.999, 'most' => 1.0];
const KINDS = ['ip', 'net', 'all'];
/** The most groups that are found, and the least share of requests of one. */
const MOST_GROUPS = 5;
const LEAST_SHARE = 0.02;

/** A list of numbers in ascending order, as TokenBucket\LogReplay::answer() packs it. */
final class Sorted
{
    public readonly int $count;

    public function __construct(private readonly string $numbers)
    {
        $this->count = intdiv(strlen($numbers), 4);
    }

    /** Returns the number that no more than this many are greater than. */
    public function below(int $greater): int
    {
        return $this->count === 0 ? 0 : unpack('V', $this->numbers, 4 * max(0, $this->count - 1 - $greater))[1];
    }

    public function quantile(float $share): int
    {
        return $this->below($this->count - max(1, (int) ceil($share * $this->count)));
    }

    /** Returns how many numbers are in each bin, which ends before a power of two. */
    public function histogram(): array
    {
        $bins = [];
        foreach (str_split($this->numbers, 1 << 16) as $some) {
            foreach (unpack('V*', $some) as $number) {
                $bin = 1 << (int) log($number, 2);
                $bins[$bin] = ($bins[$bin] ?? 0) + 1;
            }
        }
        ksort($bins);
        return $bins;
    }
}

/** Returns a number rounded up to two digits, as people write limits. */
function rounded(int $number): int
{
    $unit = 10 ** max(0, strlen((string) $number) - 2);
    return max(1, (int) (ceil($number / $unit) * $unit));
}

/** Returns the first segments of paths with the most requests, as --group names groups. */
function frequent(LogReplay $replay, bool $has_script): array
{
    $summary = $replay->summary();
    arsort($summary['groups']);
    $groups = [];
    foreach (array_slice($summary['groups'], 0, MOST_GROUPS, true) as $number => $requests) {
        $path = str_replace('%2F', '/', rawurlencode($replay->text('path', $number)));
        // Without the script, it is unknown which requests these count. Number 0 stands for the
        // segments that were not kept.
        $is_of_script = preg_match('/^\/$|\.php$/i', $path) === 1;
        if ($number > 0 && $requests >= LEAST_SHARE * $summary['requests'] && $requests < $summary['requests'] && ($has_script || !$is_of_script)) {
            $groups[$path] = $path === '/' ? $path : "$path*";
        }
    }
    return $groups;
}

final class Proposal
{
    /** @var resource the requests */
    private $requests;
    private readonly float $hit;

    /** @param array<string, string> $groups paths by the name of their group */
    public function __construct(private readonly LogReplay $replay, private readonly array $groups, private readonly array $options)
    {
        $hit = $options['hit'] ?? '0.1%';
        $this->hit = number('--hit', rtrim($hit, '%')) / (str_ends_with($hit, '%') ? 100 : 1);
        if ($this->hit >= 1) {
            throw new Failure('--hit must be less than 100%', 2);
        }
        $this->requests = temporary();
    }

    public function take(string $requests): void
    {
        write($this->requests, $requests);
    }

    /** Asks questions about all requests. Returns the answers by the keys of the questions. */
    private function ask(array $questions): array
    {
        $this->replay->ask(array_values($questions));
        rewind($this->requests);
        while (($some = (string) fread($this->requests, 20 << 13)) !== '') {
            // A read may end inside of a request.
            while (strlen($some) % 20 !== 0) {
                $some .= fread($this->requests, 20 - strlen($some) % 20);
            }
            $this->replay->weigh($some);
        }
        return array_map($this->replay->answer(...), array_combine(array_keys($questions), array_keys(array_values($questions))));
    }

    /** Returns the numbers of the groups, and "*" for all requests, with their conditions. */
    private function conditions(): array
    {
        $conditions = ['*' => ['name' => 'all paths', 'on' => '', 'end' => '']];
        foreach (array_keys($this->groups) as $number => $name) {
            $end = preg_match('/^[\w-]{1,32}$/D', $name) === 1 ? " name $name" : '';
            $conditions[$number] = ['name' => (string) $name, 'on' => "on {$this->groups[$name]} ", 'end' => $end];
        }
        return $conditions;
    }

    public function report(): array
    {
        $conditions = $this->conditions();
        $questions = [];
        foreach (array_keys($conditions) as $group) {
            foreach (KINDS as $kind) {
                $questions["$group $kind"] = "$group $kind";
            }
        }
        $demands = $this->ask($questions);
        $candidates = $this->candidates($demands);
        $rows = $line = [];
        foreach ($demands as $question => $demand) {
            [$group, $kind] = explode(' ', $question);
            // The limits for all paths are enough for a group that was found and has all requests.
            if ($group !== '*' && !isset($this->options['group']) && $demand['requests'] === $rows[0]['requests']) {
                continue;
            }
            $most = array_map(fn (string $numbers) => new Sorted($numbers), $demand['most']);
            $quantiles = fn (Sorted $numbers): array => array_map($numbers->quantile(...), QUANTILES);
            $tried = array_map(fn (array $candidate): array => ['limit' => $conditions[$group]['on'] . $candidate['limit']] + $candidate, $candidates[$question] ?? []);
            usort($tried, fn (array $a, array $b): int => $b['denied_requests'] <=> $a['denied_requests']);
            $rows[] = [
                'group' => $conditions[$group]['name'], 'key' => $kind, 'requests' => $demand['requests'], 'clients' => $most[0]->count,
                'most_in' => array_combine(SPANS, array_map($quantiles, $most)), 'histogram' => $most[1]->histogram(), 'candidates' => $tried,
            ];
            if ($kind === 'ip' && $tried !== []) {
                $line[] = $tried[0]['limit'] . $conditions[$group]['end'];
            }
        }
        return ['hit' => $this->hit, 'groups' => $rows, 'setting' => 'tokenbucket.guard="' . implode('; ', $line) . '"', 'warnings' => $this->warnings($rows[0]['clients'])];
    }

    /** Returns limits to choose from, by question, each with what it would have denied. */
    private function candidates(array $demands): array
    {
        $rates = [];
        foreach (array_filter($demands, fn (array $demand) => $demand['requests'] > 0) as $question => $demand) {
            foreach (['10 seconds' => 6, 'minute' => 1, 'hour' => 1] as $span => $times) {
                $most = new Sorted($demand['most'][array_search($span, SPANS, true)]);
                $rate = rounded($times * $most->below((int) floor($this->hit * $most->count))) . ($span === 'hour' ? '/hour' : '/minute');
                $rates["$question $rate"] = "$question $rate burst 1";
            }
        }
        $limits = [];
        foreach ($this->ask($rates) as $rate => $answer) {
            $bursts = new Sorted($answer['bursts']);
            $burst = $bursts->below((int) floor($this->hit * $bursts->count));
            $limits[$rate] = "$rate burst $burst";
        }
        $candidates = [];
        foreach ($this->ask($limits) as $rate => $answer) {
            [$group, $kind, $limit] = explode(' ', $limits[$rate], 3);
            $candidates["$group $kind"][] = [
                'limit' => "$kind $limit", 'denied_requests' => $answer['denied_requests'], 'denied_clients' => $answer['denied_clients'],
                'times' => times($answer['denied_by_hour']), 'top_clients' => $this->clients($kind, $answer['most_denied']),
            ];
        }
        return $candidates;
    }

    /** Returns the clients or networks of a list that LogReplay::answer() has packed. */
    private function clients(string $kind, string $most_denied): array
    {
        $clients = [];
        foreach (array_chunk(unpack('V*', $most_denied), 2) as [$number, $denied]) {
            $client = $kind === 'all' ? 'all' : $this->replay->text($kind === 'net' ? 'net' : 'client', $number);
            $clients[] = ['client' => isset($this->options['anonymise']) ? network($client) : $client, 'denied' => $denied];
        }
        return $clients;
    }

    /** Returns why the log may be too short. */
    private function warnings(int $clients): array
    {
        $summary = $this->replay->summary();
        $hours = ($summary['last'] - $summary['first']) / 3600;
        $warnings = [];
        if ($hours < 23.5) {
            $warnings[] = sprintf('the log covers only %s: limits for real traffic need a whole day, better a week', $hours < 1 ? sprintf('%d minutes', 60 * $hours) : sprintf('%.1f hours', $hours));
        }
        if ($this->hit * $clients < 1) {
            $warnings[] = sprintf('the log has %d clients, so a share of %s of them is less than one client: the limits suit even the busiest one. Pass a greater --hit, or logs of %d clients', $clients, share((int) round(1e6 * $this->hit), 1_000_000), (int) ceil(1 / $this->hit));
        }
        return $warnings;
    }
}

function print_proposal(array $report): void
{
    foreach ($report['warnings'] as $warning) {
        echo "Warning: $warning.\n";
    }
    foreach ($report['groups'] as $group) {
        $clients = ['ip' => 'clients', 'net' => 'networks', 'all' => 'bucket'][$group['key']];
        printf("\n%s, by %s: %d requests, %d %s\n", $group['group'], $group['key'], $group['requests'], $group['clients'], $clients);
        // A single bucket has no distribution.
        $names = $group['key'] === 'all' ? ['most'] : array_keys(QUANTILES);
        printf("  most requests in any  %s\n", implode('', array_map(fn (string $name) => sprintf('%9s', $name), $names)));
        foreach ($group['most_in'] as $span => $quantiles) {
            printf("  %-20s  %s\n", $span, implode('', array_map(fn (string $name) => sprintf('%9d', $quantiles[$name]), $names)));
        }
        foreach ($group['candidates'] as $candidate) {
            $of = $group['key'] === 'all' ? '' : " of $candidate[denied_clients] $clients";
            printf("  %s: denies %d requests (%s)%s\n", $candidate['limit'], $candidate['denied_requests'], share($candidate['denied_requests'], $group['requests']), $of);
        }
    }
    printf("\nOf the limits that deny at most %s of the clients, these stop the most requests. Begin with the mode observe:\n\n%s\n", share((int) round(1e6 * $report['hit']), 1_000_000), $report['setting']);
}
