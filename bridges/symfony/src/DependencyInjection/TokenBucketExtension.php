<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\DependencyInjection;

use Symfony\Component\Config\Definition\Builder\TreeBuilder;
use Symfony\Component\Config\Definition\ConfigurationInterface;
use Symfony\Component\Console\Command\Command;
use Symfony\Component\DependencyInjection\Argument\ServiceClosureArgument;
use Symfony\Component\DependencyInjection\ContainerBuilder;
use Symfony\Component\DependencyInjection\Extension\Extension;
use Symfony\Component\DependencyInjection\Reference;
use TokenBucket\Bridge\Symfony\BucketStorage;
use TokenBucket\Bridge\Symfony\Console\BucketCommand;

/** Reads the configuration under the key "token_bucket". */
final class TokenBucketExtension extends Extension implements ConfigurationInterface
{
    public function getConfigTreeBuilder(): TreeBuilder
    {
        $builder = new TreeBuilder('token_bucket');
        $builder->getRootNode()->children()
            ->scalarNode('dsn')->defaultValue('shared-memory')->cannotBeEmpty()
                ->info('shared-memory, redis://…, rediss://…, unix:///path, or memcached://host:port,host:port')->end()
            ->scalarNode('service')->defaultNull()
                ->info('The id of a service of type TokenBucketStorage, instead of a DSN')->end()
            ->scalarNode('namespace')->defaultNull()
                ->info("Separates applications that share the store. Null is a hash of the project's directory. Not used for a service")->end()
            ->arrayNode('except')->scalarPrototype()->end()
                ->info("The names of limiters that stay Symfony's own")->end()
            ->arrayNode('quotas')->useAttributeAsKey('limiter')->scalarPrototype()
                ->validate()->ifTrue(fn (mixed $start): bool => $start !== null && !is_string($start))
                    ->thenInvalid('The start of a window must be text, such as "2024-01-01 Europe/Berlin", not %s. YAML reads a date without quotes as a number.')->end()
                ->end()
                ->info('Limiters of the policy "fixed_window" whose windows follow the calendar: the start of any window by name, or null for the calendar of UTC')->end()
        ->end();
        return $builder;
    }

    public function getConfiguration(array $config, ContainerBuilder $container): ConfigurationInterface
    {
        return $this;
    }

    public function load(array $configs, ContainerBuilder $container): void
    {
        $config = $this->processConfiguration($this, $configs);
        foreach (['token_bucket.storage' => 'fromDsn', 'token_bucket.operator_storage' => 'forOperator'] as $id => $factory) {
            $storage = $container->register($id, BucketStorage::class);
            if ($config['service'] !== null) {
                $storage->setArguments([new Reference($config['service'])]);
            } else {
                $storage->setFactory([BucketStorage::class, $factory])->setArguments([
                    $config['dsn'],
                    $config['namespace'] ?? substr(md5($container->getParameter('kernel.project_dir')), 0, 12),
                ]);
            }
        }
        if ($config['service'] === null) {
            $container->getDefinition('token_bucket.storage')->setPublic(!self::isKnown($config['dsn'], $container));
        }
        if (class_exists(Command::class)) {
            foreach (BucketCommand::DESCRIPTIONS as $action => $description) {
                // UseBucketsPass adds the limiters.
                $container->register("token_bucket.command.$action", BucketCommand::class)
                    ->setArguments([$action, new ServiceClosureArgument(new Reference('token_bucket.operator_storage')), [], []])
                    ->addTag('console.command', ['command' => "tokenbucket:$action", 'description' => $description]);
            }
        }
        $container->setParameter('token_bucket.except', $config['except']);
        $container->setParameter('token_bucket.quotas', $config['quotas']);
    }

    /** Refuses a wrong DSN. Returns false if it has a value of %env(…)%, which is not known yet. */
    private static function isKnown(#[\SensitiveParameter] string $dsn, ContainerBuilder $container): bool
    {
        $container->resolveEnvPlaceholders($dsn, null, $variables);
        if ($variables !== null && $variables !== []) {
            return false;
        }
        BucketStorage::fromDsn($container->getParameterBag()->resolveValue($dsn), '');
        return true;
    }
}
