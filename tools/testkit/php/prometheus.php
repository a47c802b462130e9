<?php
require_once __DIR__ . '/server_process.php';

/** A Prometheus that scrapes URLs every two seconds. */
final class Prometheus extends ServerProcess
{
    /**
     * The seconds between two scrapes, and the timeout of a scrape in seconds. A page may reply
     * slowly on a busy machine.
     */
    public const INTERVAL = 2;

    private ?float $scraped_at = null;

    /**
     * @param array<string, string> $urls URLs by the name of their job
     * @param ?string $rules a file of alert rules, which Prometheus evaluates once a second
     */
    public function __construct(private readonly array $urls, private readonly ?string $rules = null)
    {
        parent::__construct(true, '');
    }

    /** Returns why Prometheus cannot run here, or null. */
    public static function missing(): ?string
    {
        foreach (['prometheus', 'promtool'] as $program) {
            if (exec("command -v $program") === '') {
                return "$program is missing: run scripts/setup test";
            }
        }
        return null;
    }

    /** Runs promtool with this input. Returns an empty string, or what it prints if it fails. */
    public static function promtool(string $arguments, string $input = ''): string
    {
        $process = proc_open("promtool $arguments 2>&1", [['pipe', 'r'], ['pipe', 'w']], $pipes);
        fwrite($pipes[0], $input);
        fclose($pipes[0]);
        $output = stream_get_contents($pipes[1]);
        $code = proc_close($process);
        return $code === 0 ? '' : "promtool exits with $code: $output";
    }

    /**
     * Returns the result of a query, evaluated at the instant of the scrape that wait_for_scrape()
     * found. So a later scrape that times out does not change the result.
     *
     * @return list<array{metric: array<string, string>, value: float}>
     */
    public function query(string $query): array
    {
        $time = $this->scraped_at === null ? [] : ['time' => sprintf('%.3F', $this->scraped_at)];
        $data = $this->get('/api/v1/query?' . http_build_query(['query' => $query] + $time));
        return array_map(
            fn (array $row) => ['metric' => $row['metric'], 'value' => (float) $row['value'][1]],
            $data['result'] ?? throw new RuntimeException("$query: " . json_encode($data))
        );
    }

    /** Waits for a scrape of the job that begins after this call and succeeds. */
    public function wait_for_scrape(string $job): void
    {
        $now = microtime(true);
        $this->scraped_at = null;
        wait_for("Prometheus scrapes $job", function () use ($job, $now): bool {
            usleep(100_000);
            $scraped = $this->query("timestamp(up{job=\"$job\"}) and up{job=\"$job\"} == 1");
            $at = $scraped[0]['value'] ?? 0;
            $at > $now && $this->scraped_at = $at;
            return $at > $now;
        });
    }

    /** Returns the data of a reply of Prometheus's interface. */
    public function get(string $path): array
    {
        $context = stream_context_create(['http' => ['timeout' => 60, 'ignore_errors' => true]]);
        $reply = (string) @file_get_contents("http://127.0.0.1:$this->port$path", false, $context);
        $decoded = json_decode($reply, true);
        return ($decoded['status'] ?? '') === 'success' ? $decoded['data'] : throw new RuntimeException("$path: $reply");
    }

    protected function arguments(int $port): array
    {
        $interval = self::INTERVAL . 's';
        $text = "global:\n  scrape_interval: $interval\n  scrape_timeout: $interval\n  evaluation_interval: 1s\n";
        if ($this->rules !== null) {
            copy($this->rules, "$this->folder/rules.yml");
            $text .= "rule_files: ['rules.yml']\n";
        }
        $text .= "scrape_configs:\n";
        foreach ($this->urls as $job => $url) {
            ['host' => $host, 'port' => $target, 'path' => $path] = parse_url($url);
            $text .= "  - job_name: '$job'\n    metrics_path: '$path'\n    static_configs: [{ targets: ['$host:$target'] }]\n";
        }
        file_put_contents("$this->folder/prometheus.yml", $text);
        chmod("$this->folder/prometheus.yml", 0644);
        return [
            'prometheus', "--config.file=$this->folder/prometheus.yml", "--storage.tsdb.path=$this->folder/data",
            "--web.listen-address=127.0.0.1:$port", '--log.level=warn',
        ];
    }

    protected function answers(int $port): bool
    {
        $context = stream_context_create(['http' => ['timeout' => 5]]);
        $url = "http://127.0.0.1:$port";
        $flags = (string) @file_get_contents("$url/api/v1/status/flags", false, $context);
        return str_contains(stripslashes($flags), "$this->folder/data") && @file_get_contents("$url/-/ready", false, $context) !== false;
    }
}
