<?php
/** Adds up the decisions of limits on the requests of a log. */
namespace TokenBucket\Command\Advise;

use TokenBucket\LogReplay;

use function TokenBucket\Command\text;

/** A decision as TokenBucket\LogReplay::read() packs it. */
const ROW = 'Pat/Pborder/Vlog/Vline/Vclient/Vpath/Vagent/vlimit/vflags';
const ROW_BYTES = 40;
const DENIED = 1;
const UNCERTAIN = 2;
const WITH_COOKIE = 4;
/** The rows of a table. */
const MOST_ROWS = 10;

const CRAWLERS = '/bot\b|bot[\/;-]|crawl|spider|slurp|externalhit|scan|monitor|preview|archiv|feed|\+https?:/i';
const TOOLS = '/^(curl|wget|python|go-http|java|okhttp|apache-http|libwww|lwp|php|guzzle|axios|node|got|ruby|scrapy|postman|httpie|rust|reqwest|dart|winhttp)|headless/i';
const BROWSERS = '/^(Mozilla|Opera)\/\d.*(Firefox|Chrome|Safari|Edg|OPR|Trident|Gecko)/i';

/** Returns the class of a user agent, by what it says of itself. */
function agent_class(string $agent): string
{
    return match (1) {
        preg_match('/^-?$/', $agent) => 'without an agent',
        preg_match(CRAWLERS, $agent) => 'declared crawlers',
        preg_match(TOOLS, $agent) => 'tools',
        preg_match(BROWSERS, $agent) => 'browsers',
        default => 'others',
    };
}

final class Denials
{
    /** @var array<int, array> the sums of each limit, and those of all limits at -1 */
    private array $sums = [];
    private array $classes = [];
    /** @var array{int, int} the log and the line of the last denial */
    private array $last = [-1, -1];

    /** @param ?resource $list the file to write decisions to */
    public function __construct(private readonly LogReplay $replay, private readonly Guard $guard, private readonly array $options, private $list)
    {
    }

    /** Adds decisions up. */
    public function take(string $rows): void
    {
        foreach ($rows === '' ? [] : str_split($rows, ROW_BYTES) as $row) {
            $row = unpack(ROW, $row);
            $this->list !== null && $this->write($row);
            if ($row['flags'] & DENIED) {
                $this->add($row['limit'], $row);
                $is_new = $this->last !== [$row['log'], $row['line']];
                $this->last = [$row['log'], $row['line']];
                $is_new && $this->add(-1, $row);
            }
        }
    }

    private function add(int $limit, array $row): void
    {
        $this->sums[$limit] ??= ['requests' => 0, 'wait' => 0, 'cookies' => 0, 'clients' => [], 'waits' => [], 'agents' => [], 'paths' => [], 'hours' => []];
        $sums = &$this->sums[$limit];
        $sums['requests']++;
        $sums['wait'] = max($sums['wait'], $row['border']);
        $sums['cookies'] += ($row['flags'] & WITH_COOKIE) > 0 ? 1 : 0;
        $class = $this->classes[$row['agent']] ??= agent_class($this->replay->text('agent', $row['agent']));
        foreach (['clients' => $row['client'], 'agents' => $class, 'paths' => $row['path'], 'hours' => intdiv($row['at'], 3_600_000_000_000)] as $of => $value) {
            $sums[$of][$value] = ($sums[$of][$value] ?? 0) + 1;
        }
        $sums['waits'][$row['client']] = max($sums['waits'][$row['client']] ?? 0, $row['border']);
    }

    /** Writes a decision as a line of JSON. */
    private function write(array $row): void
    {
        write($this->list, json_encode([
            'log' => $row['log'], 'line' => $row['line'], 'limit' => $row['limit'], 'client' => $this->client($row['client']), 'denied' => ($row['flags'] & DENIED) > 0,
            'uncertain' => ($row['flags'] & UNCERTAIN) > 0, 'at' => $row['at'] / 1e9, 'border' => $row['border'] / 1e9,
        ]) . "\n");
    }

