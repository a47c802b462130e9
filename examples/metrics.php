<?php
/**
 * Serves the counters of tokenbucket to Prometheus.
 *
 * Copy this file to a folder outside the document root, for example /usr/local/share/tokenbucket.
 * The web server maps one path to it and allows only your monitoring; see
 * docs/how-to/monitor.md. The list below is a second check.
 */
declare(strict_types=1);

/**
 * The addresses that may read the metrics. The empty one is a client without a web server, such as
 * a PHP-FPM exporter, which opens the socket of the pool itself.
 */
const ALLOWED_ADDRESSES = ['127.0.0.1', '::1', ''];
/**
 * If a request has one of these header fields, its address is that of a proxy, which may forward
 * requests of anybody.
 */
const PROXY_HEADERS = '/^HTTP_(VIA$|FORWARDED|X_FORWARDED|X_REAL_IP$|CF_CONNECTING_IP|(\w+_)?CLIENT_IP$)/';

$is_forwarded = preg_grep(PROXY_HEADERS, array_keys($_SERVER)) !== [];
// Without S in variables_order, $_SERVER is empty, so the client is unknown.
if ($_SERVER === [] || $is_forwarded || !in_array($_SERVER['REMOTE_ADDR'] ?? '', ALLOWED_ADDRESSES, true)) {
    http_response_code(403);
    exit($is_forwarded ? "A proxy has forwarded this request, so its address is unknown.\n" : "Forbidden\n");
}
$text = TokenBucket\metrics();
$type = 'text/plain; version=0.0.4; charset=utf-8';
if (str_contains($_SERVER['HTTP_ACCEPT'] ?? '', 'application/openmetrics-text')) {
    // In OpenMetrics, the metadata names a counter without its suffix.
    $text = preg_replace('/^(# (?:HELP|TYPE) \S+)_total /m', '$1 ', $text);
    $type = 'application/openmetrics-text; version=1.0.0; charset=utf-8';
}
header("Content-Type: $type");
header('Cache-Control: no-store');
echo $text;
