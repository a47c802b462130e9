<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Tests;

use PHPUnit\Framework\TestCase;
use Symfony\Component\DependencyInjection\ChildDefinition;
use Symfony\Component\DependencyInjection\ContainerBuilder;
use Symfony\Component\DependencyInjection\Definition;
use Symfony\Component\DependencyInjection\Reference;
use Symfony\Component\RateLimiter\RateLimiterFactory;
use Symfony\Component\RateLimiter\Storage\InMemoryStorage;
use Symfony\Component\Security\Http\RateLimiter\DefaultLoginRateLimiter;
use TokenBucket\Bridge\Symfony\BucketLimiter;
use TokenBucket\Bridge\Symfony\BucketStorage;
use TokenBucket\Bridge\Symfony\Console\BucketCommand;
use TokenBucket\Bridge\Symfony\DependencyInjection\UseBucketsPass;
use TokenBucket\Quota;
use TokenBucketStorageMemory;

/** Tests limiters that the services of the application define, as children of Symfony's limiter. */
final class UseBucketsPassTest extends TestCase
{
    private const CONFIG = ['id' => 'mine', 'policy' => 'fixed_window', 'limit' => 1, 'interval' => '1 hour'];

    public function testALimiterMayHaveItsConfigurationInSeveralForms(): void
    {
        $named = (new ChildDefinition('limiter'))->setArgument('$config', self::CONFIG)->setArgument('$storage', null);
        $parameter = (new ChildDefinition('limiter'))->replaceArgument(0, '%config%');
        $inherited = (new ChildDefinition('limiter'))->addTag('mine');
        foreach ([$named, $parameter, $inherited] as $child) {
            self::assertInstanceOf(BucketLimiter::class, $this->compile(clone $child)->get('mine')->create());
        }
        foreach ([$named, $parameter] as $child) {
            self::assertInstanceOf(Quota::class, $this->compile(clone $child, quotas: ['mine' => null])->get('mine')->create()->bucket);
        }
        $excepted = (clone $named)->setArgument('$storage', new Reference('own'));
        self::assertStringStartsWith('Symfony\\', $this->compile($excepted, ['mine'])->get('mine')->create()::class);
    }

    public function testTheCommandsKnowTheSecretOfALoginLimiterOfTheServices(): void
    {
        $factories = ['$globalFactory' => new Reference('limiter.ip'), '$localFactory' => new Reference('limiter.user'), '$secret' => 'of logins'];
        foreach ([$factories, array_values($factories), ['$secret' => 'of logins'], array_fill(0, 2, new Definition(RateLimiterFactory::class))] as $i => $arguments) {
            $container = new ContainerBuilder();
            $container->setParameter('token_bucket.except', []);
            $container->setParameter('token_bucket.quotas', []);
            $container->register('logins', DefaultLoginRateLimiter::class)->setArguments($arguments);
            $container->register('command', BucketCommand::class)->setArguments(['peek', fn () => null, [], []]);
            (new UseBucketsPass())->process($container);
            $secrets = $container->getDefinition('command')->getArgument(3);
            self::assertSame($i < 2 ? ['ip' => 'of logins', 'user' => 'of logins'] : [], $secrets);
        }
    }

    /**
     * @param list<string> $except
     * @param array<string, ?string> $quotas
     */
    private function compile(ChildDefinition $child, array $except = [], array $quotas = []): ContainerBuilder
    {
        $container = new ContainerBuilder();
        $container->setParameter('token_bucket.except', $except);
        $container->setParameter('token_bucket.quotas', $quotas);
        $container->setParameter('config', self::CONFIG);
        $container->register('memory', TokenBucketStorageMemory::class);
        $container->register('own', InMemoryStorage::class);
        $container->register('token_bucket.storage', BucketStorage::class)->setArguments([new Reference('memory')]);
        $container->register('limiter', RateLimiterFactory::class)->setAbstract(true)->setArguments([self::CONFIG, null, null]);
        $container->setDefinition('mine', $child)->setPublic(true);
        $container->addCompilerPass(new UseBucketsPass());
        $container->compile();
        return $container;
    }
}
