<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\HttpClient\Tests;

use GuzzleHttp\Client;
use NewUser;
use PHPUnit\Framework\TestCase;

require_once __DIR__ . '/../../../tools/testkit/php/new_user.php';

/** Does what docs/how-to/limit-outbound-requests.md says, with Composer. */
final class InstallTest extends TestCase
{
    private const CLIENT = <<<'PHP'
        <?php
        require 'vendor/autoload.php';
        // here
        $stack = GuzzleHttp\HandlerStack::create();
        $client = new GuzzleHttp\Client(['handler' => $stack, 'http_errors' => false]);
        for ($i = 0; $i < 51; $i++) {
            $statuses[] = $client->get($argv[1])->getStatusCode();
        }
        echo json_encode([array_count_values($statuses), TokenBucket\status()['shared_memory']['granted']]);
        PHP;

    public function testInstallsAndRollsBack(): void
    {
        if (!NewUser::isAble()) {
            self::markTestSkipped('Composer is missing or does not run on this PHP');
        }
        $server = new PeerServer();
        try {
            $version = Client::MAJOR_VERSION === 8 ? '8.3.1' : '7.9.2';
            $user = new NewUser('limit-outbound-requests', ['guzzlehttp/guzzle' => [$version, 'GuzzleHttp/autoload.php']]);
            $user->run('composer require guzzlehttp/guzzle');
            $user->write('client.php', self::CLIENT);
            $run = "php -d error_reporting=8191 client.php $server->url/ok";
            self::assertSame('[{"200":51},0]', $user->run($run));

            $user->run($user->block('sh', 'composer require'));
            [$use, $lines] = explode("\n\n", $user->added('Guzzle\\RateLimit;'), 2);
            $user->replace('client.php', "<?php\n", "<?php\n$use\n");
            $user->replace('client.php', '$client =', "$lines\n\$client =");
            self::assertSame('[{"200":51},51]', $user->run($run));
            [$use, $retry] = explode("\n\n", $user->added('Middleware::retry'), 2);
            $user->replace('client.php', "<?php\n", "<?php\n$use\n");
            $user->replace('client.php', '$stack->push(new RateLimit', "$retry\n\$stack->push(new RateLimit");
            self::assertSame('[{"200":51},51]', $user->run($run));

            $user->write('client.php', self::CLIENT);
            $user->run($user->command('composer remove '));
            self::assertSame('[{"200":51},0]', $user->run($run));
            self::assertSame(4 * 51, $server->requests('/ok'));
        } finally {
            $server->stop();
        }
    }
}
