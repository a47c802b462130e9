<?php

declare(strict_types=1);

namespace Composer;

/** Answers FrameworkBundle, which asks Composer for packages. Debian has no such class. */
final class InstalledVersions
{
    public static function isInstalled(string $package, bool $includeDev = true): bool
    {
        return $package !== 'symfony/symfony';
    }

    public static function getRootPackage(): array
    {
        return ['name' => 'tokenbucket/tests'];
    }
}
