<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\DependencyInjection;

use Symfony\Component\DependencyInjection\ChildDefinition;
use Symfony\Component\DependencyInjection\Compiler\CompilerPassInterface;
use Symfony\Component\DependencyInjection\ContainerBuilder;
use Symfony\Component\DependencyInjection\Exception\LogicException;
use Symfony\Component\DependencyInjection\Reference;
use Symfony\Component\RateLimiter\RateLimiterFactory as SymfonyRateLimiterFactory;
use Symfony\Component\RateLimiter\RateLimiterFactoryInterface;
use Symfony\Component\Security\Http\Event\CheckPassportEvent;
use Symfony\Component\Security\Http\Event\LoginFailureEvent;
use Symfony\Component\Security\Http\RateLimiter\DefaultLoginRateLimiter;
use TokenBucket\Bridge\Symfony\BucketStorage;
use TokenBucket\Bridge\Symfony\Console\BucketCommand;
use TokenBucket\Bridge\Symfony\LoginRateLimiter;
use TokenBucket\Bridge\Symfony\PassportListener;
use TokenBucket\Bridge\Symfony\RateLimiterFactory;
use TokenBucketStorageMemory;

/** Gives the buckets' storage to the limiters of FrameworkBundle and SecurityBundle. */
final class UseBucketsPass implements CompilerPassInterface
{
    /**
     * A day on which windows of all periods begin in UTC: the first day of a year, and a Monday.
     */
    private const UTC = '2024-01-01';

    public function process(ContainerBuilder $container): void
    {
        $except = $unknown = $container->getParameter('token_bucket.except');
        $quotas = $container->getParameter('token_bucket.quotas');
        $limiters = $secrets = [];
        self::nameArguments($container);
        self::useInBuilder($container);
        foreach ($container->getDefinitions() as $definition) {
            if ($definition instanceof ChildDefinition && $definition->getParent() === 'limiter') {
                // A limiter of the application may name its arguments, or have parameters in them.
                $arguments = $definition->getArguments();
                $config = $container->getParameterBag()->resolveValue($arguments['index_0'] ?? $arguments['$config'] ?? []);
                $name = $config['id'] ?? '';
                if (in_array($name, $except, true)) {
                    $unknown = array_diff($unknown, [$name]);
                    continue;
                }
                if (array_key_exists($name, $quotas)) {
                    $config = self::withAnchor($config, $quotas[$name] ?? self::UTC);
                    $definition->setArgument('$config', $config);
                    unset($quotas[$name]);
                }
                if (isset($config['anchor_at'])) {
                    self::check($config, $container);
                }
                if ($name !== '') {
                    $limiters[$name] = $config;
                }
                // A bucket needs no lock.
                $definition->setArgument('$storage', new Reference('token_bucket.storage'))->setArgument('$lockFactory', null);
            } elseif ($definition->getClass() === DefaultLoginRateLimiter::class) {
                $definition->setClass(LoginRateLimiter::class);
                $secrets += self::secrets($definition->getArguments());
            }
        }
        foreach ($container->getDefinitions() as $id => $definition) {
            if ($definition instanceof ChildDefinition && $definition->getParent() === 'security.listener.login_throttling') {
                self::listen($container, $id, $definition);
            }
        }
        foreach ($container->getDefinitions() as $definition) {
            if ($definition->getClass() === BucketCommand::class) {
                $definition->replaceArgument(2, $limiters)->replaceArgument(3, $secrets);
            }
        }
        self::refuseUnknown($unknown, $quotas);
    }

    /** Gives the storage to Symfony's service that creates limiters at run time, since 8.2. */
    private static function useInBuilder(ContainerBuilder $container): void
    {
        if ($container->hasDefinition('limiter_builder')) {
            $container->getDefinition('limiter_builder')->replaceArgument(0, new Reference('token_bucket.storage'));
        }
    }

