<?php

declare(strict_types=1);

/**
 * Copies the example application to a folder and makes its vendor folder, as composer would.
 *
 * The framework comes from the include path, where scripts/setup bridges unpacks it.
 */
function install_application(string $folder): void
{
    $root = dirname(__DIR__, 3);
    $example = "$root/examples/laravel";
    foreach (['bootstrap/cache', 'storage/framework/cache', 'storage/framework/views', 'vendor/composer', 'resources/views'] as $name) {
        mkdir("$folder/$name", 0777, true);
        chmod("$folder/$name", 0777);
    }
    foreach (glob("$example/*/*.php") as $file) {
        $copy = $folder . substr($file, strlen($example));
        is_dir(dirname($copy)) || mkdir(dirname($copy));
        copy($file, $copy);
    }
    foreach (['artisan', 'composer.json'] as $name) {
        copy("$example/$name", "$folder/$name");
    }
    $bridge = json_decode(file_get_contents(dirname(__DIR__) . '/composer.json'), true);
    file_put_contents("$folder/vendor/composer/installed.json", json_encode(['packages' => [$bridge + ['version' => 'dev-main', 'install-path' => '../tokenbucket/laravel']]]));
    // Copies the bridge, because the workers may not be allowed to read this repository.
    foreach (['src', 'src/Console', 'config'] as $name) {
        mkdir("$folder/vendor/tokenbucket/laravel/$name", 0777, true);
        foreach (glob(dirname(__DIR__) . "/$name/*.php") as $file) {
            copy($file, "$folder/vendor/tokenbucket/laravel/$name/" . basename($file));
        }
    }
    file_put_contents("$folder/vendor/autoload.php", <<<'PHP'
        <?php
        require_once 'Illuminate/autoload.php';
        spl_autoload_register(function (string $class): void {
            foreach (['TokenBucket\\Bridge\\Laravel\\' => __DIR__ . '/tokenbucket/laravel/src/', 'App\\' => __DIR__ . '/../app/'] as $prefix => $folder) {
                if (str_starts_with($class, $prefix)) {
                    require $folder . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
                }
            }
        });
        PHP);
}
