<?php
/**
 * Sends a request over a connection of its own. Returns the status and the body, or null if the
 * server closed the connection without a response.
 *
 * @param list<string> $lines header lines, which are sent as they are
 * @return ?array{int, string}
 */
function http_request(int $port, string $target, array $lines = [], string $method = 'GET'): ?array
{
    $stream = stream_socket_client("tcp://127.0.0.1:$port", $errno, $error, 60);
    stream_set_timeout($stream, 60);
    fwrite($stream, implode("\r\n", ["$method $target HTTP/1.0", 'Host: localhost', ...$lines, '', '']));
    [$header, $body] = explode("\r\n\r\n", (string) stream_get_contents($stream), 2) + [1 => ''];
    return preg_match('~^HTTP/1\.[01] (\d+)~', $header, $status) ? [(int) $status[1], $body] : null;
}
