--TEST--
The guard: php-cgi denies requests that have waited too long, and PHP's own web server passes no instant
--SKIPIF--
<?php require __DIR__ . '/php_cgi.inc.php'; skip_without_php_cgi(); ?>
--FILE--
<?php
require __DIR__ . '/php_cgi.inc.php';
require_once __DIR__ . '/../../tools/testkit/php/built_in.php';
require_once __DIR__ . '/../../tools/testkit/php/fast_cgi.php';
require_once __DIR__ . '/../../tools/testkit/php/http.php';

const SETTINGS = ['tokenbucket.guard_max_age' => '150'];

/** A php-cgi that waits for requests of FastCGI at a socket, one after another. */
final class FastCgiServer extends ServerProcess
{
    public function __construct()
    {
        parent::__construct(false, 'php-cgi.sock');
    }

    protected function arguments(int $port): array
    {
        file_put_contents("$this->folder/script.php", '<?php echo "script";');
        return ['sh', '-c', php_cgi(SETTINGS) . " -b $this->socket"];
    }

    protected function answers(int $port): bool
    {
        // The socket exists before it accepts connections.
        return @stream_socket_client("unix://$this->socket") !== false
            && FastCgi::get($this->socket, "$this->folder/script.php") === 'script';
    }
}

/** Prints the statuses of requests by the variables of their age. */
function print_statuses(string $name, callable $output): void
{
    // A busy machine adds less than a minute to this age.
    $ago = sprintf('%.3F', microtime(true) - 210);
    $statuses = [];
    foreach (['no instant' => [], 'now' => ['TOKENBUCKET_RECEIVED' => sprintf('%.3F', microtime(true))], 'stale' => ['TOKENBUCKET_RECEIVED' => $ago], 'a header' => ['HTTP_TOKENBUCKET_RECEIVED' => $ago]] as $what => $age) {
        preg_match('/^Status: (\d+)/m', $output($age + ['REMOTE_ADDR' => '192.0.2.1']), $status);
        $statuses[] = "$what " . ($status[1] ?? '200');
    }
    echo "$name: ", implode(', ', $statuses), "\n";
}

$server = new FastCgiServer();
print_statuses('FastCGI', fn (array $variables) => FastCgi::output($server->socket, "$server->folder/script.php", $variables));
print_statuses('CGI', fn (array $variables) => cgi("$server->folder/script.php", SETTINGS, $variables)[0]);
$server->kill();

// A variable in the environment of the server must not count as the age of a request.
$ago = sprintf('%.3F', microtime(true) - 210);
putenv("TOKENBUCKET_RECEIVED=$ago");
$log = temporary_folder() . '/log';
$server = new BuiltInServer(SETTINGS + ['error_log' => $log], '<?php echo json_encode($_SERVER["TOKENBUCKET_RECEIVED"] ?? null);');
putenv('TOKENBUCKET_RECEIVED');
echo "PHP's own web server:";
foreach ([[], ["TOKENBUCKET_RECEIVED: $ago"], ["Tokenbucket-Received: $ago"]] as $lines) {
    echo ' ', implode(' ', http_request($server->port, '/', $lines) ?? ['lost']);
}
echo ', ', file_exists($log) ? file_get_contents($log) : 'nothing in the log', "\n";
?>
--EXPECT--
FastCGI: no instant 200, now 200, stale 503, a header 200
CGI: no instant 200, now 200, stale 503, a header 200
PHP's own web server: 200 null 200 null 200 null, nothing in the log
