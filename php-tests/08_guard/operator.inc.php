<?php
require_once __DIR__ . '/clients.inc.php';

/** A page that only some clients may open often, and a script of any tenant that acts on a client.
*/
const LIMIT = 'on /page.php ip 2/day block 1 day';
const ACT = <<<'PHP'
    <?php
    try {
        $client = new TokenBucket\GuardedClient($_GET['limit'], $_GET['values'], $_GET['password'] ?? null);
        match ($_GET['act'] ?? 'reset') { 'reset' => $client->reset(), 'block' => $client->block(60), 'peek' => null };
        echo "done, $client->client of $client->limit has {$client->peek()->remaining}";
    } catch (Throwable $e) {
        echo get_class($e), ': ', $e->getMessage();
    }
    PHP;

/** The hash of "right", which takes little time. */
function password_hash_of(string $password): string
{
    return password_hash($password, PASSWORD_BCRYPT, ['cost' => 4]);
}

/**
 * Runs the script of a tenant in a request of the address $from. Returns what it prints, without
 * the seconds of a lockout.
 */
function act(Fpm $fpm, string $from, ?string $password, array $query = [], array $variables = []): string
{
    $query += ['limit' => LIMIT, 'values' => ['192.0.2.1']] + ($password === null ? [] : ['password' => $password]);
    $variables += ['REMOTE_ADDR' => $from, 'QUERY_STRING' => http_build_query($query)];
    return preg_replace('/ in \d+ s$/', '', $fpm->request("$fpm->folder/act.php", $variables)['body']);
}
