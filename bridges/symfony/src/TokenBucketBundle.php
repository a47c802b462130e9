<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony;

use Symfony\Component\DependencyInjection\ContainerBuilder;
use Symfony\Component\DependencyInjection\Exception\EnvNotFoundException;
use Symfony\Component\HttpKernel\Bundle\Bundle;
use TokenBucket;
use TokenBucket\Bridge\Symfony\DependencyInjection\UseBucketsPass;

/** Makes the limiters of framework.rate_limiter and of login throttling exact. */
final class TokenBucketBundle extends Bundle
{
    /** Reports a missing extension when the kernel starts, also if its container is cached. */
    public function __construct()
    {
        if (!class_exists(TokenBucket::class)) {
            throw new \LogicException(sprintf('TokenBucketBundle in config/bundles.php needs the extension tokenbucket, which %s does not load.', php_ini_loaded_file() ?: 'this PHP'));
        }
    }

    public function build(ContainerBuilder $container): void
    {
        $container->addCompilerPass(new UseBucketsPass());
    }

    /** Reports a wrong DSN of an environment variable, which is not known before. */
    public function boot(): void
    {
        try {
            // has() finds only a public storage. Only a DSN from an environment variable makes it
            // public.
            if ($this->container->has('token_bucket.storage')) {
                $this->container->get('token_bucket.storage');
            }
        } catch (EnvNotFoundException) {
            // The machine that builds the cache may not have the variable.
        }
    }
}
