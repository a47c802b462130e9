<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\DependencyInjection;

use Symfony\Component\DependencyInjection\ChildDefinition;
use Symfony\Component\DependencyInjection\Compiler\CompilerPassInterface;
use Symfony\Component\DependencyInjection\ContainerBuilder;
use Symfony\Component\DependencyInjection\Reference;
use Symfony\Component\Security\Http\RateLimiter\DefaultLoginRateLimiter;
use TokenBucket\Bridge\Symfony\LoginRateLimiter;

/** Gives the buckets' storage to the limiters of FrameworkBundle and SecurityBundle. */
final class UseBucketsPass implements CompilerPassInterface
{
    public function process(ContainerBuilder $container): void
    {
        $except = $container->getParameter('token_bucket.except');
        foreach ($container->getDefinitions() as $definition) {
            if ($definition instanceof ChildDefinition && $definition->getParent() === 'limiter') {
                if (!in_array($definition->getArgument(0)['id'], $except, true)) {
                    // A bucket needs no lock.
                    $definition->replaceArgument(1, new Reference('token_bucket.storage'))->replaceArgument(2, null);
                }
            } elseif ($definition->getClass() === DefaultLoginRateLimiter::class) {
                $definition->setClass(LoginRateLimiter::class);
            }
        }
    }
}
