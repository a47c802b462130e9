--TEST--
The guard: php-cgi denies requests that have waited too long, and PHP's own web server passes no instant
--SKIPIF--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';
is_slow() && die('skip php-cgi is not run under valgrind');
(PHP_DEBUG || PHP_ZTS) && die('skip php-cgi is another build of PHP');
exec('command -v php-cgi' . PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION, $path, $code);
$code === 0 || die('skip there is no php-cgi for this php');
?>
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';
require_once __DIR__ . '/../../tools/testkit/php/built_in.php';
require_once __DIR__ . '/../../tools/testkit/php/fast_cgi.php';
require_once __DIR__ . '/../../tools/testkit/php/http.php';

const SETTINGS = ['tokenbucket.guard_max_age' => '150'];

/** Returns the command of php-cgi with the settings of the test. */
function php_cgi(): string
{
    $settings = array_map(fn (string $name) => " -d $name=" . SETTINGS[$name], array_keys(SETTINGS));
    return 'exec php-cgi' . PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION . ' ' . (getenv('TEST_PHP_EXTRA_ARGS') ?: '-n') . implode($settings);
}

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
        return ['sh', '-c', php_cgi() . " -b $this->socket"];
    }

    protected function answers(int $port): bool
    {
        // The socket exists before it accepts connections.
        return @stream_socket_client("unix://$this->socket") !== false
            && FastCgi::get($this->socket, "$this->folder/script.php") === 'script';
    }
}

/** Runs php-cgi as a web server does for each request, and returns its output. */
function cgi(string $script, array $variables): string
{
    $variables += [
        'GATEWAY_INTERFACE' => 'CGI/1.1', 'REQUEST_METHOD' => 'GET', 'SCRIPT_FILENAME' => $script, 'SCRIPT_NAME' => '/script.php',
        'REQUEST_URI' => '/script.php', 'REDIRECT_STATUS' => '200', 'PATH' => getenv('PATH'),
    ];
    $process = proc_open(php_cgi(), [['file', '/dev/null', 'r'], ['pipe', 'w'], ['redirect', 1]], $pipes, null, $variables);
    $output = stream_get_contents($pipes[1]);
    proc_close($process);
    return $output;
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
print_statuses('CGI', fn (array $variables) => cgi("$server->folder/script.php", $variables));
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
