<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\HttpClient\Tests;

use PHPUnit\Framework\TestCase;
use Symfony\Bundle\FrameworkBundle\FrameworkBundle;
use Symfony\Bundle\FrameworkBundle\Kernel\MicroKernelTrait;
use Symfony\Component\DependencyInjection\Loader\Configurator\ContainerConfigurator;
use Symfony\Component\HttpKernel\Kernel;
use TokenBucket\Bridge\HttpClient\Symfony\DeniedException;

/** Tests the service that docs/how-to/limit-outbound-requests.md shows, below Symfony's retries. */
final class KernelTest extends TestCase
{
    public function testEachRetryOfTheFrameworkTakesAToken(): void
    {
        if (Kernel::MAJOR_VERSION < 6) {
            self::markTestSkipped('The responses of Symfony 5.4 cannot be extended');
        }
        $page = file_get_contents(dirname(__DIR__, 3) . '/docs/how-to/limit-outbound-requests.md');
        preg_match('/```yaml\n(.*?)```/s', $page, $yaml);
        preg_match('/```diff\n(\+namespace App;.*?)```/s', $page, $php);
        eval(str_replace("'api.example' =>", "'127.0.0.1' =>", preg_replace('/^\+/m', '', $php[1])));
        $server = new PeerServer();
        $kernel = new class($yaml[1]) extends Kernel {
            use MicroKernelTrait;

            public readonly string $folder;

            public function __construct(private readonly string $services)
            {
                $this->folder = sys_get_temp_dir() . '/tokenbucket-http-kernel-' . getmypid();
                mkdir($this->folder);
                file_put_contents("$this->folder/services.yaml", $services);
                parent::__construct('test', false);
            }

            public function registerBundles(): iterable
            {
                return [new FrameworkBundle()];
            }

            public function getProjectDir(): string
            {
                return $this->folder;
            }

            private function configureContainer(ContainerConfigurator $container): void
            {
                $container->import("$this->folder/services.yaml");
                $container->extension('framework', [
                    'secret' => 'for tests',
                    'http_method_override' => false,
                    'router' => ['resource' => 'nowhere', 'utf8' => true],
                    'http_client' => ['default_options' => ['retry_failed' => ['max_retries' => 4, 'delay' => 0]]],
                ]);
                $container->services()->alias('client', 'http_client')->public();
            }
        };
        try {
            $kernel->boot();
            $client = $kernel->getContainer()->get('client');
            $granted = \TokenBucket\status()['shared_memory']['granted'];
            self::assertSame(200, $client->request('GET', "$server->url/flaky?times=3")->getStatusCode());
            self::assertSame(4, $server->requests('/flaky'));
            self::assertSame($granted + 4, \TokenBucket\status()['shared_memory']['granted']);
            self::assertSame(46.0, (new \App\Peers())('GET', "$server->url/ok", [])->peek()->remaining);
            self::assertNull((new \App\Peers())('GET', 'https://other.example/', []));
        } finally {
            $kernel->shutdown();
            restore_exception_handler();
            $server->stop();
            exec('rm -rf ' . escapeshellarg($kernel->folder));
        }
    }
}
