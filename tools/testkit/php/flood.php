<?php
require_once __DIR__ . '/check.php';
require_once __DIR__ . '/http.php';

/**
 * A flood of strangers, beside people with a session, on a site whose guard limits strangers.
 * TOKENBUCKET_FLOOD=20000 sends as many requests as in the documentation, and the file
 * TOKENBUCKET_FLOOD_REPORT gets the figures.
 */
final class Flood
{
    public const PEOPLE = 20;
    /** Code of the page /status.php. */
    public const STATUS = '<?php echo json_encode(array_column(TokenBucket\status()["decisions"], null, "namespace"));';
    private const STRANGERS = 8;
    private const BURST = 20;
    private const RATE = 5;

    /** The requests of the strangers, from a quarter as many addresses. */
    public readonly int $requests;
    public readonly string $limit;
    /** Code for each page. It records the instant at which a stranger gets the page. */
    public readonly string $recording;

    /**
     * @param string $session the cookie of a session, as in the guard's settings
     * @param Closure(int): string $page returns the path of a page by its number, less than 500
     * @param list<string> $cookies the cookies of each person
     * @param string $mark a text that pages have only for a person
     */
    public function __construct(string $session, private Closure $page, private array $cookies, private string $mark, private string $record)
    {
        $this->requests = (int) (getenv('TOKENBUCKET_FLOOD') ?: 400);
        $this->limit = "unless cookie $session all " . self::RATE . '/second burst ' . self::BURST;
        $this->recording = "str_starts_with(\$_SERVER['HTTP_X_FORWARDED_FOR'] ?? '', '203.') && file_put_contents('$record', hrtime(true) . PHP_EOL, FILE_APPEND);";
        touch($record);
        chmod($record, 0666);
    }

    /** @return array<string, string> the settings of PHP */
    public function settings(string $mode): array
    {
        return ['tokenbucket.guard' => $this->limit, 'tokenbucket.guard_mode' => $mode, 'tokenbucket.guard_trusted_proxies' => '127.0.0.1'];
    }

    /** Floods a site that has these settings, and checks each record of what it granted. */
    public function check(string $site, int $port, string $mode): void
    {
        $cookie = "Cookie: {$this->cookies[0]}";
        $row = fn () => json_decode(http_request($port, '/status.php', [$cookie])[1], true)["guard: $this->limit"];
        // Compiles the site.
        http_request($port, ($this->page)(0), [$cookie]);
        check($row()['granted_by_store'] === 0, "$site: a person was counted");
        file_put_contents($this->record, '');
        [$strangers, $people, $start, $denied_at] = $this->send($port, $loads = max(3, intdiv($this->requests, 400)));
        $instants = file($this->record);
        [$made, ['granted_by_store' => $granted, 'denied_by_store' => $denied]] = [count($instants), $row()];
        // The bucket is full until the first grant, which precedes the first page. It lacks a token
        // at each denial.
        $least = self::BURST + self::RATE * ($denied_at - (int) min($instants)) / 1e9 - 1;
        $most = self::BURST + self::RATE * ((int) max($instants) - $start) / 1e9;
        $line = sprintf('%s, %s: strangers %s, %d pages, row %d granted and %d denied, from %.1f to %.1f allowed, people %s', $site, $mode, json_encode($strangers), $made, $granted, $denied, $least, $most, json_encode($people));
        ($report = getenv('TOKENBUCKET_FLOOD_REPORT')) && file_put_contents($report, "$line\n", FILE_APPEND);
        check($people === [200 => $loads * self::PEOPLE], "people: $line");
        check($granted + $denied === $this->requests && $granted >= self::BURST && $granted <= $most, "row: $line");
        $most < $this->requests || inconclusive("the server was too slow: $line");
        // In the mode "observe", nothing is limited, so that the strangers get more.
        check($mode === 'observe' ? $made === $this->requests : $made === $granted && $made >= $least, "limit: $line");
        check($strangers == array_filter([200 => $made, 429 => $this->requests - $made]), "responses: $line");
    }

    /**
     * Sends the requests of the strangers as fast as the server replies, and, evenly spread, loads
     * of pages by each person. Returns the numbers of responses to strangers and to people by
     * status, and the instants before the first request and before the last one that was denied.
     *
     * @param list<string> $lines header lines of the strangers
     */
    public function send(int $port, int $loads, array $lines = []): array
    {
        [$strangers, $people, $loaded, $open, $sent] = [[], [], array_fill(0, self::PEOPLE, 0), [], []];
        [$next, $start, $denied] = [0, hrtime(true), 0];
        while ($open !== [] || $next < $this->requests || min($loaded) < $loads) {
            for ($client = 0; $client < self::PEOPLE + self::STRANGERS; $client++) {
                $is_person = $client < self::PEOPLE;
                $count = $is_person ? $loaded[$client] : $next;
                $is_due = $is_person ? $count < $loads && $next * $loads >= $count * $this->requests : $count < $this->requests;
                if (isset($open[$client]) || !$is_due) {
                    continue;
                }
                $is_person ? $loaded[$client]++ : $next++;
                // The addresses of the strangers are in 20 networks.
                $number = $count % intdiv($this->requests, 4);
                $fields = $is_person
                    ? ["X-Forwarded-For: 198.51.$client.1", "Cookie: theme=dark; {$this->cookies[$client]}"]
                    : [sprintf('X-Forwarded-For: 203.0.%d.%d', $number % 20, intdiv($number, 20) % 250), ...$lines];
                $sent[$client] = hrtime(true);
                $open[$client] = stream_socket_client("tcp://127.0.0.1:$port", timeout: 60);
                fwrite($open[$client], implode("\r\n", ['GET ' . ($this->page)($count % 500) . ' HTTP/1.0', 'Host: localhost', ...$fields, '', '']));
            }
            $ready = $open;
            stream_select($ready, $none, $none, 300) ?: throw new RuntimeException('no reply');
            foreach ($ready as $client => $stream) {
                $response = stream_get_contents($stream);
                unset($open[$client]);
                $status = preg_match('~^HTTP/1\.[01] (\d+)~', $response, $found) ? (int) $found[1] : 'lost';
                if ($client < self::PEOPLE) {
                    $status = $status === 200 && !str_contains($response, $this->mark) ? 'another page' : $status;
                    $people[$status] = ($people[$status] ?? 0) + 1;
                } else {
                    $strangers[$status] = ($strangers[$status] ?? 0) + 1;
                    $denied = $status === 429 ? max($denied, $sent[$client]) : $denied;
                }
            }
        }
        return [$strangers, $people, $start, $denied];
    }
}
