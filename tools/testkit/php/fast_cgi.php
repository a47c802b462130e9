<?php
/**
 * A FastCGI client that sends one request for each connection, as a web server without keep-alive.
 *
 * Section 3 of the FastCGI specification defines a record: header, content and padding. The header
 * has eight bytes: version, type, request, length of the content, length of the padding.
 */
final class FastCgi
{
    private const VERSION = 1;
    private const BEGIN_REQUEST = 1;
    private const END_REQUEST = 3;
    private const PARAMS = 4;
    private const STDIN = 5;
    private const STDERR = 7;
    private const RESPONDER = 1;
    private const REQUEST = 1;
    private const LONGEST_CONTENT = 65_535;

    /**
     * Returns the output of the script. Returns null if the connection ended early because the
     * worker died.
     */
    public static function get(string $socket, string $script, array $query = []): ?string
    {
        $output = self::output($socket, $script, ['QUERY_STRING' => http_build_query($query)]);
        return $output === null ? null : explode("\r\n\r\n", $output, 2)[1] ?? $output;
    }

    /**
     * Returns the output of the script with its header, or null if the worker died. $variables
     * replaces and adds variables of the request, such as REMOTE_ADDR.
     *
     * @param array<string, string> $variables
     */
    public static function output(string $socket, string $script, array $variables = []): ?string
    {
        $stream = @stream_socket_client("unix://$socket", $errno, $error, 60);
        if ($stream === false) {
            throw new RuntimeException("$socket: $error");
        }
        stream_set_timeout($stream, 60);
        $request = self::encode($script, $variables);
        $reply = @fwrite($stream, $request) === strlen($request) ? @stream_get_contents($stream) : '';
        if (stream_get_meta_data($stream)['timed_out']) {
            throw new RuntimeException("$script: no answer");
        }
        fclose($stream);
        return self::decode((string) $reply);
    }

    private static function encode(string $script, array $variables): string
    {
        $records = '';
        $params = '';
        $query = $variables['QUERY_STRING'] ?? '';
        foreach ($variables + [
            'GATEWAY_INTERFACE' => 'CGI/1.1',
            'SERVER_PROTOCOL' => 'HTTP/1.1',
            'REQUEST_METHOD' => 'GET',
            'SCRIPT_FILENAME' => $script,
            'SCRIPT_NAME' => '/' . basename($script),
            'REQUEST_URI' => '/' . basename($script) . "?$query",
            'QUERY_STRING' => $query,
            'REMOTE_ADDR' => '127.0.0.1',
        ] as $name => $value) {
            // Always uses the four-byte form of a length, which has the first bit set.
            $variable = pack('NN', strlen($name) | 1 << 31, strlen($value) | 1 << 31) . $name . $value;
            // PHP expects each variable in one record.
            if (strlen($params . $variable) > self::LONGEST_CONTENT) {
                $records .= self::record(self::PARAMS, $params);
                $params = '';
            }
            $params .= $variable;
        }
        return self::record(self::BEGIN_REQUEST, pack('nCx5', self::RESPONDER, 0))
            . $records . self::record(self::PARAMS, $params) . self::record(self::PARAMS, '')
            . self::record(self::STDIN, '');
    }

    private static function record(int $type, string $content): string
    {
        return pack('CCnnxx', self::VERSION, $type, self::REQUEST, strlen($content)) . $content;
    }

    private static function decode(string $reply): ?string
    {
        $output = '';
        $errors = '';
        for ($offset = 0; $offset + 8 <= strlen($reply); $offset += 8 + $header['length'] + $header['padding']) {
            $header = unpack('Cversion/Ctype/nrequest/nlength/Cpadding', $reply, $offset);
            if ($header['type'] === self::END_REQUEST) {
                // No test expects messages on standard error.
                return $output . $errors;
            }
            $content = substr($reply, $offset + 8, $header['length']);
            $header['type'] === self::STDERR ? $errors .= $content : $output .= $content;
        }
        return null;
    }
}
