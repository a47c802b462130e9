<?php
/**
 * Returns the arguments of a php-fpm that runs an application of examples/: the include path of
 * this process, extensions of this PHP, and the extension under test.
 *
 * @param list<string> $extensions names. In some builds of PHP, an extension is part of the program
 * @param array<string, string> $settings
 */
function example_arguments(array $extensions, array $settings = []): string
{
    $folder = getenv('PHP_EXTENSIONS');
    $arguments = '-n -d ' . escapeshellarg('include_path=' . get_include_path());
    foreach ($settings as $name => $value) {
        $arguments .= ' -d ' . escapeshellarg("$name=$value");
    }
    foreach ($extensions as $extension) {
        if (is_file("$folder/$extension.so")) {
            $arguments .= ' -d ' . escapeshellarg(($extension === 'opcache' ? 'zend_' : '') . "extension=$folder/$extension.so");
        }
    }
    return $arguments . ' -d ' . escapeshellarg('extension=' . getenv('TOKENBUCKET'));
}

/**
 * Sends requests to a server of this machine from clients that work at the same time.
 *
 * @param ?Closure(int, string): void $received is called with the status and text of each response
 * @return array<int, int> the number of responses by status
 */
function send_requests(int $port, string $target, int $requests, int $clients = 8, ?Closure $received = null): array
{
    $statuses = [];
    $open = [];
    while ($requests > 0 || $open !== []) {
        for (; $requests > 0 && count($open) < $clients; $requests--) {
            $stream = stream_socket_client("tcp://127.0.0.1:$port", timeout: 60);
            fwrite($stream, "GET $target HTTP/1.0\r\nHost: localhost\r\n\r\n");
            $open[] = $stream;
        }
        $ready = $open;
        $none = null;
        stream_select($ready, $none, $none, 60) ?: throw new RuntimeException('no reply');
        foreach ($ready as $stream) {
            $response = stream_get_contents($stream);
            $status = (int) explode(' ', $response)[1];
            $received?->__invoke($status, $response);
            $statuses[$status] = ($statuses[$status] ?? 0) + 1;
            unset($open[array_search($stream, $open, true)]);
        }
    }
    ksort($statuses);
    return $statuses;
}

/**
 * Writes vendor/autoload.php for the folder's composer.json with Composer: a class map, as in
 * production. Debian's autoloader asks a function of every package for every class.
 *
 * @param string $entry the autoloader of the framework in the include path
 */
function optimize_autoloader(string $folder, string $entry): void
{
    $packages = explode(PATH_SEPARATOR, get_include_path())[0];
    // Debian's autoloader includes the files that declare functions. This process has included
    // files of classes, too, so another process lists the files.
    $code = 'require ' . var_export($entry, true) . '; echo implode("\n", get_included_files());';
    exec(escapeshellarg(PHP_BINARY) . ' -n -d include_path=' . escapeshellarg($packages) . ' -r ' . escapeshellarg($code), $files);
    $composer = json_decode(file_get_contents("$folder/composer.json"), true);
    $composer['autoload'] += [
        'classmap' => array_values(array_filter(glob("$packages/*"), is_dir(...))),
        'files' => array_values(array_filter($files, fn (string $file) => !str_contains(basename($file), 'autoload'))),
    ];
    unset($composer['scripts'], $composer['repositories']);
    file_put_contents("$folder/composer.json", json_encode($composer));
    exec('cd ' . escapeshellarg($folder) . ' && COMPOSER_ALLOW_SUPERUSER=1 composer dump-autoload --optimize --no-interaction --quiet 2>&1', $output, $code);
    $code === 0 || throw new RuntimeException(implode("\n", $output));
}
