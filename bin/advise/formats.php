<?php
/**
 * The formats of access logs, as lists of texts and fields for TokenBucket\LogReplay.
 *
 * A field has the name of its variable in CGI, or one of those in crates/replay/src/line.rs. A
 * field with the name "" is skipped.
 */
namespace TokenBucket\Command\Advise;

use TokenBucket\Command\Failure;

use function TokenBucket\Command\text;

const COMMON = '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent';
const FORMATS = [
    'common' => COMMON,
    'combined' => COMMON . ' "$http_referer" "$http_user_agent"',
];
/** The formats that are known without --format. The second one is that of nginx' packages. */
const TRIED = [FORMATS['combined'], FORMATS['combined'] . ' "$http_x_forwarded_for"', COMMON, '$server_name:$server_port ' . FORMATS['combined']];
/** Fields by nginx' variables. Of several variables for a value, the first one is the best. */
const NGINX = [
    'remote_addr' => 'REMOTE_ADDR', 'remote_user' => 'REMOTE_USER', 'msec' => 'END', 'time_iso8601' => 'END', 'time_local' => 'END', 'request_time' => 'SECONDS', 'request' => 'REQUEST',
    'request_method' => 'REQUEST_METHOD', 'request_uri' => 'REQUEST_URI', 'uri' => 'REQUEST_URI', 'document_uri' => 'REQUEST_URI', 'server_name' => 'SERVER_NAME',
    'host' => 'SERVER_NAME', 'fastcgi_script_name' => 'SCRIPT_NAME', 'fastcgi_path_info' => 'PATH_INFO', 'document_root' => 'DOCUMENT_ROOT',
    'request_filename' => 'SCRIPT_FILENAME', 'upstream_addr' => 'UPSTREAM', 'upstream_response_time' => 'UPSTREAM', 'upstream_status' => 'UPSTREAM',
];
/** Fields by Apache's letters and what is in braces before them, in the same order. */
const APACHE = [
    'a' => 'REMOTE_ADDR', 'h' => 'REMOTE_ADDR', 'c a' => 'REMOTE_ADDR', 'u' => 'REMOTE_USER', 'usec t' => 'START', 'begin:usec t' => 'START', 'end:usec t' => 'END',
    'msec t' => 'START', 'begin:msec t' => 'START', 'end:msec t' => 'END', 't' => 'START', 'sec t' => 'START', 'begin:sec t' => 'START', 'end:sec t' => 'END',
    'r' => 'REQUEST', 'm' => 'REQUEST_METHOD', 'U' => 'REQUEST_URI', 'f' => 'SCRIPT_FILENAME', 'v' => 'SERVER_NAME', 'V' => 'SERVER_NAME',
    'D' => 'MICROSECONDS', 'us T' => 'MICROSECONDS', 'ms T' => 'MILLISECONDS', 'T' => 'SECONDS', 's T' => 'SECONDS', 'DOCUMENT_ROOT e' => 'DOCUMENT_ROOT',
];
/** Fields for the same value as another one. */
const SAME = ['END' => 'START', 'MILLISECONDS' => 'MICROSECONDS', 'SECONDS' => 'MICROSECONDS'];
/** Keys of JSON lines that are known by their names. A point leads into an object. */
const KEYS = [
    'REMOTE_ADDR' => ['remote_addr', 'remote_ip', 'client_ip', 'clientip', 'ip', 'client', 'request.client_ip', 'request.remote_ip'],
    'END' => ['msec', 'ts', 'time_iso8601', 'timestamp', '@timestamp', 'time', 'time_local'],
    'REQUEST_METHOD' => ['request_method', 'method', 'request.method'],
    'REQUEST_URI' => ['request_uri', 'uri', 'path', 'url', 'request.uri'],
    'REQUEST' => ['request'],
    'SECONDS' => ['request_time', 'duration'],
    'HTTP_USER_AGENT' => ['http_user_agent', 'user_agent', 'agent', 'request.headers.User-Agent.0'],
    'HTTP_COOKIE' => ['http_cookie', 'cookie', 'request.headers.Cookie.0'],
    'HTTP_X_FORWARDED_FOR' => ['http_x_forwarded_for', 'x_forwarded_for', 'request.headers.X-Forwarded-For.0'],
    'SERVER_NAME' => ['server_name', 'host', 'request.host'],
    'SCRIPT_NAME' => ['fastcgi_script_name'],
    'UPSTREAM' => ['upstream_addr'],
];
/** Separates the fields of a JSON line that was decoded. */
const UNIT = "\x1f";

