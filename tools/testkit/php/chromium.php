<?php
require_once __DIR__ . '/server_process.php';

/**
 * A headless Chromium with one tab, driven through chromedriver by WebDriver and the DevTools
 * protocol.
 */
final class Chromium extends ServerProcess
{
    protected const PLACES = 3;

    private ?string $session = null;

    public function __construct()
    {
        parent::__construct(true, '');
        $this->session = $this->send('POST', '/session', ['capabilities' => ['alwaysMatch' => [
            // A dialog stays open until alert() reads it.
            'unhandledPromptBehavior' => 'ignore',
            'goog:loggingPrefs' => ['browser' => 'ALL'],
            'goog:chromeOptions' => ['args' => [
                '--headless', '--hide-scrollbars', '--force-color-profile=srgb', "--user-data-dir=$this->folder/profile",
                // Chromium ends with chromedriver, because the pipe is closed then.
                '--remote-debugging-pipe',
                // Containers lack user namespaces and have a small /dev/shm.
                '--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu',
            ]],
        ]]])['sessionId'];
    }

    /** Reports whether Chromium and its driver are installed. */
    public static function is_installed(): bool
    {
        return exec('command -v chromedriver') !== '' && exec('command -v chromium') !== '';
    }

    public function open(string $url): void
    {
        $this->tab('POST', '/url', ['url' => $url]);
    }

    /** Runs the body of a JavaScript function in the page. Returns its result. */
    public function run(string $script, mixed ...$arguments): mixed
    {
        return $this->tab('POST', '/execute/sync', ['script' => $script, 'args' => $arguments]);
    }

    /** Returns the visible text of the first element that the CSS selector finds. */
    public function text(string $selector): string
    {
        return $this->run('return document.querySelector(arguments[0]).innerText', $selector);
    }

    /** Waits until a JavaScript expression is true. Throws after a minute. */
    public function wait_for(string $expression, int $seconds = 60): void
    {
        $end = microtime(true) + $seconds;
        while ($this->run("return !!($expression)") !== true) {
            microtime(true) < $end || throw new RuntimeException("Not in $seconds s: $expression");
            usleep(50_000);
        }
    }

    /** Sets the width of the page and its colour scheme: light or dark. */
    public function show_as(int $width, string $scheme): void
    {
        $this->devtools('Emulation.setDeviceMetricsOverride', ['width' => $width, 'height' => 800, 'deviceScaleFactor' => 1, 'mobile' => $width < 500]);
        $this->devtools('Emulation.setEmulatedMedia', ['features' => [['name' => 'prefers-color-scheme', 'value' => $scheme]]]);
    }

    /** Returns a PNG of the page, from its top to at most $height pixels below. */
    public function screenshot(int $width, int $height): string
    {
        $height = min($height, $this->run('return document.documentElement.scrollHeight'));
        $clip = ['x' => 0, 'y' => 0, 'width' => $width, 'height' => $height, 'scale' => 1];
        return base64_decode($this->devtools('Page.captureScreenshot', ['clip' => $clip, 'captureBeyondViewport' => true])['data']);
    }

    /** Closes the open dialog and returns its text, or returns null if there is no dialog. */
    public function alert(): ?string
    {
        try {
            $text = $this->tab('GET', '/alert/text');
            $this->tab('POST', '/alert/accept', []);
            return $text;
        } catch (RuntimeException) {
            return null;
        }
    }

    /** @return list<string> the messages in the console since the last call */
    public function console(): array
    {
        return array_column($this->tab('POST', '/se/log', ['type' => 'browser']), 'message');
    }

    public function kill(): void
    {
        if ($this->session !== null) {
            try {
                $this->send('DELETE', "/session/$this->session");
            } catch (RuntimeException) {
                // The browser ends with its driver.
            }
            $this->session = null;
        }
        parent::kill();
    }

    protected function arguments(int $port): array
    {
        return ['env', "HOME=$this->folder", 'chromedriver', "--port=$port", '--log-level=WARNING'];
    }

    protected function answers(int $port): bool
    {
        return str_contains(file_get_contents("$this->folder/log"), 'ChromeDriver was started successfully');
    }

    private function devtools(string $command, array $parameters): array
    {
        return $this->tab('POST', '/goog/cdp/execute', ['cmd' => $command, 'params' => $parameters]);
    }

    private function tab(string $method, string $path, ?array $body = null): mixed
    {
        return $this->send($method, "/session/$this->session$path", $body);
    }

    /** Sends a command of WebDriver. Returns its value. */
    private function send(string $method, string $path, ?array $body = null): mixed
    {
        $content = $body === null ? '' : json_encode((object) $body, JSON_THROW_ON_ERROR);
        $stream = @stream_socket_client("tcp://127.0.0.1:$this->port", $code, $error, 30) ?: throw new RuntimeException($error);
        stream_set_timeout($stream, 60);
        fwrite($stream, "$method $path HTTP/1.1\r\nHost: 127.0.0.1:$this->port\r\nContent-Length: " . strlen($content) . "\r\n\r\n$content");
        // chromedriver does not close the connection, so a stream wrapper would wait for its end.
        $length = 0;
        while (trim($line = (string) fgets($stream)) !== '') {
            sscanf($line, 'Content-Length: %d', $length);
        }
        $reply = stream_get_contents($stream, $length);
        $value = json_decode((string) $reply, true)['value'] ?? null;
        if ($reply === '' || isset($value['error'])) {
            throw new RuntimeException("$method $path: " . ($value['message'] ?? 'no reply'));
        }
        return $value;
    }
}
