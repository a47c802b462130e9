<?php
/** The probes of a table in a database. */
namespace TokenBucket\Command\Check;

use PDO;
use TokenBucket\OnFailure;
use TokenBucketStoragePDO;

const ISOLATION = [
    'mysql' => ['READ-COMMITTED' => true, 'REPEATABLE-READ' => true],
    'pgsql' => ['read committed' => true],
    'sqlite' => ['' => true],
];

final class SqlStore implements Store
{
    private readonly string $driver;
    private readonly string $schema;
    private readonly string $table;
    private PDO $db;
    private bool $is_left = false;

    public function __construct(#[\SensitiveParameter] private readonly string $dsn, private readonly Settings $settings)
    {
        $this->driver = strtolower(strtok($dsn, ':'));
        [$this->table, $this->schema] = array_reverse(explode('.', $settings->table, 2)) + [1 => ''];
    }

    public function probes(): array
    {
        return [
            'server' => $this->server(...),
            'latency' => fn () => latency(timed(fn () => $this->value('SELECT 1'), $this->settings), $this->settings->timeout),
            'table' => $this->table(...),
            'bucket' => $this->bucket(...),
            'purge' => $this->purge(...),
            'triggers' => $this->triggers(...),
            ...($this->driver === 'sqlite' ? [] : [
                'isolation' => $this->isolation(...),
                'clock' => $this->clock(...),
                'timeouts' => $this->timeouts(...),
                'clients' => $this->clients(...),
            ]),
            ...($this->driver === 'mysql' ? ['time zone' => $this->time_zone(...)] : []),
        ];
    }

    public function clean(): void
    {
        if ($this->is_left) {
            try {
                $this->value("DELETE FROM {$this->quoted()} WHERE identifier = ?", $this->settings->name);
            } catch (\PDOException) {
                // The row is that of a full bucket soon.
            }
        }
    }

    /** Returns the first field of the first row, or false. */
    private function value(string $statement, string ...$values): mixed
    {
        $prepared = $this->db->prepare($statement);
        $prepared->execute($values);
        return $prepared->columnCount() === 0 ? false : $prepared->fetchColumn();
    }

    private function quoted(): string
    {
        $quote = $this->driver === 'mysql' ? '`' : '"';
        return $quote . str_replace('.', "$quote.$quote", $this->settings->table) . $quote;
    }

    private function storage(): TokenBucketStoragePDO
    {
        return new TokenBucketStoragePDO($this->db, $this->settings->table, OnFailure::Throw, false);
    }

    /** Returns a text without the words of the DSN's password, which libpq may repeat. */
    private function public_text(string $text): string
    {
        // libpq repeats other parts of a DSN that it cannot read.
        if ($this->driver === 'pgsql' && !preg_match('~connection to server|translate host name~', $text)) {
            return 'libpq cannot read the DSN';
        }
        preg_match_all('~(?|password\s*=\s*([^;]*)|//[^:/]*:(.*)@)~i', $this->dsn, $found);
        $secrets = array_filter(array_merge($found[1], ...array_map(fn ($secret) => preg_split('/[\s=\'"\\\\]+/', $secret), $found[1])));
        usort($secrets, fn (string $a, string $b) => strlen($b) <=> strlen($a));
        return str_replace($secrets, '***', $text);
    }

    private function server(): Finding
    {
        if (!class_exists(PDO::class) || !in_array($this->driver, PDO::getAvailableDrivers(), true)) {
            return Finding::failure("this PHP has no driver $this->driver", "install pdo_$this->driver");
        }
        $path = substr($this->dsn, strlen('sqlite:'));
        if ($this->driver === 'sqlite' && !str_starts_with($path, 'file:') && !is_file($path)) {
            return Finding::failure('the file does not exist', 'correct the path; a database in memory belongs to one process');
        }
        try {
            $options = [PDO::ATTR_TIMEOUT => (int) ceil($this->settings->patience()), PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION];
            $this->db = new PDO($this->dsn, null, null, $options);
        } catch (\PDOException $refused) {
            return Finding::failure($this->public_text($refused->getMessage()), 'correct the DSN, its user and its password');
        }
        [$version, $user] = match ($this->driver) {
            'mysql' => [$this->value('SELECT VERSION()'), $this->value('SELECT CURRENT_USER()')],
            'pgsql' => [strtok($this->value('SELECT version()'), ','), $this->value('SELECT current_user')],
            'sqlite' => [$this->value('SELECT sqlite_version()'), null],
        };
        $found = "$this->driver $version" . ($user === null ? '' : ", user $user");
        $is_galera = $this->driver === 'mysql' && $this->db->query("SHOW VARIABLES LIKE 'wsrep_on'")->fetchColumn(1) === 'ON';
        return match (true) {
            $this->driver === 'sqlite' && version_compare($version, '3.35', '<') => Finding::failure($found, 'SQLite 3.35 or later is needed'),
            $is_galera, preg_match('/TiDB|Cockroach|Yugabyte|-YB-/i', $version) === 1 => Finding::warning("$found, where the clock of each node counts", 'synchronise the clocks of the nodes: e seconds between them admit rate x 2e more tokens'),
            default => Finding::ok($found),
        };
    }

    private function table(): Finding
    {
        try {
            (new \TokenBucket($this->storage(), $this->settings->name, 2, 2 / 120))->peek();
        } catch (\TokenBucket\StorageException $missing) {
            return Finding::failure($missing->getMessage(), 'follow the text; for a missing table, call prepare() once or pass --table');
        }
        $columns = $this->columns();
        $length = $columns['identifier'] ?? 255;
        return match (true) {
            $length < 255 => Finding::failure("identifier has $length characters", 'make it varchar(255), because long names fail or share a row'),
            !array_key_exists('span', $columns) => Finding::warning('the column span is missing', "ALTER TABLE {$this->settings->table} ADD COLUMN span bigint, and restart all workers"),
            $this->driver === 'mysql' && $this->engine() !== 'InnoDB' => Finding::warning("the engine is {$this->engine()}", 'ALTER TABLE … ENGINE=InnoDB, because a rollback returns no tokens'),
            default => Finding::ok("{$this->settings->table} is as prepare() creates it"),
        };
    }

    /** @return array<string, ?int> the length of each column, or null */
    private function columns(): array
    {
        if ($this->driver === 'sqlite') {
            $names = array_column($this->db->query("PRAGMA table_info({$this->quoted()})")->fetchAll(), 'name');
            return array_fill_keys($names, null);
        }
        $schema = $this->driver === 'mysql' ? "COALESCE(NULLIF(?, ''), DATABASE())" : "COALESCE(NULLIF(?, ''), (SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = CAST(? AS regclass)))";
        $rows = $this->db->prepare("SELECT column_name, character_maximum_length FROM information_schema.columns WHERE table_schema = $schema AND table_name = ?");
        $rows->execute([$this->schema, ...($this->driver === 'mysql' ? [] : [$this->quoted()]), $this->table]);
        foreach ($rows->fetchAll(PDO::FETCH_NUM) as [$name, $length]) {
            $columns[$name] = $length === null ? null : (int) $length;
        }
        return $columns ?? [];
    }

    private function engine(): string
    {
        return (string) $this->value("SELECT engine FROM information_schema.tables WHERE table_schema = COALESCE(NULLIF(?, ''), DATABASE()) AND table_name = ?", $this->schema, $this->table);
    }

    /** Takes tokens in a transaction, and rolls it back. */
    private function bucket(): Finding
    {
        $this->driver === 'sqlite' ? $this->db->exec('BEGIN IMMEDIATE') : $this->db->beginTransaction();
        try {
            $finding = decisions($this->storage(), $this->settings->name);
        } finally {
            $this->driver === 'sqlite' ? $this->db->exec('ROLLBACK') : $this->db->rollBack();
        }
        $this->is_left = (int) $this->value("SELECT COUNT(*) FROM {$this->quoted()} WHERE identifier = ?", $this->settings->name) > 0;
        return $this->is_left ? Finding::warning('a rollback returns no tokens', 'use a table with transactions') : $finding;
    }

    private function purge(): Finding
    {
        try {
            $this->value("DELETE FROM {$this->quoted()} WHERE identifier = ?", $this->settings->name);
        } catch (\PDOException $refused) {
            return Finding::warning($refused->getMessage(), 'grant DELETE to the user that calls purge()');
        }
        return Finding::ok('the user may delete the rows of full buckets');
    }

    private function triggers(): Finding
    {
        $count = (int) match ($this->driver) {
            'mysql' => $this->value("SELECT COUNT(*) FROM information_schema.triggers WHERE event_object_schema = COALESCE(NULLIF(?, ''), DATABASE()) AND event_object_table = ?", $this->schema, $this->table),
            'pgsql' => $this->value('SELECT COUNT(*) FROM pg_trigger WHERE tgrelid = CAST(? AS regclass) AND NOT tgisinternal', $this->quoted()),
            'sqlite' => $this->value("SELECT COUNT(*) FROM sqlite_master WHERE type = 'trigger' AND lower(tbl_name) = lower(?)", $this->table),
        };
        return $count === 0
            ? Finding::ok('the table has no triggers')
            : Finding::warning("the table has $count triggers", 'drop them, because each grant runs them' . ($this->driver === 'mysql' ? ' and takes one more statement' : ''));
    }

    private function isolation(): Finding
    {
        // MySQL 8 and MariaDB 11 have one name of the variable, and older releases the other.
        $level = $this->driver === 'pgsql'
            ? $this->value('SHOW transaction_isolation')
            : $this->db->query("SHOW VARIABLES WHERE Variable_name IN ('transaction_isolation', 'tx_isolation')")->fetchColumn(1);
        return isset(ISOLATION[$this->driver][$level])
            ? Finding::ok("transactions are $level")
            : Finding::warning("transactions are $level", 'use READ COMMITTED: at other levels, calls of one bucket abort or block each other');
    }

    private function clock(): Finding
    {
        $before = microtime(true);
        $micros = $this->value($this->driver === 'mysql'
            ? "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
            : 'SELECT CAST(EXTRACT(EPOCH FROM statement_timestamp()) * 1000000 AS bigint)');
        return clock($before, $micros / 1e6, microtime(true), 1e-6, 'synchronise the clocks, because quotas of short windows fail');
    }

    private function timeouts(): Finding
    {
        if ($this->driver === 'mysql') {
            $seconds = (int) $this->value('SELECT @@innodb_lock_wait_timeout');
            return $seconds > 10
                ? Finding::warning("a call waits up to $seconds s for a lock", 'SET SESSION innodb_lock_wait_timeout, because PDO has no deadline')
                : Finding::ok("a call waits up to $seconds s for a lock");
        }
        [$lock, $statement] = [$this->value('SHOW lock_timeout'), $this->value('SHOW statement_timeout')];
        return $lock === '0' && $statement === '0'
            ? Finding::warning('a call waits for a lock without end', 'set lock_timeout or statement_timeout, because PDO has no deadline')
            : Finding::ok("lock_timeout $lock, statement_timeout $statement");
    }

    private function clients(): Finding
    {
        [$most, $used] = $this->driver === 'mysql'
            ? [$this->value('SELECT @@max_connections'), $this->db->query("SHOW STATUS LIKE 'Threads_connected'")->fetchColumn(1)]
            : [$this->value('SHOW max_connections'), $this->value('SELECT COUNT(*) FROM pg_stat_activity')];
        return connections((int) $most, (int) $used, $this->settings->pool, 'raise max_connections, or run fewer workers');
    }

    /** A give-back reads a clock of the session's zone, which may be set back in autumn. */
    private function time_zone(): Finding
    {
        $zone = $this->value("SELECT IF(@@session.time_zone = 'SYSTEM', @@system_time_zone, @@session.time_zone)");
        return preg_match('/^([+-]\d\d:\d\d|UTC|GMT|Etc\/.*)$/', $zone) === 1
            ? Finding::ok("the session's time zone is $zone")
            : Finding::warning("the session's time zone is $zone", "SET time_zone = '+00:00', because give-backs are too small while a clock is set back");
    }
}
