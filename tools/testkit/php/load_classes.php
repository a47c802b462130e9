<?php
/**
 * Loads classes from files, as Composer does by PSR-4.
 *
 * @param array<string, string> $folders by the starts of the classes' names. The first one counts
 */
function load_classes(array $folders): void
{
    spl_autoload_register(static function (string $class) use ($folders): void {
        foreach ($folders as $start => $folder) {
            if (str_starts_with($class, $start)) {
                $file = "$folder/" . strtr(substr($class, strlen($start)), '\\', '/') . '.php';
                is_file($file) && require $file;
                return;
            }
        }
    });
}
