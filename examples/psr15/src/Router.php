<?php

declare(strict_types=1);

namespace App;

use FastRoute\Dispatcher;
use FastRoute\RouteCollector;
use Psr\Http\Message\ResponseFactoryInterface;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Server\RequestHandlerInterface;

use function FastRoute\simpleDispatcher;

/** Runs the handler of a path. Knows nothing of the bridge. */
final class Router implements RequestHandlerInterface
{
    private readonly Dispatcher $dispatcher;

    /** @param \Closure(RouteCollector): void $routes adds functions that return a body */
    public function __construct(private readonly ResponseFactoryInterface $responses, \Closure $routes)
    {
        $this->dispatcher = simpleDispatcher($routes);
    }

    public function handle(ServerRequestInterface $request): ResponseInterface
    {
        $found = $this->dispatcher->dispatch($request->getMethod(), $request->getUri()->getPath());
        if ($found[0] !== Dispatcher::FOUND) {
            return $this->responses->createResponse($found[0] === Dispatcher::NOT_FOUND ? 404 : 405);
        }
        $response = $this->responses->createResponse()->withHeader('Content-Type', 'text/plain');
        $response->getBody()->write($found[1]($request));
        return $response;
    }
}
