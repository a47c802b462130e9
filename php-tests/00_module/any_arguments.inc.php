<?php
/**
 * Calls the functions and methods of the extension with arguments of every kind.
 *
 * Each call must return a value or throw. The values are not checked.
 */
final class AnyArguments
{
    private const THROWN = [
        TypeError::class, ValueError::class, ArgumentCountError::class, Error::class, LogicException::class,
        TokenBucket\StorageException::class, TokenBucket\Exception::class, ErrorException::class, PDOException::class,
    ];

    public int $returned = 0;
    public int $thrown = 0;
    /** @var array<string, true> */
    public array $classes = [];
    private array $subjects = [];

    /** @param Closure(callable, array): mixed $call makes the call in the tested mode */
    public function __construct(private Closure $call, int $seed)
    {
        mt_srand($seed);
    }

    private function storages(): array
    {
        return [
            new TokenBucketStorageMemory(),
            new TokenBucketStorageSharedMemory('any'),
            // Nothing listens on this port.
            new TokenBucketStorageRedis('redis://127.0.0.1:1', timeout: 0.001),
            new TokenBucketStorageMemcached('127.0.0.1:1', onFailure: TokenBucket\OnFailure::Deny),
        ];
    }

    private function value(): mixed
    {
        $storages = $this->storages();
        $storage = $storages[array_rand($storages)];
        $values = [
            null, true, false, 0, 1, -1, 7, PHP_INT_MAX, PHP_INT_MIN, 0.0, -0.0, 0.5, 1e-320, 1e300, NAN, INF, -INF,
            '', '0', '1', '1.5', ' 2', '3 ', 'abc', "a\0b", "\xff\xfe", str_repeat('x', 300), '1e3', 'redis://[::1]:1/3',
            'redis://:geheim@h:99999', 'unix:///nowhere', '127.0.0.1:1?weight=2', [], [1, 2], ['a' => null], [[]],
            new stdClass(), static fn() => true, static fn() => throw new LogicException('thrown by a closure'),
            $storage, new TokenBucket($storage, 'any', 3, 1), [new TokenBucket($storage, 'any', 3, 1)],
            TokenBucket\OnFailure::Local, TokenBucket\OnFailure::Throw, fopen('php://memory', 'r'),
            new class { public function __toString(): string { return 'text'; } },
            new class { public function __toString(): string { throw new LogicException('thrown by text'); } },
        ];
        return $values[array_rand($values)];
    }

    private function arguments(ReflectionFunctionAbstract $function): array
    {
        $count = max(0, $function->getNumberOfParameters() + mt_rand(-2, 1));
        $arguments = [];
        for ($i = 0; $i < $count; $i++) {
            $arguments[] = $this->value();
        }
        // Limits the wait, because random arguments would make the call last for years.
        if ($function->getName() === 'wait' && is_numeric($arguments[0] ?? null) && $arguments[0] > 0.001) {
            $arguments[0] = 0.001;
        } elseif ($function->getName() === 'wait' && ($arguments[0] ?? null) === true) {
            $arguments[0] = 0;
        }
        return $arguments;
    }

    private function try(callable $callable, array $arguments): mixed
    {
        try {
            $result = ($this->call)($callable, $arguments);
            $this->returned++;
            return $result;
        } catch (Throwable $thrown) {
            $this->thrown++;
            foreach (self::THROWN as $class) {
                if ($thrown instanceof $class) {
                    return null;
                }
            }
            echo 'Unexpected: ', get_class($thrown), ': ', $thrown->getMessage(), "\n";
            return null;
        }
    }

    private function subject(ReflectionClass $class): ?object
    {
        $name = $class->getName();
        if ($class->isInterface() || $class->isEnum()) {
            return null;
        }
        if (isset($this->subjects[$name]) && mt_rand(0, 3) !== 0) {
            return $this->subjects[$name];
        }
        $made = $name === 'TokenBucket\Decision'
            ? (new TokenBucket(new TokenBucketStorageMemory(), 'any', 1, 1))->attempt()
            : $this->try(fn(...$arguments) => new $name(...$arguments), $this->arguments($class->getConstructor()));
        if ($made === null && $class->isInstantiable() && !$class->isFinal()) {
            $made = $class->newInstanceWithoutConstructor();
        }
        foreach ($made === null ? $this->storages() : [] as $storage) {
            $made ??= $storage instanceof $name ? $storage : null;
        }
        return $this->subjects[$name] = $made ?? $this->subjects[$name] ?? null;
    }

    public function run(int $rounds): void
    {
        $extension = new ReflectionExtension('tokenbucket');
        for ($round = 0; $round < $rounds; $round++) {
            foreach ($extension->getClasses() as $class) {
                $subject = $this->subject($class);
                foreach ($class->getMethods() as $method) {
                    if ($method->isAbstract() || $method->getName() === '__construct' && $subject === null) {
                        continue;
                    }
                    if ($subject === null && !$method->isStatic()) {
                        continue;
                    }
                    $this->classes[$class->getName()] = true;
                    $closure = $method->getClosure($method->isStatic() ? null : $subject);
                    $this->try($closure, $this->arguments($method));
                }
            }
            foreach ($extension->getFunctions() as $function) {
                $this->try($function->getClosure(), $this->arguments($function));
            }
        }
        ksort($this->classes);
        // Frees cycles, because the arguments may create objects that refer to themselves.
        $this->subjects = [];
        gc_collect_cycles();
    }
}