function nginx_field(string $variable): string
{
    return NGINX[$variable] ?? match (true) {
        str_starts_with($variable, 'http_') => strtoupper($variable),
        str_starts_with($variable, 'cookie_') => 'COOKIE_' . substr($variable, 7),
        default => '',
    };
}

function nginx_parts(string $format): array
{
    $format = str_replace(['$document_root$fastcgi_script_name', '${'], ['$request_filename', '$'], $format);
    return with_fields(preg_split('/\$(\w+)}?/', $format, -1, PREG_SPLIT_DELIM_CAPTURE), array_keys(NGINX), nginx_field(...));
}

/** Returns a format with fields instead of variables. Of several for a value, keeps the best. */
function with_fields(array $parts, array $best, \Closure $field): array
{
    $variables = array_filter($parts, fn (int $index) => $index % 2 === 1, ARRAY_FILTER_USE_KEY);
    $fields = $values = [];
    foreach (array_unique([...array_intersect($best, $variables), ...$variables]) as $variable) {
        $name = $field($variable);
        $value = SAME[$name] ?? $name;
        $fields[$variable] = isset($values[$value]) ? '' : $name;
        $values[$value] = true;
    }
    return array_replace($parts, array_map(fn (string $variable): string => $fields[$variable], $variables));
}

function apache_field(string $variable): string
{
    [$of, $letter] = [substr($variable, 0, -2), substr($variable, -1)];
    return APACHE[$variable] ?? match (true) {
        $letter === 't' => throw new Failure('--format has a time that is not supported: %{' . text($of) . '}t; use %t, %{sec}t, %{msec}t or %{usec}t', 2),
        $letter === 'i' => 'HTTP_' . strtr(strtoupper($of), '-', '_'),
        $letter === 'C' => "COOKIE_$of",
        default => '',
    };
}

function apache_parts(string $format): array
{
    $format = str_replace(['\"', '%U%q', '%%'], ['"', '%U', "\0"], $format);
    $parts = preg_split('/%([!\d,]*[<>]?(?:\{[^}]*\})?[a-zA-Z])/', $format, -1, PREG_SPLIT_DELIM_CAPTURE);
    for ($index = 1; $index < count($parts); $index += 2) {
        $parts[$index] = ltrim(preg_replace('/^[!\d,<>]*(?:\{(.*)\})?(.)$/', '$1 $2', $parts[$index]));
        if ($parts[$index] === 't') {
            $parts[$index - 1] .= '[';
            $parts[$index + 1] = ']' . $parts[$index + 1];
        }
    }
    return str_replace("\0", '%', with_fields($parts, array_keys(APACHE), apache_field(...)));
}

/** Makes lines with fields of lines with JSON. */
final class JsonLines
{
    /** @param array<string, list<string>> $keys the path of the key of each field */
    private function __construct(private readonly array $keys, private string $rest = '')
    {
    }

    /** Returns the reader of a format such as "json" or "json remote_addr=client.ip msec=ts". */
    public static function of(string $format, string $lines): self
    {
        $keys = [];
        foreach (preg_split('/\s+/', substr($format, 4), -1, PREG_SPLIT_NO_EMPTY) as $pair) {
            [$variable, $key] = explode('=', $pair, 2) + [1 => ''];
            if (nginx_field($variable) === '' || $key === '') {
                throw new Failure('--format has "' . text($pair) . '" where a variable of nginx, "=" and a key were expected', 2);
            }
            $keys[nginx_field($variable)] = explode('.', $key);
        }
        $objects = array_filter(array_map(fn (string $line) => json_decode($line, true), explode("\n", $lines)), is_array(...));
        foreach (KEYS as $field => $known) {
            foreach (array_map(fn (string $key): array => explode('.', $key), $known) as $path) {
                if (array_filter($objects, fn (array $object) => is_scalar(self::value($object, $path))) !== []) {
                    $keys[$field] ??= $path;
                }
            }
        }
        return new self($keys);
    }

