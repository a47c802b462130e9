<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Console;

use Symfony\Component\Console\Input\InputArgument;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Output\OutputInterface;
use TokenBucket;
use TokenBucket\Bridge\Symfony\BucketLimiter;
use TokenBucket\Bridge\Symfony\BucketStorage;
use TokenBucket\Bridge\Symfony\LoginRateLimiter;
use TokenBucket\Bridge\Symfony\RateLimiterFactory;
use TokenBucketStorageSharedMemory;

/** Shows, fills or blocks the bucket that a configured limiter has for a key. */
final class BucketCommand extends OperatorCommand
{
    /** The actions, which are the ends of the commands' names. */
    public const DESCRIPTIONS = [
        'peek' => 'Prints the state of a bucket and takes nothing',
        'reset' => 'Fills a bucket, which also ends a block',
        'block' => 'Denies all calls of a client for some seconds',
    ];

    /**
     * @param string $action a key of DESCRIPTIONS
     * @param \Closure(): BucketStorage $storage is called when the command runs
     * @param array<string, array> $limiters the configurations of the limiters by name
     * @param array<string, string> $secrets with which the limiters of logins hash their keys, by name
     */
    public function __construct(
        private readonly string $action,
        private readonly \Closure $storage,
        private readonly array $limiters,
        #[\SensitiveParameter] private readonly array $secrets,
    ) {
        parent::__construct("tokenbucket:$action");
    }

    protected function configure(): void
    {
        parent::configure();
        $blocks = $this->action === 'block';
        $this->setDescription(self::DESCRIPTIONS[$this->action])
            ->addArgument('limiter', InputArgument::REQUIRED, 'The name of a limiter of framework.rate_limiter, or _login_local_FIREWALL or _login_global_FIREWALL')
            ->addArgument('key', $blocks ? InputArgument::REQUIRED : InputArgument::OPTIONAL, 'The argument of create(). For logins: NAME-ADDRESS or ADDRESS', $blocks ? null : '');
        if ($blocks) {
            $this->addArgument('seconds', InputArgument::REQUIRED);
        }
    }

    protected function execute(InputInterface $input, OutputInterface $output): int
    {
        $key = $input->getArgument('key');
        $seconds = $this->action === 'block' ? self::seconds($input->getArgument('seconds')) : 0.0;
        $storage = ($this->storage)();
        $bucket = $this->bucket($storage, $input->getArgument('limiter'), $key);
        if ($storage->storage instanceof TokenBucketStorageSharedMemory) {
            self::requireSharedMemory();
        }
        self::act($this->action, $bucket, $seconds);
        self::show($input, $output, $key, $bucket->peek());
        return self::SUCCESS;
    }

    private function bucket(BucketStorage $storage, string $name, string $key): TokenBucket
    {
        $config = $this->limiters[$name] ?? throw new Failure("no limiter with buckets has the name $name; the names are " . implode(', ', array_keys($this->limiters)), 2);
        if (isset($this->secrets[$name])) {
            // As in a request, only the name is in lowercase. It ends at the last "-", because no
            // address has one.
            $user = substr($key, 0, (int) strrpos($key, '-'));
            $key = LoginRateLimiter::hash(LoginRateLimiter::lowercase($user) . substr($key, strlen($user)), $this->secrets[$name]);
        }
        $limiter = (new RateLimiterFactory($config, $storage))->create($key);
        return $limiter instanceof BucketLimiter ? $limiter->bucket : throw new Failure("the limiter $name limits nothing", 2);
    }
}
