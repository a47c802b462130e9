<?php

declare(strict_types=1);

use PHPUnit\Framework\TestCase;

require_once __DIR__ . '/../../../tools/testkit/php/new_user.php';

/** Does what docs/how-to/yii.md says, with Composer. */
final class InstallTest extends TestCase
{
    // Does with the configuration what the container of Yii3 does.
    private const REQUESTS = <<<'SH'
        php -r '
            require "vendor/autoload.php";
            $definitions = require "config/rate-limiter.php";
            $counter = $definitions[Yiisoft\Yii\RateLimiter\CounterInterface::class];
            $counter = new $counter["class"](new $definitions[TokenBucketStorage::class](), ...$counter["__construct()"]);
            for ($i = 0; $i < 101; $i++) {
                $reached[] = $counter->hit("a")->isLimitReached();
            }
            echo json_encode(array_keys($reached, true));'
        SH;

    public function testInstallsAndRollsBack(): void
    {
        if (!NewUser::isAble()) {
            $this->markTestSkipped('Composer is missing or does not run on this PHP');
        }
        $user = new NewUser('yii', ['yiisoft/rate-limiter' => ['3.0.0', __DIR__ . '/yii.php']]);
        $user->run('composer require yiisoft/rate-limiter');
        $user->run($user->block('sh', 'composer require'));
        $user->write('config/rate-limiter.php', "<?php\nreturn [\n" . $user->added('CounterInterface') . "];\n");
        $this->assertSame('[100]', $user->run(self::REQUESTS));
        $user->run($user->command('composer remove '));
        $this->assertDirectoryDoesNotExist("$user->folder/vendor/tokenbucket");
    }
}
