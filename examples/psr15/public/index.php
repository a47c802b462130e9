<?php

declare(strict_types=1);

use App\Application;
use App\Router;
use Nyholm\Psr7\Factory\Psr17Factory;

require $_SERVER['APP_AUTOLOAD'] ?? dirname(__DIR__) . '/vendor/autoload.php';

$config = dirname(__DIR__) . '/config';
$responses = new Psr17Factory();
$application = new Application(new Router($responses, require "$config/routes.php"));
(require $_SERVER['APP_MIDDLEWARE'] ?? "$config/middleware.php")($application, $responses);

$request = $responses->createServerRequest($_SERVER['REQUEST_METHOD'], $_SERVER['REQUEST_URI'], $_SERVER);
$response = $application->handle($request->withQueryParams($_GET));

http_response_code($response->getStatusCode());
foreach ($response->getHeaders() as $name => $values) {
    foreach ($values as $value) {
        header("$name: $value", false);
    }
}
echo $response->getBody();
