<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Tests;

use Psr\Log\NullLogger;
use Symfony\Bundle\FrameworkBundle\FrameworkBundle;
use Symfony\Bundle\FrameworkBundle\Kernel\MicroKernelTrait;
use Symfony\Bundle\SecurityBundle\SecurityBundle;
use Symfony\Component\DependencyInjection\Compiler\CompilerPassInterface;
use Symfony\Component\DependencyInjection\Compiler\PassConfig;
use Symfony\Component\DependencyInjection\ContainerBuilder;
use Symfony\Component\DependencyInjection\Definition;
use Symfony\Component\DependencyInjection\Loader\Configurator\ContainerConfigurator;
use Symfony\Component\DependencyInjection\Reference;
use Symfony\Component\HttpKernel\Kernel;
use Symfony\Component\RateLimiter\RateLimiterBuilder;
use Symfony\Component\RateLimiter\Storage\CacheStorage;
use Symfony\Component\RateLimiter\Storage\StorageInterface;
use Symfony\Component\Routing\Loader\Configurator\RoutingConfigurator;
use Symfony\Component\Security\Core\User\InMemoryUser;
use TokenBucket\Bridge\Symfony\BucketStorage;
use TokenBucket\Bridge\Symfony\TokenBucketBundle;

use function Symfony\Component\DependencyInjection\Loader\Configurator\service;

require_once __DIR__ . '/limiter_builder.php';

/** An application with its cache in a temporary folder. Its limiters are in the array $limiters. */
final class TestKernel extends Kernel implements CompilerPassInterface
{
    use MicroKernelTrait;

    private readonly string $folder;

    /**
     * @param array<string, array> $limiters of framework.rate_limiter
     * @param array<string, mixed> $bridge the configuration under token_bucket, or null without the
     *     bridge
     */
    public function __construct(private readonly array $limiters, private readonly ?array $bridge = [])
    {
        // Kernels of the same configuration share their compiled container.
        $this->folder = self::folder() . '/' . md5(serialize([$limiters, $bridge]));
        parent::__construct('test', false);
        $this->boot();
    }

    public function shutdown(): void
    {
        parent::shutdown();
        // FrameworkBundle has set a handler for the process.
        restore_exception_handler();
    }

    /** Removes the caches of all kernels of this process. */
    public static function removeCaches(): void
    {
        exec('rm -rf ' . escapeshellarg(self::folder()));
    }

    private static function folder(): string
    {
        return sys_get_temp_dir() . '/tokenbucket-kernel-' . getmypid();
    }

    public function registerBundles(): iterable
    {
        $bundles = [new FrameworkBundle(), new SecurityBundle()];
        return $this->bridge === null ? $bundles : [...$bundles, new TokenBucketBundle()];
    }

    /** Makes the limiters public, so that tests find them. */
    public function process(ContainerBuilder $container): void
    {
        foreach ($container->getDefinitions() as $id => $definition) {
            if (preg_match('/^(limiter[._]|request_stack$|security\.(listener\.)?login_throttling|security\.authenticator\.remember_me_handler)/', $id) && !$definition->isAbstract()) {
                $definition->setPublic(true);
            }
        }
    }

    /** Lists the services that get a storage of limiters other than the bridge's. */
    protected function build(ContainerBuilder $container): void
    {
        $container->addCompilerPass(new class implements CompilerPassInterface {
            public function process(ContainerBuilder $container): void
            {
                $isSymfonys = static function (mixed $argument) use ($container): bool {
                    $id = $argument instanceof Reference ? (string) $argument : '';
                    $class = $container->has($id) ? $container->getParameterBag()->resolveValue($container->findDefinition($id)->getClass()) : null;
                    return $class !== null && is_subclass_of($class, StorageInterface::class) && $class !== BucketStorage::class;
                };
                $found = array_filter($container->getDefinitions(), static fn (Definition $service) => array_filter($service->getArguments(), $isSymfonys) !== []);
                $container->setParameter('test.of_symfonys_storages', array_keys($found));
            }
        }, PassConfig::TYPE_BEFORE_REMOVING);
    }

    public function getProjectDir(): string
    {
        return $this->folder;
    }

    private function configureRoutes(RoutingConfigurator $routes): void
    {
        foreach (['attribute', 'compound'] as $method) {
            $routes->add($method, "/$method")->controller([LimitedController::class, $method]);
        }
        $routes->add('get', '/only/get')->controller(LimitedController::class)->methods(['GET']);
        $routes->add('limited', '/{name}')->controller(LimitedController::class);
    }

    private function configureContainer(ContainerConfigurator $container): void
    {
        $container->extension('framework', [
            'secret' => 'for tests',
            'http_method_override' => false,
            'router' => ['utf8' => true],
            'rate_limiter' => $this->limiters,
        ]);
        $container->extension('security', [
            'password_hashers' => [InMemoryUser::class => 'plaintext'],
            'providers' => ['users' => ['memory' => ['users' => array_fill_keys(['alice', 'bob'], ['password' => 'right', 'roles' => ['ROLE_USER']])]]],
            'firewalls' => ['main' => [
                'pattern' => '^/login',
                'stateless' => true,
                'http_basic' => null,
                'login_throttling' => ['max_attempts' => 3, 'interval' => '1 hour'],
                'remember_me' => ['secret' => 'for tests'],
                'custom_authenticators' => [CodeAuthenticator::class],
                'entry_point' => 'http_basic',
            ]],
            'access_control' => [['path' => '^/login', 'roles' => 'ROLE_USER']],
        ] + (self::MAJOR_VERSION < 6 ? ['enable_authenticator_manager' => true] : []));
        if ($this->bridge !== null) {
            $container->extension('token_bucket', $this->bridge);
        }
        $services = $container->services();
        $services->set(\TokenBucketStorageMemory::class, \TokenBucketStorageMemory::class)->public();
        $services->set(CodeAuthenticator::class);
        if (defined(RateLimiterBuilder::class . '::IS_OF_TEST')) {
            $services->set('limiter_builder.storage', CacheStorage::class)->args([service('cache.rate_limiter')]);
            $services->set('limiter_builder', RateLimiterBuilder::class)->args([service('limiter_builder.storage'), null]);
        }
        if (isset($this->limiters['scan'])) {
            $services->set(RefusedRequests::class)->autowire()->autoconfigure();
            $services->set('logger', NullLogger::class);
        }
        $services->set(LimitedController::class)->args([service('limiter.api')])->public();
    }
}
