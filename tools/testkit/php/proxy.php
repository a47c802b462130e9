<?php
/**
 * A proxy between a client and a server that counts traffic and fails on demand.
 *
 * The proxy is a separate process that ends with the test. The test controls the proxy over a pair
 * of sockets. The proxy parses no protocol, so each read from the server counts as one reply.
 */
final class Proxy
{
    /** All bytes pass. */
    public const PASS = 'pass';
    /** The first half of a reply arrives, then the connection ends. */
    public const HALF_REPLY = 'half reply';
    /** Requests reach the server. Replies are dropped, and the connection stays open. */
    public const SWALLOW_REPLIES = 'swallow replies';
    /** Connections are accepted, and nothing reaches the server. */
    public const SWALLOW_REQUESTS = 'swallow requests';
    /** Requests reach the server. Replies are held until the mode changes. */
    public const HOLD_REPLIES = 'hold replies';
    /** Replies arrive byte by byte, with a pause after each byte. */
    public const DRIP = 'drip';

    public readonly int $port;
    private readonly int $owner;
    private readonly int $pid;
    /** @var resource */
    private $control;

    /**
     * @param string $upstream the server, as unix:///path or tcp://127.0.0.1:port
     * @param ?Watcher $watcher receives the bytes that pass, in the proxy's process
     */
    public function __construct(string $upstream, ?Watcher $watcher = null)
    {
        $this->owner = getmypid();
        $listener = stream_socket_server('tcp://127.0.0.1:0');
        $this->port = (int) substr(strrchr(stream_socket_get_name($listener, false), ':'), 1);
        [$this->control, $its] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, STREAM_IPPROTO_IP);
        $pid = pcntl_fork();
        if ($pid === 0) {
            fclose($this->control);
            (new ProxyWire($upstream, $listener, $its, $watcher))->run();
            exit(0);
        }
        $this->pid = $pid;
        register_shutdown_function($this->stop(...));
    }

    /** Sets the mode from the next read on, also for open connections. */
    public function set(string $mode, int $drip_milliseconds = 0): void
    {
        $this->ask(['mode' => $mode, 'drip' => $drip_milliseconds]);
    }

    /** Sends new connections to another server, and ends open connections. */
    public function lead(string $upstream): void
    {
        $this->ask(['upstream' => $upstream, 'cut' => true]);
    }

    /** Ends all open connections. The proxy still accepts new connections. */
    public function cut(): void
    {
        $this->ask(['cut' => true]);
    }

    /**
     * Returns the number of times that a client sent bytes on a new connection or after a reply.
     */
    public function roundTrips(): int
    {
        return $this->counts()['round_trips'];
    }

    /** @return array{connections: int, round_trips: int, reply_bytes: int} */
    public function counts(): array
    {
        return $this->ask([]);
    }

    public function stop(): void
    {
        // Forked children of the test inherit the shutdown function.
        if (getmypid() === $this->owner && is_resource($this->control)) {
            fclose($this->control);
            exec("kill -KILL $this->pid");
            pcntl_waitpid($this->pid, $status);
        }
    }

    private function ask(array $command): array
    {
        fwrite($this->control, json_encode($command) . "\n");
        return json_decode(fgets($this->control), true);
    }
}

/** Sees the bytes of each client of a proxy. */
interface Watcher
{
    /** Is called before the bytes are sent to the server. */
    public function asked(int $client, string $bytes): void;

    public function answered(int $client, string $bytes): void;

    public function ended(int $client): void;
}

/** The process of a proxy. */
final class ProxyWire
{
    private string $mode = Proxy::PASS;
    private int $drip = 0;
    private array $counts = ['connections' => 0, 'round_trips' => 0, 'reply_bytes' => 0];
    /** @var array<int, array{resource, int, bool}> by id: stream, id of the peer, is client */
    private array $ends = [];
    /** @var array<int, true> by id: the clients whose next bytes begin a round trip */
    private array $answered = [];

    public function __construct(private string $upstream, private $listener, private $control, private readonly ?Watcher $watcher)
    {
    }

