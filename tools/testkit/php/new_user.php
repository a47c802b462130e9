<?php
/**
 * A user who has an application of examples/ without the bridge, and does what a page of
 * docs/how-to says.
 *
 * Composer installs the framework from folders, whose autoloaders include those of Debian. Composer
 * uses no network.
 */
final class NewUser
{
    private const COMPOSER = '/usr/bin/composer';

    public readonly string $folder;
    private readonly string $page;

    /**
     * @param string $name of the application and of the page
     * @param array<string, array{0: string, 1: ?string, 2?: list<string>, 3?: string}> $packages by
     *     name: the version, the autoloader, the packages that are part of it, and the folder of
     *     the namespace Illuminate
     */
    public function __construct(string $name, array $packages)
    {
        $root = dirname(__DIR__, 3);
        $this->page = strtr(file_get_contents("$root/docs/how-to/$name.md"), ['/path/to/tokenbucket' => $root]);
        $this->folder = sys_get_temp_dir() . '/tokenbucket-user-' . getmypid() . '-' . bin2hex(random_bytes(4));
        mkdir($this->folder);
        register_shutdown_function(fn () => exec('rm -rf ' . escapeshellarg($this->folder)));
        if (is_dir("$root/examples/$name")) {
            exec('cp -r ' . escapeshellarg("$root/examples/$name") . '/. ' . escapeshellarg($this->folder));
        }
        foreach ($packages as $package => [$version, $autoloader]) {
            $this->write("debian/$package/composer.json", json_encode([
                'name' => $package,
                'version' => $version,
                'autoload' => ['files' => ['autoload.php'], 'psr-4' => (object) (isset($packages[$package][3]) ? ['Illuminate\\' => 'src/'] : [])],
                'replace' => (object) array_fill_keys($packages[$package][2] ?? [], 'self.version'),
            ]));
            $this->write("debian/$package/autoload.php", $autoloader === null ? '' : "<?php require_once '$autoloader';");
            // Composer runs scripts before it includes the autoloader, so it must find the classes
            // itself.
            isset($packages[$package][3]) && symlink($packages[$package][3], "$this->folder/debian/$package/src");
        }
        $this->installPrograms();
        $composer = json_decode((string) @file_get_contents("$this->folder/composer.json"), true) ?: ['name' => 'new/user'];
        $composer['require'] = (object) array_filter($composer['require'] ?? [], fn (string $name) => !str_starts_with($name, 'tokenbucket/'), ARRAY_FILTER_USE_KEY);
        $composer['repositories'] = ['packagist.org' => false, 'debian' => ['type' => 'path', 'url' => 'debian/*/*']];
        $this->write('composer.json', json_encode($composer, JSON_PRETTY_PRINT | JSON_UNESCAPED_SLASHES));
        $this->run('composer update');
    }

    /** Reports whether Composer is installed and runs on this PHP. */
    public static function isAble(): bool
    {
        // Composer 2.5 of Debian 12 does not run on PHP 8.4.
        return PHP_VERSION_ID < 80400 && is_file(self::COMPOSER);
    }

    /** Returns a block of code of the page: the first one in a language that contains a text. */
    public function block(string $language, string $text = ''): string
    {
        preg_match_all('/^( *)```(\w+)\n(.*?)^ *```$/ms', $this->page, $blocks, PREG_SET_ORDER);
        foreach ($blocks as [, $indent, $its, $code]) {
            if ($its === $language && str_contains($code, $text)) {
                return preg_replace("/^$indent/m", '', $code);
            }
        }
        throw new RuntimeException("The page has no $language block with \"$text\"");
    }

    /** Returns the lines that a diff of the page adds. */
    public function added(string $text = ''): string
    {
        return implode("\n", preg_replace('/^\+/', '', preg_grep('/^\+/', explode("\n", $this->block('diff', $text))))) . "\n";
    }

    /** Returns a command of the page's text. */
    public function command(string $start): string
    {
        preg_match('/`(' . preg_quote($start, '/') . '[^`]*)`/', strtr($this->page, ["\n" => ' ']), $found)
            || throw new RuntimeException("The page does not say \"$start\"");
        return $found[1];
    }

    public function write(string $file, string $content): void
    {
        is_dir(dirname("$this->folder/$file")) || mkdir(dirname("$this->folder/$file"), 0777, true);
        file_put_contents("$this->folder/$file", $content);
    }

    /** Changes a file by replacing a text, which must be in it. */
    public function replace(string $file, string $old, string $new): void
    {
        $content = file_get_contents("$this->folder/$file");
        str_contains($content, $old) || throw new RuntimeException("$file does not contain \"$old\"");
        $this->write($file, str_replace($old, $new, $content));
    }

    /** Runs commands in the application's folder, and returns what they print. */
    public function run(string $commands): string
    {
        $environment = [
            'PATH' => "$this->folder/bin:" . getenv('PATH'),
            'PHPRC' => "$this->folder/bin",
            'PHP_INI_SCAN_DIR' => "$this->folder/none",
            'COMPOSER_HOME' => "$this->folder/.composer",
            'COMPOSER_DISABLE_NETWORK' => '1',
            'COMPOSER_ALLOW_SUPERUSER' => '1',
        ];
        $streams = [['file', '/dev/null', 'r'], ['pipe', 'w'], ['file', "$this->folder/errors", 'w']];
        $process = proc_open(['bash', '-e', '-c', $commands], $streams, $pipes, $this->folder, $environment + getenv());
        $output = stream_get_contents($pipes[1]);
        if (proc_close($process) !== 0) {
            throw new RuntimeException("$commands\n$output" . file_get_contents("$this->folder/errors"));
        }
        return $output;
    }

    /** Installs php and composer with the settings of this process. Composer's scripts use them. */
    private function installPrograms(): void
    {
        $settings = 'include_path = "' . get_include_path() . "\"\n";
        foreach (['mbstring', 'tokenizer', 'ctype', 'iconv', 'phar', 'dom', 'xml'] as $extension) {
            $file = getenv('PHP_EXTENSIONS') . "/$extension.so";
            $settings .= is_file($file) ? "extension = \"$file\"\n" : '';
        }
        // The tests of the polyfill have a user without the extension.
        $module = (string) getenv('TOKENBUCKET');
        $this->write('bin/php.ini', $settings . ($module === '' ? '' : "extension = \"$module\"\n"));
        $this->write('bin/php', "#!/bin/sh\nexec " . escapeshellarg(getenv('PHP')) . ' "$@"');
        $this->write('bin/composer', "#!/bin/sh\nexec php " . self::COMPOSER . ' --no-interaction --quiet "$@"');
        chmod("$this->folder/bin/php", 0755);
        chmod("$this->folder/bin/composer", 0755);
    }
}
