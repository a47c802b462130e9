<?php
require_once __DIR__ . '/server_process.php';

/** A database server on a Unix socket, with new data in its own folder. */
abstract class SqlServer extends ServerProcess
{
    /** @param list<string> $options as on its command line */
    final private function __construct(protected readonly array $options)
    {
        parent::__construct(false, static::SOCKET);
    }

    public static function start(array $options = []): static
    {
        return new static($options);
    }

    abstract public function dsn(): string;

    /** Returns a new connection. */
    public function connect(array $attributes = [], string $class = PDO::class): PDO
    {
        return new $class($this->dsn(), static::USER, '', $attributes);
    }

    /** Returns the command that creates the initial data, which runs as the user of the server. */
    abstract protected function initialise(string $data): array;

    protected function data(): string
    {
        $data = "$this->folder/data";
        if (!is_dir($data)) {
            $this->initialise_once($data);
        }
        return $data;
    }

    /** Creates the initial data, or copies those of another server of this run of scripts/test. */
    private function initialise_once(string $data): void
    {
        $command = $this->initialise($data);
        skip_without($command[0]);
        $shared = (string) getenv('TEST_SQL_DATA');
        if ($shared === '') {
            $this->run($command);
            return;
        }
        $shared .= '/' . static::class . '-' . md5("$command[0] " . getenv('MARIADB_SERVER'));
        $lock = fopen("$shared.lock", 'ce');
        flock($lock, LOCK_EX);
        if (!is_dir($shared)) {
            $this->run($command);
            $this->run(['cp', '-a', $data, "$shared.new"]);
            rename("$shared.new", $shared);
            return;
        }
        fclose($lock);
        $this->run(['cp', '-a', $shared, $data]);
    }

    /** Runs a command as the user of the server. */
    private function run(array $command): void
    {
        $command = implode(' ', array_map(escapeshellarg(...), self::unprivileged($command)));
        exec("cd $this->folder && HOME=$this->folder $command >>$this->folder/log 2>&1", $output, $code);
        $code === 0 || throw new RuntimeException(file_get_contents("$this->folder/log"));
    }

    protected function answers(int $port): bool
    {
        try {
            $this->greet();
            return true;
        } catch (PDOException) {
            return false;
        }
    }

    protected function greet(): void
    {
        $this->connect();
    }
}

/**
 * MariaDB, also of the mariadbd that MARIADB_SERVER names, or MySQL, whose mysqld MYSQL_SERVER
 * names.
 */
final class MariaDbServer extends SqlServer
{
    protected const SOCKET = 'mysql.sock';
    protected const USER = 'root';

    public static function is_mysql(): bool
    {
        return getenv('MYSQL_SERVER') !== false;
    }

    /** Returns the deadlocks since the server started. */
    public function deadlocks(): int
    {
        $count = self::is_mysql()
            ? "SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'lock_deadlocks'"
            : "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'Innodb_deadlocks'";
        return (int) $this->connect()->query($count)->fetchColumn();
    }

    /** Reports whether a statement fails whose row has changed since its transaction's snapshot. */
    public function isolates_snapshots(): bool
    {
        return $this->connect()->query("SHOW VARIABLES LIKE 'innodb_snapshot_isolation'")->fetchColumn(1) === 'ON';
    }

    /** Returns an sql_mode that combines others: MySQL does not know ORACLE. */
    public static function sql_mode(): string
    {
        return self::is_mysql() ? 'ANSI' : 'ORACLE';
    }

    public function dsn(): string
    {
        return "mysql:unix_socket=$this->socket;dbname=test;charset=utf8mb4";
    }

    protected function initialise(string $data): array
    {
        if (self::is_mysql()) {
            return [getenv('MYSQL_SERVER'), '--no-defaults', '--initialize-insecure', '--secure-file-priv=NULL', "--datadir=$data"];
        }
        $program = getenv('MARIADB_SERVER');
        if ($program !== false) {
            // The script for this calls programs by their installed paths.
            $scripts = dirname($program) . '/root/usr/share/mariadb/mariadb_system_tables';
            $sql = "(echo 'CREATE DATABASE mysql;'; echo 'USE mysql;'; cat $scripts.sql {$scripts}_data.sql)";
            return ['sh', '-c', "mkdir $data && $sql | $program --no-defaults --bootstrap --datadir=$data --tmpdir=$this->folder"];
        }
        return [
            'mariadb-install-db', '--no-defaults', "--datadir=$data", '--auth-root-authentication-method=normal',
            // Avoids /tmp, because a starting server removes the temporary tables of other servers
            // there.
            '--skip-name-resolve', '--skip-test-db', "--tmpdir=$this->folder",
        ];
    }

