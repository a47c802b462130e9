<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony;

use Symfony\Component\DependencyInjection\ContainerBuilder;
use Symfony\Component\HttpKernel\Bundle\Bundle;
use TokenBucket;
use TokenBucket\Bridge\Symfony\DependencyInjection\UseBucketsPass;

/** Makes the limiters of framework.rate_limiter and of login throttling exact. */
final class TokenBucketBundle extends Bundle
{
    public function build(ContainerBuilder $container): void
    {
        if (!class_exists(TokenBucket::class)) {
            throw new \LogicException(sprintf('TokenBucketBundle in config/bundles.php needs the extension tokenbucket, which %s does not load.', php_ini_loaded_file() ?: 'this PHP'));
        }
        $container->addCompilerPass(new UseBucketsPass());
    }
}
