<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony;

use Symfony\Component\DependencyInjection\ContainerBuilder;
use Symfony\Component\HttpKernel\Bundle\Bundle;
use TokenBucket\Bridge\Symfony\DependencyInjection\UseBucketsPass;

/** Makes the limiters of framework.rate_limiter and of login throttling exact. */
final class TokenBucketBundle extends Bundle
{
    public function build(ContainerBuilder $container): void
    {
        $container->addCompilerPass(new UseBucketsPass());
    }
}
