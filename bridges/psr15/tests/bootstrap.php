<?php
/** Loads the bridge, and the two PSR-15 interfaces that Debian does not have. */
namespace Psr\Http\Server {
    use Psr\Http\Message\{ResponseInterface, ServerRequestInterface};

    require 'Nyholm/Psr7/autoload.php';
    require 'Psr/Log/autoload.php';
    interface RequestHandlerInterface
    {
        public function handle(ServerRequestInterface $request): ResponseInterface;
    }
    interface MiddlewareInterface
    {
        public function process(ServerRequestInterface $request, RequestHandlerInterface $handler): ResponseInterface;
    }
}

namespace {
    spl_autoload_register(static function (string $class): void {
        $prefix = 'TokenBucket\\Bridge\\Psr15\\';
        if (str_starts_with($class, $prefix)) {
            require __DIR__ . '/../src/' . substr($class, strlen($prefix)) . '.php';
        }
    });
}
