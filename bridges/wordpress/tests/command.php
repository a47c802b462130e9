<?php
/**
 * Runs a command of the plugin as WP-CLI does, which Debian does not have:
 *
 *     command.php WORDPRESS SUBCOMMAND [ARGUMENT | --all]
 */
namespace {
    define('WP_CLI', true);

    final class WP_CLI
    {
        public static object $command;

        public static function add_command(string $name, object $command): void
        {
            self::$command = $command;
        }

        public static function success(string $message): void
        {
            echo "Success: $message\n";
        }

        public static function error(string $message): never
        {
            echo "Error: $message\n";
            exit(1);
        }
    }
}

namespace WP_CLI\Utils {
    function format_items(string $format, array $items, array $fields): void
    {
        foreach ($items as $item) {
            echo implode("\t", array_map(fn ($field) => $item[$field], $fields)), "\n";
        }
    }
}

namespace {
    $_SERVER['HTTP_HOST'] = 'localhost';
    [, $wordpress, $subcommand] = $argv;
    require "$wordpress/wp-load.php";
    $arguments = array_slice($argv, 3);
    WP_CLI::$command->$subcommand(array_diff($arguments, ['--all']), in_array('--all', $arguments, true) ? ['all' => true] : []);
}
