<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

use Composer\InstalledVersions;

/**
 * The settings. Code sets the properties before the first bucket is used. A property that is null
 * has the value of php.ini.
 */
final class Settings
{
    public const VERSION = '0.1.0';

    /** The folder of the file with all buckets. In php.ini: tokenbucket.polyfill_folder. */
    public static ?string $folder = null;

    /**
     * True if storages of servers and databases may use local buckets. Hosts then admit up to the
     * number of hosts times the limit. In php.ini: tokenbucket.polyfill_local_buckets.
     */
    public static ?bool $localBuckets = null;

    private static ?string $default = null;

    public static function folder(): string
    {
        return self::$folder ?? self::ini('tokenbucket.polyfill_folder')
            ?? self::$default ??= Folder::ofUser(sys_get_temp_dir() . '/tokenbucket-' . Process::user());
    }

    public static function localBuckets(): bool
    {
        return self::$localBuckets ?? (bool) self::ini('tokenbucket.polyfill_local_buckets');
    }

    /** The extension's setting: the outer namespace of shared memory. */
    public static function namespace(): string
    {
        return self::ini('tokenbucket.namespace') ?? '';
    }

    /**
     * The name of the file. Each application that installs the package has a file of its own, also
     * if their vendor folders have a link to one package, and another one for each layout.
     */
    public static function file(): string
    {
        $application = class_exists(InstalledVersions::class) ? InstalledVersions::getRootPackage()['install_path'] : '';
        $application = function_exists('realpath') ? realpath($application) : $application;
        return 'buckets-' . substr(hash('sha256', Header::MAGIC . __DIR__ . $application), 0, 16);
    }

    /** ini_get() does not know settings that no extension registers. */
    private static function ini(string $name): ?string
    {
        $value = get_cfg_var($name);
        return is_string($value) && $value !== '' ? $value : null;
    }
}