    protected function arguments(int $port): array
    {
        $options = self::is_mysql() ? [getenv('MYSQL_SERVER'), '--no-defaults', '--mysqlx=OFF', '--disable-log-bin', '--secure-file-priv=NULL'] : [getenv('MARIADB_SERVER') ?: 'mariadbd', '--no-defaults', '--performance-schema=OFF'];
        return [
            ...$options, '--datadir=' . $this->data(), "--socket=$this->socket", '--skip-networking',
            "--pid-file=$this->folder/pid", '--innodb-flush-log-at-trx-commit=0', '--innodb-buffer-pool-size=32M',
            "--tmpdir=$this->folder", ...$this->options,
        ];
    }

    protected function greet(): void
    {
        $db = new PDO("mysql:unix_socket=$this->socket", 'root', '');
        $db->exec('CREATE DATABASE IF NOT EXISTS test');
    }
}

final class PostgreSqlServer extends SqlServer
{
    // PostgreSQL always uses this name for its socket.
    protected const SOCKET = '.s.PGSQL.5432';
    protected const USER = 'postgres';

    public function dsn(): string
    {
        return "pgsql:host=$this->folder;dbname=postgres";
    }

    /** Shuts the server down immediately, without leaving shared memory behind. */
    public function kill(): void
    {
        if ($this->pid !== 0 && file_exists("/proc/$this->pid")) {
            exec("kill -QUIT $this->pid");
            wait_for('PostgreSQL has ended', fn () => !is_alive($this->pid));
        }
        parent::kill();
    }

    protected function initialise(string $data): array
    {
        return [self::program('initdb'), '-D', $data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync'];
    }

    protected function arguments(int $port): array
    {
        return [
            self::program('postgres'), '-D', $this->data(), '-k', $this->folder, '-c', 'listen_addresses=',
            '-c', 'fsync=off', '-c', 'synchronous_commit=off', '-c', 'shared_buffers=16MB', '-c', 'max_connections=50',
            ...$this->options,
        ];
    }

    /**
     * Returns the path of a program. On Debian these programs are not in PATH.
     */
    private static function program(string $name): string
    {
        $programs = glob("/usr/lib/postgresql/*/bin/$name");
        return end($programs) ?: $name;
    }
}

/**
 * PgBouncer in front of a PostgreSQL server, with one connection for all clients. The server's
 * connection goes to another client after each transaction.
 */
final class PgBouncer extends SqlServer
{
    // PgBouncer always uses this name for its socket.
    protected const SOCKET = '.s.PGSQL.6432';
    protected const USER = 'postgres';

    private static string $server;

    public static function before(PostgreSqlServer $server): self
    {
        self::$server = $server->folder;
        return self::start();
    }

    public static function is_installed(): bool
    {
        return is_executable('/usr/sbin/pgbouncer');
    }

    public function dsn(): string
    {
        return "pgsql:host=$this->folder;port=6432;dbname=postgres";
    }

    protected function initialise(string $data): array
    {
        return ['true'];
    }

    protected function arguments(int $port): array
    {
        file_put_contents("$this->folder/pgbouncer.ini", implode("\n", [
            '[databases]', 'postgres = host=' . self::$server . ' user=postgres',
            '[pgbouncer]', 'listen_addr =', "unix_socket_dir = $this->folder", 'auth_type = any',
            'pool_mode = transaction', 'default_pool_size = 1', 'server_reset_query = DISCARD ALL',
            'server_reset_query_always = 1', ...$this->options,
        ]));
        return ['/usr/sbin/pgbouncer', '-q', "$this->folder/pgbouncer.ini"];
    }
}

/** A SQLite file that is removed when the test ends. */
final class SqliteFile
{
    private function __construct(public readonly string $path)
    {
    }

    public static function start(): self
    {
        $path = tempnam(sys_get_temp_dir(), 'tokenbucket-sqlite-');
        $owner = getmypid();
        register_shutdown_function(function () use ($path, $owner) {
            if (getmypid() === $owner) {
                array_map(unlink(...), glob("$path*"));
            }
        });
        return new self($path);
    }

    public function dsn(): string
    {
        return "sqlite:$this->path";
    }

    public function connect(array $attributes = [], string $class = PDO::class): PDO
    {
        $db = new $class($this->dsn(), null, null, $attributes);
        $db->exec('PRAGMA synchronous = OFF');
        return $db;
    }
}

/** @return array<string, MariaDbServer|PostgreSqlServer|SqliteFile> by the name of PDO's driver */
function sql_servers(): array
{
    return ['mysql' => MariaDbServer::start(), 'pgsql' => PostgreSqlServer::start(), 'sqlite' => SqliteFile::start()];
}