    private function client(int $number): string
    {
        $client = $this->replay->text('client', $number);
        return isset($this->options['anonymise']) ? network($client) : $client;
    }

    /** Returns the part of the report about all limits. */
    public function report(): array
    {
        $this->list !== null && finish($this->list);
        $limits = [];
        foreach ($this->replay->summary()['limits'] as $number => $limit) {
            $limits[] = array_diff_key($limit, ['has_path' => 0]) + $this->table($this->sums[$number] ?? null);
        }
        return ['mode' => $this->guard->enforces ? 'enforce' : 'observe', 'all' => $this->table($this->sums[-1] ?? null), 'limits' => $limits];
    }

    private function table(?array $sums): array
    {
        if ($sums === null) {
            return ['denied_requests' => 0, 'denied_clients' => 0];
        }
        $clients = [];
        foreach ($sums['clients'] as $number => $denied) {
            $client = $this->client($number);
            $of = $clients[$client] ?? ['client' => $client, 'denied' => 0, 'longest_wait' => 0];
            $clients[$client] = ['denied' => $of['denied'] + $denied, 'longest_wait' => max($of['longest_wait'], $sums['waits'][$number] / 1e9)] + $of;
        }
        usort($clients, fn (array $a, array $b): int => $b['denied'] <=> $a['denied']);
        arsort($sums['agents']);
        arsort($sums['paths']);
        $paths = [];
        foreach (array_slice($sums['paths'], 0, MOST_ROWS, true) as $number => $denied) {
            $paths[] = ['path' => text($this->replay->text('path', $number)), 'denied' => $denied];
        }
        return [
            'denied_requests' => $sums['requests'], 'denied_clients' => count($sums['clients']), 'longest_wait' => $sums['wait'] / 1e9, 'with_cookie' => $sums['cookies'],
            'agents' => $sums['agents'], 'top_clients' => array_slice($clients, 0, MOST_ROWS), 'paths' => $paths, 'times' => times($sums['hours']),
        ];
    }
}

/** Returns counts by hour, or by day if there are more than two days. */
function times(array $hours): array
{
    ksort($hours);
    $format = $hours !== [] && array_key_last($hours) - array_key_first($hours) > 48 ? 'Y-m-d' : 'Y-m-d H:00';
    $times = [];
    foreach ($hours as $hour => $count) {
        $time = gmdate($format, $hour * 3600);
        $times[$time] = ($times[$time] ?? 0) + $count;
    }
    return $times;
}

function print_denials(array $report): void
{
    $all = $report['all'];
    printf("In the mode %s, %d requests (%s) of %d clients would have been denied.\n", $report['mode'], $all['denied_requests'], share($all['denied_requests'], $report['requests']), $all['denied_clients']);
    foreach ($report['limits'] as $limit) {
        printf("\n%s\n  denies %d of %d requests (%s) and %d of %d clients (%s)\n", $limit['limit'], $limit['denied_requests'], $limit['requests'], share($limit['denied_requests'], $limit['requests']), $limit['denied_clients'], $limit['clients'], share($limit['denied_clients'], $limit['clients']));
        if ($limit['uncertain'] > 0) {
            printf("  uncertain: %d decisions, because the log does not state the instant well enough\n", $limit['uncertain']);
        }
        if ($limit['denied_requests'] === 0) {
            continue;
        }
        printf("  longest wait: %.1f s\n  with a cookie of a session: %s\n", $limit['longest_wait'], share($limit['with_cookie'], $limit['denied_requests']));
        foreach ($limit['agents'] as $class => $count) {
            printf("  %-18s %8d  %s\n", $class, $count, share($count, $limit['denied_requests']));
        }
        foreach (['top_clients' => 'client', 'paths' => 'path'] as $rows => $key) {
            printf("  %8s  %s\n", 'denied', $key);
            foreach ($limit[$rows] as $row) {
                printf("  %8d  %s\n", $row['denied'], $row[$key]);
            }
        }
        foreach ($limit['times'] as $time => $count) {
            printf("  %8d  %s\n", $count, $time);
        }
    }
}