    /**
     * @param array<string> $unknown names of token_bucket.except that no limiter has
     * @param array<string, ?string> $quotas those of token_bucket.quotas that no limiter has
     */
    private static function refuseUnknown(array $unknown, array $quotas): void
    {
        if ($unknown !== []) {
            throw new LogicException(sprintf('The limiter "%s" of token_bucket.except does not exist, or has no bucket.', reset($unknown)));
        }
        if ($quotas !== []) {
            throw new LogicException(sprintf('The limiter "%s" of token_bucket.quotas does not exist, or token_bucket.except has it, too.', array_key_first($quotas)));
        }
    }

    /** Lets arguments of the type RateLimiterFactoryInterface name a limiter, as since 7.3. */
    private static function nameArguments(ContainerBuilder $container): void
    {
        foreach ($container->getAliases() as $id => $alias) {
            [$type, $argument] = explode(' ', $id, 2) + [1 => ''];
            $name = RateLimiterFactoryInterface::class . " $argument";
            if ($type === SymfonyRateLimiterFactory::class && !$container->has($name)) {
                $container->setAlias($name, (string) $alias);
            }
        }
    }

    /** Adds a listener beside one of Symfony, unless the limiter is the application's own. */
    private static function listen(ContainerBuilder $container, string $id, ChildDefinition $symfonys): void
    {
        $limiter = $symfonys->getArgument(1);
        if ($container->findDefinition((string) $limiter)->getClass() !== LoginRateLimiter::class) {
            return;
        }
        $listener = $container->register("token_bucket.$id", PassportListener::class)->setArguments([new Reference('request_stack'), $limiter]);
        foreach ($symfonys->getTag('kernel.event_subscriber') as $tag) {
            // Symfony's own listener of passports has the priority 2080.
            $listener->addTag('kernel.event_listener', $tag + ['event' => CheckPassportEvent::class, 'method' => 'check', 'priority' => 2081]);
            $listener->addTag('kernel.event_listener', $tag + ['event' => LoginFailureEvent::class, 'method' => 'fail']);
        }
    }

    /**
     * Returns the secret by the names of the two limiters, from the arguments of a limiter of
     * logins.
     */
    private static function secrets(array $arguments): array
    {
        $factories = [$arguments[0] ?? $arguments['$globalFactory'] ?? null, $arguments[1] ?? $arguments['$localFactory'] ?? null];
        $secrets = [];
        foreach ($factories as $factory) {
            if ($factory instanceof Reference) {
                // Symfony names the service of a limiter "limiter.NAME".
                $secrets[preg_replace('/^limiter\./', '', (string) $factory)] = $arguments[2] ?? $arguments['$secret'] ?? '';
            }
        }
        return $secrets;
    }

    /** Returns the configuration of a limiter whose windows follow the calendar. */
    private static function withAnchor(array $config, string $anchor): array
    {
        $policy = $config['policy'] ?? '';
        if ($policy !== 'fixed_window' || isset($config['anchor_at'])) {
            $reason = $policy === 'fixed_window' ? 'it has the option "anchor_at"' : "its policy is \"$policy\", not \"fixed_window\"";
            throw new LogicException(sprintf('The limiter "%s" cannot be one of token_bucket.quotas: %s.', $config['id'], $reason));
        }
        return ['anchor_at' => $anchor] + $config;
    }

    /**
     * Refuses windows that a quota cannot have. Values of %env(…)% are not known yet, so they are
     * not checked.
     */
    private static function check(array $config, ContainerBuilder $container): void
    {
        $container->resolveEnvPlaceholders($config, null, $variables);
        if ($variables !== null && $variables !== []) {
            return;
        }
        try {
            (new RateLimiterFactory($config, new BucketStorage(new TokenBucketStorageMemory())))->create();
        } catch (\LogicException|\ValueError $e) {
            throw new LogicException(sprintf('The limiter "%s" of framework.rate_limiter cannot be a quota: %s Change it, or add it to token_bucket.except.', $config['id'], $e->getMessage()), 0, $e);
        }
    }
}
