<?php
/**
 * Counts the instructions of a request for a script that prints a word, under php-cgi as a FastCGI
 * server, and checks the cost of conditions in the guard's limits.
 *
 * A count is the difference between a long and a short run, divided by the difference of their
 * requests. Other load on the machine does not change it. Lines that begin with PASS, FAIL or
 * "Tests skipped" are counted by scripts/test.
 */
require __DIR__ . '/../testkit/php/fast_cgi.php';
require __DIR__ . '/../testkit/php/child.php';

const SHORT = 20;
const LONG = 220;
/** The greatest allowed ratio of a count to that of the first row. */
const GROWTH = 1.03;
const ALONE = 'ip 300/minute burst 100000';
const ROWS = [
    'ip alone' => ALONE,
    'three conditions that do not match' => ALONE . '; on POST /wp-login.php ip 5/minute; on /export* ip 100/minute; on /xmlrpc.php ip 10/minute',
];
/** The variables that nginx passes. */
const VARIABLES = [
    'CONTENT_TYPE' => '', 'CONTENT_LENGTH' => '', 'SCRIPT_NAME' => '/hello.php', 'REQUEST_URI' => '/hello.php?page=1',
    'DOCUMENT_URI' => '/hello.php', 'REQUEST_SCHEME' => 'https', 'HTTPS' => 'on', 'SERVER_SOFTWARE' => 'nginx/1.22.1',
    'REMOTE_ADDR' => '192.0.2.1', 'REMOTE_PORT' => '51234', 'SERVER_ADDR' => '192.0.2.2', 'SERVER_PORT' => '443',
    'SERVER_NAME' => 'www.example.org', 'REDIRECT_STATUS' => '200', 'QUERY_STRING' => 'page=1', 'HTTP_HOST' => 'www.example.org',
    'HTTP_USER_AGENT' => 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0',
    'HTTP_ACCEPT' => 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    'HTTP_ACCEPT_LANGUAGE' => 'en-US,en;q=0.5', 'HTTP_ACCEPT_ENCODING' => 'gzip, deflate, br', 'HTTP_CONNECTION' => 'keep-alive',
    'HTTP_COOKIE' => 'session=0123456789abcdef0123456789abcdef',
];

/** Returns the instructions of a php-cgi that ends after this number of requests. */
function instructions_of(string $module, string $guard, int $requests): int
{
    $folder = temporary_folder();
    file_put_contents("$folder/hello.php", '<?php echo "hello";');
    $php = 'php-cgi' . PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION;
    $command = [
        'valgrind', '--tool=callgrind', '--vgdb=no', '--callgrind-out-file=/dev/null', $php, '-n', '-d', "extension=$module",
        '-d', "tokenbucket.guard=\"$guard\"", '-b', "$folder/socket",
    ];
    // The environment is small, because its size moves the stack, whose alignment changes some
    // counts.
    $environment = ['PATH' => getenv('PATH'), 'PHP_FCGI_MAX_REQUESTS' => (string) $requests];
    $process = proc_open($command, [2 => ['pipe', 'w']], $pipes, $folder, $environment);
    $variables = ['DOCUMENT_ROOT' => $folder] + VARIABLES;
    for ($i = 0; $i < $requests; $i++) {
        try {
            $output = FastCgi::output("$folder/socket", "$folder/hello.php", $variables);
        } catch (RuntimeException) {
            // php-cgi does not listen yet.
            proc_get_status($process)['running'] || exit("FAIL php-cgi has ended\n");
            usleep(10_000);
            $i--;
            continue;
        }
        str_ends_with((string) $output, 'hello') || exit('FAIL a request: ' . json_encode($output) . "\n");
    }
    $output = stream_get_contents($pipes[2]);
    proc_close($process);
    preg_match('/Collected : (\d+)/', $output, $count) || exit("FAIL callgrind has counted nothing: $output\n");
    return (int) $count[1];
}

foreach (['valgrind', 'php-cgi' . PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION] as $program) {
    if (exec("command -v $program") === '') {
        exit("Tests skipped : 1, because $program is missing\n");
    }
}
preg_match('~ (/.*tokenbucket\.so)(?: \(deleted\))?$~m', file_get_contents('/proc/self/maps'), $module);
$code = 0;
foreach (ROWS as $name => $guard) {
    [$short, $long] = array_map(fn (int $requests) => instructions_of($module[1], $guard, $requests), [SHORT, LONG]);
    $count = ($long - $short) / (LONG - SHORT);
    $alone ??= $count;
    $passes = $count <= GROWTH * $alone;
    printf("%s a request, %s: %.0f instructions, %+.1f %%\n", $passes ? 'PASS' : 'FAIL', $name, $count, 100 * $count / $alone - 100);
    $code |= (int) !$passes;
}
exit($code);
