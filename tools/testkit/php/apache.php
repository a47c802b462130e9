<?php
require_once __DIR__ . '/check.php';
require_once __DIR__ . '/fpm.php';
require_once __DIR__ . '/php_cgi.php';
require_once __DIR__ . '/server_process.php';
require_once __DIR__ . '/wait_for.php';

/**
 * An Apache with prefork that runs PHP scripts in its children (mod_php), as CGI, or in processes
 * of mod_fcgid.
 *
 * PHP has the settings of the php that runs the test.
 */
final class Apache extends ServerProcess
{
    protected const PLACES = 2;
    private const MODULES = '/usr/lib/apache2/modules';

    /** The generations of the processes before a restart. */
    private int $earlier = 0;

    /**
     * @param array<string, string|int> $directives directives of Apache, instead of the defaults
     * @param array<string, string> $ini settings, added to those of the test
     * @param ?string $root the folder of the scripts, or null for a new one
     * @param bool $fcgid true for mod_fcgid, which starts processes of php-cgi as it needs them
     */
    public function __construct(
        private readonly bool $cgi = false,
        private readonly array $directives = [],
        private readonly array $ini = [],
        private readonly ?string $root = null,
        private readonly bool $fcgid = false,
    ) {
        parent::__construct(true, '');
    }

    /** Reports whether Apache and both kinds of PHP are installed, for this build of PHP. */
    public static function is_installed(): bool
    {
        return !PHP_DEBUG && !PHP_ZTS && is_executable('/usr/sbin/apache2') && is_file(MOD_PHP) && is_executable(PHP_CGI_PATH);
    }

    /** Adds a script, and returns its path in URLs. */
    public function script(string $name, string $code): string
    {
        file_put_contents("$this->folder/$name.php", $code);
        chmod("$this->folder/$name.php", 0644);
        return "/$name.php";
    }

    /** Returns the output of the script, or null if its process died. */
    public function get(string $script, array $query = []): ?string
    {
        $context = stream_context_create(['http' => ['timeout' => 30, 'ignore_errors' => true]]);
        $url = "http://127.0.0.1:$this->port$script?" . http_build_query($query);
        $output = @file_get_contents($url, false, $context);
        return $output === false ? null : $output;
    }

    /** Reloads the configuration and PHP. Returns when all children have been replaced. */
    public function graceful(): void
    {
        // A suspended parent starts no child that this list would lack.
        $this->signal('STOP');
        $old = array_map(fn (int $child) => [$child, start_of_process($child)], $this->workers());
        $before = $this->generations();
        $this->signal('USR1');
        $this->signal('CONT');
        $lives = fn (array $child) => start_of_process($child[0]) === $child[1];
        wait_for('Apache has reloaded', fn () => $this->generations() > $before && array_filter($old, $lives) === [] && $this->workers() !== []);
    }

    /** Returns the number of times that Apache has read its configuration and started to serve. */
    private function generations(): int
    {
        return substr_count((string) @file_get_contents("$this->folder/errors.log"), 'resuming normal operations');
    }

    /** @return list<int> the children */
    public function workers(): array
    {
        return Fpm::children($this->pid);
    }

    public function log(): string
    {
        return file_get_contents("$this->folder/log") . @file_get_contents("$this->folder/errors.log");
    }

    protected function arguments(int $port): array
    {
        write_php_cgi($this->folder, $this->ini);
        file_put_contents(($this->root ?? $this->folder) . '/ping', $this->folder);
        file_put_contents("$this->folder/apache.conf", $this->configuration($port));
        $this->earlier = $this->generations();
        return ['env', 'PHP_INI_SCAN_DIR=', ...WITH_LIBRARIES, '/usr/sbin/apache2', '-DFOREGROUND', '-f', "$this->folder/apache.conf"];
    }

    protected function answers(int $port): bool
    {
        $context = stream_context_create(['http' => ['timeout' => 5]]);
        return @file_get_contents("http://127.0.0.1:$port/ping", false, $context) === $this->folder && $this->generations() > $this->earlier;
    }

    private function configuration(int $port): string
    {
        [$modules, $how] = match (true) {
            $this->fcgid => [['fcgid'], "SetHandler fcgid-script\nOptions +ExecCGI\nFcgidWrapper $this->folder/php-cgi .php"],
            $this->cgi => [['alias', 'actions', 'cgi'], 'SetHandler php-script'],
            default => [[], 'SetHandler application/x-httpd-php'],
        };
        $text = $this->cgi || $this->fcgid ? '' : 'LoadModule php_module ' . MOD_PHP . "\nPHPIniDir $this->folder\n";
        foreach (['mpm_prefork', 'authz_core', ...$modules] as $module) {
            $text .= "LoadModule {$module}_module " . self::MODULES . "/mod_$module.so\n";
        }
        $directives = $this->directives + [
            'ServerRoot' => $this->folder,
            'ServerName' => 'localhost',
            'DefaultRuntimeDir' => $this->folder,
            'PidFile' => "$this->folder/apache.pid",
            'Mutex' => "file:$this->folder default",
            'ErrorLog' => "$this->folder/errors.log",
            'DocumentRoot' => $this->root ?? $this->folder,
            'Listen' => "127.0.0.1:$port",
            'KeepAlive' => 'Off',
            'StartServers' => 4,
            'MinSpareServers' => 1,
            'MaxSpareServers' => 8,
            'MaxRequestWorkers' => 4,
            ...$this->fcgid ? ['FcgidIPCDir' => "$this->folder/fcgid", 'FcgidProcessTableFile' => "$this->folder/fcgid_shm"] : [],
        ];
        foreach ($directives as $name => $value) {
            $text .= "$name $value\n";
        }
        return $text . ($this->cgi ? "ScriptAlias /php-cgi $this->folder/php-cgi\nAction php-script /php-cgi\n" : '')
            . '<FilesMatch "\.php$">' . "\n$how\n</FilesMatch>\n";
    }
}
