<?php

declare(strict_types=1);

namespace Composer;

/** Returns the directory of the project, which a test may change. Debian has no such class. */
final class InstalledVersions
{
    public static string $path = '/srv/one/';

    public static function getRootPackage(): array
    {
        return ['install_path' => self::$path];
    }
}