    public function parts(): array
    {
        $parts = [''];
        foreach (array_keys($this->keys) as $field) {
            array_push($parts, $field, UNIT);
        }
        return $parts;
    }

    private static function value(array $object, array $path): mixed
    {
        foreach ($path as $key) {
            $object = is_array($object) ? $object[$key] ?? null : null;
        }
        return $object;
    }

    /** Returns the lines of these bytes, but keeps the last one if it is not over. */
    public function lines(string $bytes, bool $is_over): string
    {
        $lines = explode("\n", $this->rest . $bytes);
        $last = array_pop($lines);
        // A line that is too long is passed on, and is counted as such.
        $is_kept = !$is_over && strlen($last) < 1 << 20;
        $this->rest = $is_kept ? $last : '';
        $lines = array_map($this->line(...), $is_kept ? [...$lines, ''] : [...$lines, $last]);
        return implode("\n", $lines);
    }

    private function line(string $line): string
    {
        $object = json_decode($line, true);
        // A line that is no object stays as it is, and is counted.
        return is_array($object) ? $this->fields($object) : $line;
    }

    private function fields(array $object): string
    {
        $line = '';
        foreach ($this->keys as $path) {
            $value = self::value($object, $path);
            $value = is_float($value) ? sprintf('%.6F', $value) : (is_scalar($value) ? (string) $value : '');
            $line .= strtr($value, ['\\' => '\x5C', "\n" => '\x0A', UNIT => '\x1F']) . UNIT;
        }
        return $line;
    }
}

/** Returns the number of lines in a format of nginx. Quotes in a quoted field are escaped. */
function count_lines(string $format, string $lines): int
{
    $fields = ['/"\\\\\$\w+"/' => '"[^"\\\\\\\\\n]*+(?:\\\\\\\\.[^"\\\\\\\\\n]*+)*+"', '/\\\\\$remote_addr/' => '[\da-f.:]*[.:][\da-f.:]*', '/\\\\\$time_local/' => '[^]"\n]+', '/\\\\\$\w+/' => '[^" \n]+'];
    $pattern = preg_replace(array_keys($fields), $fields, preg_quote($format, '/'));
    return (int) preg_match_all("/^$pattern\r?$/mi", $lines);
}

/** Returns the parts of a format, and a reader of JSON if it is one. $lines are the first ones. */
function format(?string $format, string $lines, bool $is_anonymous): array
{
    if ($format === null) {
        $counts = array_map(fn (string $tried): int => count_lines($tried, $lines), TRIED);
        $format = max($counts) > 0 ? TRIED[array_search(max($counts), $counts, true)] : (preg_match('/^\s*\{/m', $lines) === 1 ? 'json' : null);
    }
    if (preg_match('/^json(\s|$)/', (string) $format) === 1) {
        $json = JsonLines::of($format, $lines);
        return [$json->parts(), $json];
    }
    if ($lines === '') {
        throw new Failure('the log is empty', 2);
    }
    if ($format === null) {
        $example = $is_anonymous ? '' : '. A line is: ' . text(substr(strtok($lines, "\r\n"), 0, 200));
        throw new Failure("the format of the log is unknown, or its clients are no addresses: pass --format with the text of log_format (nginx) or LogFormat (Apache)$example", 2);
    }
    $format = FORMATS[$format] ?? $format;
    $parts = match (true) {
        preg_match('/\$\{?\w/', $format) === 1 => nginx_parts($format),
        str_contains($format, '%') => apache_parts($format),
        default => throw new Failure('--format must be combined, common, json, or the text of log_format (nginx) or LogFormat (Apache)', 2),
    };
    foreach (['REMOTE_ADDR' => ['REMOTE_ADDR'], 'an instant' => ['START', 'END'], 'the URI' => ['REQUEST', 'REQUEST_URI']] as $what => $names) {
        if (array_intersect($names, $parts) === []) {
            throw new Failure("--format lacks $what", 2);
        }
    }
    return [$parts, null];
}
