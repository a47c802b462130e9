<?php
/**
 * A DNS server for one loopback address, which answers or hangs. It listens on port 53, so only
 * root can start it. It ends when the test ends.
 */
final class DnsServer
{
    /** @var resource */
    private $process;
    /** @var array<resource> */
    private array $pipes = [];

    /** @param string $address a loopback address */
    public function __construct(string $address)
    {
        $command = [PHP_BINARY, '-n', __FILE__, 'serve', $address];
        $this->process = proc_open($command, [['pipe', 'r'], ['pipe', 'w'], STDERR], $this->pipes);
        $said = fgets($this->pipes[1]);
        $said === "ready\n" || throw new RuntimeException("The DNS server does not start: $said");
    }

    /** Answers all later queries with these IPv4 addresses. Without addresses, answers no query. */
    public function answer(string ...$addresses): void
    {
        fwrite($this->pipes[0], implode(' ', $addresses) . "\n");
        fgets($this->pipes[1]);
    }

    /** Returns the number of lookups that have asked the server. */
    public function lookups(): int
    {
        fwrite($this->pipes[0], "count\n");
        return (int) fgets($this->pipes[1]);
    }

    /**
     * Runs a PHP file in a process whose resolver uses this server and waits a second for a reply.
     * The file gets the server's address as its argument. Returns the printed text, or null if the
     * mount of the resolver's settings fails.
     */
    public static function run_file(string $file): ?string
    {
        $folder = temporary_folder();
        // Tests that run at the same time use different addresses.
        $pid = getmypid();
        $address = '127.' . (64 + ($pid >> 16)) . '.' . ($pid >> 8 & 255) . '.' . ($pid & 255);
        file_put_contents("$folder/resolv.conf", "nameserver $address\noptions timeout:1 attempts:1\n");
        $mount = "mount --bind $folder/resolv.conf /etc/resolv.conf";
        exec('unshare -m sh -c ' . escapeshellarg($mount) . ' 2>&1', $output, $code);
        $php = php_command() . ' -f ' . escapeshellarg($file) . " $address";
        return $code === 0 ? shell_exec('unshare -m sh -c ' . escapeshellarg("$mount && exec $php 2>&1")) : null;
    }

    /**
     * Serves until the standard input ends. Each line of the input has the addresses to answer, or
     * requests the number of lookups. A lookup asks for both types of addresses from one port.
     */
    public static function serve(string $address): void
    {
        $socket = stream_socket_server("udp://$address:53", $code, $error, STREAM_SERVER_BIND)
            ?: exit("$error\n");
        echo "ready\n";
        $addresses = $clients = [];
        while (true) {
            [$read, $none] = [[$socket, STDIN], null];
            stream_select($read, $none, $none, null);
            if (in_array(STDIN, $read, true)) {
                $line = fgets(STDIN);
                if ($line === false) {
                    return;
                }
                if ($line === "count\n") {
                    echo count($clients), "\n";
                    continue;
                }
                $addresses = array_filter(explode(' ', trim($line)));
                echo "set\n";
            } else {
                $query = stream_socket_recvfrom($socket, 512, 0, $client);
                $clients[$client] = true;
                if ($addresses !== []) {
                    stream_socket_sendto($socket, self::reply($query, $addresses), 0, $client);
                }
            }
        }
    }

    /** Returns the reply to a query: the addresses for type A, and nothing for other types. */
    private static function reply(string $query, array $addresses): string
    {
        // The question follows the head of 12 bytes: the name, which ends with a zero byte, the
        // type and the class.
        $end = strpos($query, "\0", 12) + 5;
        $is_a = substr($query, $end - 4, 2) === "\0\x01";
        $answers = array_map(
            // A pointer to the name in the question, type A, class IN, 1 s to live, and four bytes.
            fn (string $address) => "\xc0\x0c\0\x01\0\x01\0\0\0\x01\0\x04" . inet_pton($address),
            $is_a ? $addresses : []
        );
        $head = substr($query, 0, 2) . "\x81\x80\0\x01" . pack('n', count($answers)) . "\0\0\0\0";
        return $head . substr($query, 12, $end - 12) . implode('', $answers);
    }
}

if (($argv[1] ?? '') === 'serve' && realpath($argv[0]) === __FILE__) {
    DnsServer::serve($argv[2]);
}
