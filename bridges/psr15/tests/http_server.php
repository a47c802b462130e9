<?php
/** The two PSR-15 interfaces, of which Debian has no packages. */
namespace Psr\Http\Server;

use Psr\Http\Message\{ResponseInterface, ServerRequestInterface};

interface RequestHandlerInterface
{
    public function handle(ServerRequestInterface $request): ResponseInterface;
}
interface MiddlewareInterface
{
    public function process(ServerRequestInterface $request, RequestHandlerInterface $handler): ResponseInterface;
}