    /** Runs until the test has ended. */
    public function run(): void
    {
        while (true) {
            $holds = $this->mode === Proxy::HOLD_REPLIES;
            $ends = $holds ? array_filter($this->ends, fn (array $end) => $end[2]) : $this->ends;
            $ready = [$this->control, $this->listener, ...array_column($ends, 0)];
            $none = null;
            if (@stream_select($ready, $none, $none, null) === false) {
                continue;
            }
            foreach ($ready as $stream) {
                if ($stream === $this->listener) {
                    $this->accept();
                } elseif ($stream !== $this->control) {
                    $this->carry((int) $stream);
                } elseif (!$this->obey()) {
                    return;
                }
            }
        }
    }

    private function obey(): bool
    {
        $line = fgets($this->control);
        if ($line === false) {
            return false;
        }
        $command = json_decode($line, true);
        $this->mode = $command['mode'] ?? $this->mode;
        $this->drip = $command['drip'] ?? $this->drip;
        $this->upstream = $command['upstream'] ?? $this->upstream;
        if (isset($command['cut'])) {
            array_map($this->end(...), array_keys($this->ends));
        }
        fwrite($this->control, json_encode($this->counts) . "\n");
        return true;
    }

    private function accept(): void
    {
        $client = stream_socket_accept($this->listener);
        $this->counts['connections']++;
        $server = @stream_socket_client($this->upstream, $code, $error, 5);
        // If the server is down, the client's connection ends.
        if ($server === false) {
            return;
        }
        foreach ([$client, $server] as $stream) {
            stream_set_blocking($stream, false);
            stream_set_write_buffer($stream, 0);
        }
        $this->ends[(int) $client] = [$client, (int) $server, true];
        $this->ends[(int) $server] = [$server, (int) $client, false];
        $this->answered[(int) $client] = true;
    }

    private function carry(int $id): void
    {
        // The other end of the connection may have been closed in the same round.
        if (!isset($this->ends[$id])) {
            return;
        }
        [$stream, $other, $is_client] = $this->ends[$id];
        $bytes = fread($stream, 65536);
        if ($bytes === false || $bytes === '') {
            if (feof($stream)) {
                $this->end($id);
            }
        } elseif ($is_client) {
            $this->request($id, $other, $bytes);
        } else {
            $this->reply($other, $bytes);
        }
    }

    private function request(int $client, int $server, string $bytes): void
    {
        if (isset($this->answered[$client])) {
            unset($this->answered[$client]);
            $this->counts['round_trips']++;
        }
        $this->watcher?->asked($client, $bytes);
        if ($this->mode !== Proxy::SWALLOW_REQUESTS) {
            $this->write($server, $bytes);
        }
    }

    private function reply(int $client, string $bytes): void
    {
        $this->counts['reply_bytes'] += strlen($bytes);
        $this->watcher?->answered($client, $bytes);
        if ($this->mode === Proxy::SWALLOW_REPLIES) {
            return;
        }
        $this->answered[$client] = true;
        if ($this->mode === Proxy::HALF_REPLY) {
            $this->write($client, substr($bytes, 0, intdiv(strlen($bytes), 2)));
            $this->end($client);
        } elseif ($this->mode === Proxy::DRIP) {
            // All connections wait during the pause.
            foreach (str_split($bytes) as $byte) {
                $this->write($client, $byte);
                usleep($this->drip * 1000);
            }
        } else {
            $this->write($client, $bytes);
        }
    }

    private function write(int $id, string $bytes): void
    {
        $stream = $this->ends[$id][0];
        stream_set_blocking($stream, true);
        @fwrite($stream, $bytes);
        stream_set_blocking($stream, false);
    }

    private function end(int $id): void
    {
        if (isset($this->ends[$id])) {
            [$stream, $other] = $this->ends[$id];
            $this->watcher?->ended($id);
            unset($this->ends[$id], $this->answered[$id]);
            stream_socket_shutdown($stream, STREAM_SHUT_RDWR);
            fclose($stream);
            $this->end($other);
        }
    }
}
