<?php

declare(strict_types=1);

use GuzzleHttp\Exception\GuzzleException;

require $_SERVER['APP_AUTOLOAD'] ?? dirname(__DIR__) . '/vendor/autoload.php';

/** Shows what another server says. */
try {
    $client = require $_SERVER['APP_CLIENT'] ?? dirname(__DIR__) . '/config/client.php';
    echo $client->get($_SERVER['APP_RATES'] ?? 'https://rates.example/')->getBody();
} catch (GuzzleException $e) {
    http_response_code(503);
    echo get_class($e);
}
