<?php

declare(strict_types=1);

use FastRoute\RouteCollector;
use Psr\Http\Message\ServerRequestInterface;

return static function (RouteCollector $routes): void {
    $routes->get('/search', fn (ServerRequestInterface $request): string => "found\n");
};
