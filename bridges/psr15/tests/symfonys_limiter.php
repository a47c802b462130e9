<?php

declare(strict_types=1);

use App\Application;
use Psr\Http\Message\ResponseFactoryInterface;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Server\MiddlewareInterface;
use Psr\Http\Server\RequestHandlerInterface;
use Symfony\Component\Cache\Adapter\FilesystemAdapter;
use Symfony\Component\RateLimiter\RateLimiterFactory;
use Symfony\Component\RateLimiter\Storage\CacheStorage;

require_once 'Symfony/Component/RateLimiter/autoload.php';
require_once 'Symfony/Component/Cache/autoload.php';

/** Takes the place of config/middleware.php: the same limit with symfony/rate-limiter. */
return static function (Application $application, ResponseFactoryInterface $responses): void {
    $application->add(new class($responses) implements MiddlewareInterface {
        public function __construct(private readonly ResponseFactoryInterface $responses)
        {
        }

        public function process(ServerRequestInterface $request, RequestHandlerInterface $handler): ResponseInterface
        {
            $storage = new CacheStorage(new FilesystemAdapter(directory: $_SERVER['APP_CACHE_DIR']));
            $factory = new RateLimiterFactory(['id' => 'key', 'policy' => 'fixed_window', 'limit' => 100, 'interval' => '1 hour'], $storage);
            $accepted = $factory->create($request->getQueryParams()['key'])->consume()->isAccepted();
            return $accepted ? $handler->handle($request) : $this->responses->createResponse(429);
        }
    });
};
