<?php
require_once __DIR__ . '/../../tools/testkit/php/servers.php';

/** A Redis that also accepts TLS, with a certificate for "localhost" from its own CA. */
final class TlsRedis
{
    public readonly RedisServer $server;
    /** The port that accepts TLS. */
    public readonly int $port;
    public readonly string $ca_file;
    private readonly string $folder;
    private readonly int $owner;

    /** @param bool $asks true if the server requires a certificate of the client */
    public function __construct(bool $asks = false)
    {
        $this->owner = getmypid();
        $this->folder = sys_get_temp_dir() . "/tokenbucket-tls-$this->owner-" . bin2hex(random_bytes(4));
        mkdir($this->folder);
        chmod($this->folder, 0755);
        register_shutdown_function($this->remove(...));
        $this->ca_file = "$this->folder/ca.pem";
        $this->certify();
        $this->server = RedisServer::on_free_ports(fn () => RedisServer::start([
            '--tls-port', (string) RedisServer::free_port(), '--tls-auth-clients', $asks ? 'yes' : 'no', '--tls-ca-cert-file', $this->ca_file,
            '--tls-cert-file', "$this->folder/server.pem", '--tls-key-file', "$this->folder/server.key",
        ]));
        $this->port = (int) $this->server->option('--tls-port');
    }

    /**
     * Returns a DSN that connects. Each argument replaces a part of this DSN.
     */
    public function dsn(string $userinfo = '', ?string $ca_file = null, string $name = 'localhost', int|string $database = 0): string
    {
        return "rediss://{$userinfo}127.0.0.1:$this->port/$database?servername=$name&cafile=" . ($ca_file ?? $this->ca_file);
    }

    /** Returns the path of a file of the certificates, for example client.pem and client.key. */
    public function file(string $name): string
    {
        return "$this->folder/$name";
    }

    private function certify(): void
    {
        file_put_contents("$this->folder/leaf.txt", "subjectAltName=DNS:localhost\n");
        file_put_contents("$this->folder/client.txt", "extendedKeyUsage=clientAuth\n");
        $commands = [
            'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=ca -keyout ca.key -out ca.pem',
            'req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -keyout server.key -out server.csr',
            'req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=app -keyout client.key -out client.csr',
            'x509 -req -in client.csr -CA ca.pem -CAkey ca.key -set_serial 2 -days 2 -extfile client.txt -out client.pem',
            'x509 -req -in server.csr -CA ca.pem -CAkey ca.key -set_serial 1 -days 2 -extfile leaf.txt -out server.pem',
        ];
        foreach ($commands as $command) {
            exec("cd $this->folder && openssl $command 2>&1", $said, $code);
            if ($code !== 0) {
                throw new RuntimeException(implode("\n", $said));
            }
        }
        array_map(fn ($file) => chmod($file, 0644), glob("$this->folder/*"));
    }

    private function remove(): void
    {
        // Forked children of the test run this function, too, but only the owner may remove the
        // files.
        if (getmypid() === $this->owner) {
            array_map(unlink(...), glob("$this->folder/*"));
            rmdir($this->folder);
        }
    }
}
