<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Tests;

use Load;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

require_once __DIR__ . '/../../../testkit/php/cost.php';
require_once __DIR__ . '/../../../testkit/php/examples.php';

/** Compares the requests a second with a limit of the bridge, with Symfony's, and without one. */
#[Group('cost')]
final class CostTest extends TestCase
{
    public function testTheBridgeCostsLittle(): void
    {
        $folder = sys_get_temp_dir() . '/tokenbucket-symfony-cost-' . getmypid() . '-' . bin2hex(random_bytes(4));
        mkdir($folder);
        chmod($folder, 0755);
        $root = dirname(__DIR__, 3);
        file_put_contents("$folder/composer.json", json_encode(['autoload' => ['psr-4' => [
            'App\\' => "$root/examples/symfony/src",
            'TokenBucket\\Bridge\\Symfony\\' => "$root/bridges/symfony/src",
        ]]]));
        optimize_autoloader($folder, 'Symfony/Bundle/FrameworkBundle/autoload.php');
        // Without the bridge, the environment "plain" keeps the classes of Symfony.
        $require = fn (string $file): string => 'require ' . var_export($file, true) . ";\n";
        file_put_contents("$folder/autoload.php", "<?php\n" . $require(__DIR__ . '/installed_versions.php') . $require("$folder/vendor/autoload.php")
            . 'if ($_SERVER["APP_ENV"] !== "plain") ' . $require("$root/bridges/symfony/src/replace_classes.php"));
        $server = new ExampleServer(['APP_AUTOLOAD' => "$folder/autoload.php", 'SEARCH_LIMIT' => '1000000000']);
        try {
            $load = new Load($server->fpm, $server->nginx->port);
            self::assertNull(cost_error($load, ['none' => '/unlimited?key=a', 'bridge' => '/prod?key=a', 'own' => '/plain?key=a']));
        } finally {
            $server->stop();
            exec('rm -rf ' . escapeshellarg($folder));
        }
    }
}
