<?php
require_once __DIR__ . '/web_servers.inc.php';
require_once __DIR__ . '/../../tools/testkit/php/child.php';
require_once __DIR__ . '/../../tools/testkit/php/wait_for.php';

/** A script that runs until the file "go" is in the folder of its query. */
const HOLD = '<?php
    $folder = $_GET["folder"] ?? exit("no folder");
    touch("$folder/" . getmypid());
    while (!file_exists("$folder/go")) { usleep(1000); }
    echo "held";';

/** Requests that run until they are told to end. */
final class Held
{
    private readonly string $folder;
    /** @var list<resource> */
    private array $streams = [];

    public function __construct(private readonly int $port, private readonly string $path)
    {
        $this->folder = temporary_folder();
        chmod($this->folder, 0777);
    }

    /** Sends a request of a client. Returns when its script runs. */
    public function start(int $client): void
    {
        $stream = stream_socket_client("tcp://127.0.0.1:$this->port", $errno, $error, 60);
        stream_set_timeout($stream, 60);
        fwrite($stream, "GET $this->path?folder=$this->folder HTTP/1.0\r\nHost: localhost\r\nX-Forwarded-For: 203.0.113.$client\r\n\r\n");
        $this->streams[] = $stream;
        wait_for('the script runs', fn () => count($this->processes()) >= count($this->streams));
    }

    /** @return list<int> the processes that run the script */
    public function processes(): array
    {
        return array_map(intval(...), array_map(basename(...), glob("$this->folder/[0-9]*")));
    }

    /** Lets all requests end. Returns their bodies. */
    public function end(): string
    {
        touch("$this->folder/go");
        $bodies = array_map(fn ($stream) => explode("\r\n\r\n", (string) stream_get_contents($stream), 2)[1] ?? 'lost', $this->streams);
        return implode(' ', $bodies);
    }
}

/** Sends a request of a client, and returns its status. */
function probe(int $port, string $path, int $client): int
{
    return http_request($port, $path, ["X-Forwarded-For: 203.0.113.$client"])[0] ?? 0;
}
