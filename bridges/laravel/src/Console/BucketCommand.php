<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel\Console;

use Closure;
use Illuminate\Cache\RateLimiter as LaravelRateLimiter;
use Illuminate\Contracts\Auth\Authenticatable;
use Symfony\Component\Console\Input\InputArgument;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Input\InputOption;
use Symfony\Component\Console\Output\OutputInterface;
use Throwable;
use TokenBucket;
use TokenBucket\Bridge\Laravel\Buckets;
use TokenBucket\Bridge\Laravel\RateLimiter;

/** Shows, fills or blocks the buckets that a limiter has for a client. */
final class BucketCommand extends OperatorCommand
{
    /** The actions, which are the ends of the commands' names. */
    public const DESCRIPTIONS = [
        'peek' => "Prints the state of a client's buckets and takes nothing",
        'reset' => "Fills a client's buckets, which also ends a block",
        'block' => 'Denies all calls of a client for some seconds',
    ];
    /** The name of the facade, for keys that are passed to it. */
    private const FACADE = 'RateLimiter';
    /** Numbers of the middleware "throttle", such as "60,1" or "10|60,1,prefix". */
    private const NUMBERS = '/^\d+(\|\d+)?,[\d.]+(,.*)?$/s';

    /**
     * @param string $action a key of DESCRIPTIONS
     * @param LaravelRateLimiter $limiter has the named limiters of the application
     * @param Buckets $buckets over a storage that throws if the store fails
     * @param Closure(string): ?Authenticatable $user returns the user with an id
     */
    public function __construct(
        private readonly string $action,
        private readonly LaravelRateLimiter $limiter,
        private readonly Buckets $buckets,
        private readonly Closure $user,
    ) {
        parent::__construct("tokenbucket:$action");
    }

    protected function configure(): void
    {
        parent::configure();
        $this->setDescription(self::DESCRIPTIONS[$this->action])
            ->addArgument('limiter', InputArgument::REQUIRED, 'The name of a limiter, the numbers of "throttle" such as 60,1, or "RateLimiter" for keys of the facade')
            ->addArgument('key', InputArgument::REQUIRED, 'The address of the client, the id of a user, or the value of --field')
            ->addOption('field', null, InputOption::VALUE_REQUIRED, 'The input or header of the request that has the key')
            ->addOption('ip', null, InputOption::VALUE_REQUIRED, 'The address of the client, if the key is another value')
            ->addOption('capacity', null, InputOption::VALUE_REQUIRED, 'The tokens that the bucket of a limit holds, to choose one of several limits');
        if ($this->action === 'block') {
            $this->addArgument('seconds', InputArgument::REQUIRED);
        }
    }

    protected function execute(InputInterface $input, OutputInterface $output): int
    {
        $key = $input->getArgument('key');
        $seconds = $this->action === 'block' ? self::seconds($input->getArgument('seconds')) : 0.0;
        $buckets = $this->buckets($input->getArgument('limiter'), $key, $input);
        if ($this->buckets->areInSharedMemory()) {
            self::requireSharedMemory();
        }
        foreach ($buckets as $bucket) {
            self::act($this->action, $bucket, $seconds);
            self::show($input, $output, $key, $bucket->peek());
        }
        return self::SUCCESS;
    }

    /** @return non-empty-list<TokenBucket> */
    private function buckets(string $name, string $key, InputInterface $input): array
    {
        if (!$this->limiter instanceof RateLimiter) {
            throw new Failure('the application has a limiter of its own, without buckets', 2);
        }
        $isNamed = $this->limiter->limiter($name) !== null;
        if (!$isNamed && $name === self::FACADE) {
            $bucket = $this->limiter->withBuckets($this->buckets)->bucket($key);
            return [$bucket ?? throw new Failure("no bucket is known for the key $key; declare its attempts and seconds in tokenbucket.limits", 2)];
        }
        if (!$isNamed && !preg_match(self::NUMBERS, $name)) {
            throw new Failure("no limiter has the name $name", 2);
        }
        $client = $this->client($key, $input->getOption('field'), $input->getOption('ip'));
        $limits = $this->limits($client, $name, $isNamed ? [$name] : explode(',', $name, 3), $input->getOption('capacity'));
        if ($limits === []) {
            throw new Failure("no limit of $name depends on $key", 2);
        }
        return array_map(fn (object $limit) => $this->buckets->ofLimit($limit, false), array_values($limits));
    }

    private function client(string $key, ?string $field, ?string $address): Client
    {
        $isUser = $field === null && !Client::isAddress($key);
        $user = $isUser ? ($this->user)($key) : null;
        if ($isUser && $user === null) {
            throw new Failure("no user has the id $key; name the input or header of other keys with --field", 2);
        }
        return new Client($key, $user, $field, $address);
    }

    /**
     * Returns the limits of a client, except those that it shares with another client.
     *
     * @param list<string> $parameters of the middleware
     * @param ?string $capacity of the limits, if the operator has chosen one
     * @return array<object>
     * @throws Failure if a limit may be that of all clients, and the action changes buckets
     */
    private function limits(Client $client, string $name, array $parameters, ?string $capacity): array
    {
        try {
            $all = (new ClientLimits($this->limiter))->of($client->request(), $parameters);
        } catch (Throwable $e) {
            throw new Failure("the limiter $name needs another request: {$e->getMessage()}", 1);
        }
        $others = $this->limitsOfAnother($client, $parameters);
        $limits = array_filter($all, fn (object $limit): bool => in_array($capacity, [null, self::capacity($limit)], true));
        if ($limits === [] && $capacity !== null) {
            throw new Failure("no limit of $name has the capacity $capacity", 2);
        }
        // If the other client has other limits, it may lack one that all known clients share.
        $isComparable = array_map(self::capacity(...), $others) === array_map(self::capacity(...), $all);
        if (count($limits) > 1 && !$isComparable && $this->action !== 'peek') {
            $choices = implode(' or ', array_map(fn (object $limit): string => '--capacity=' . self::capacity($limit), $limits));
            throw new Failure("the limiter $name has no such limits for an unknown client, so some may be those of all clients; choose one with $choices", 1);
        }
        $shared = array_column($others, 'key');
        return array_filter($limits, fn (object $limit): bool => !in_array($limit->key, $shared, true));
    }

    /** Returns the tokens that the bucket of a limit holds. */
    private static function capacity(object $limit): string
    {
        return (string) max(1, (int) $limit->maxAttempts);
    }

    /** @return array<object> the limits of a client whom the operator has not named */
    private function limitsOfAnother(Client $client, array $parameters): array
    {
        try {
            return (new ClientLimits($this->limiter))->of($client->another()->request(), $parameters);
        } catch (Throwable) {
            // The limiter looks its clients up, or needs a user of this application.
            return [];
        }
    }
}
