<?php
/** A database through PDO. */
class SqlSubject extends Subject
{
    protected const DENIAL_CACHE = true;
    protected const LOCKOUT_UNIT = 1 << 20;

    private readonly MariaDbServer|PostgreSqlServer|SqliteFile $server;

    /** @param class-string $server a class of tools/testkit/php/sql_servers.php */
    public function __construct(string $server, private readonly array $credentials, private readonly array $statements = [])
    {
        parent::__construct();
        $this->server = $server::start();
        (new TokenBucketStoragePDO($this->server->connect(), 'buckets'))->prepare();
        if ($this->server instanceof SqliteFile) {
            $this->server->connect()->exec('PRAGMA journal_mode = WAL');
        }
    }

    protected function storage(): array
    {
        return [
            'class' => 'TokenBucketStoragePDO',
            'arguments' => ['table' => 'buckets', 'denialCacheMaxAge' => 0.1],
            'pdo' => [$this->server->dsn(), ...$this->credentials, [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_TIMEOUT => 5]],
            'statements' => $this->statements,
        ];
    }

    protected function allowances(): array
    {
        return ['tick' => 1_000, 'linger' => 1_000_000_000, 'wait' => 300_000_000, 'cached' => 110_000_000];
    }

    protected function store_faults(): array
    {
        return $this->server instanceof SqliteFile ? [] : ['server stopped' => $this->stopped($this->server)];
    }

    public function losses(): array
    {
        $losses = ['table emptied' => function () {
            $this->go_on();
            try {
                $this->server->connect([PDO::ATTR_TIMEOUT => 5])->exec('DELETE FROM buckets');
            } catch (PDOException) {
                // A suspended worker holds the lock, so the table keeps its rows.
            }
        }];
        if (!$this->server instanceof SqliteFile) {
            // The server may lose data that it has not written yet.
            $losses['server killed'] = function () {
                $this->go_on();
                $this->server->restart();
            };
        }
        return $losses;
    }

    public function stop(): void
    {
        parent::stop();
        if (!$this->server instanceof SqliteFile) {
            $this->server->kill();
        }
    }
}
