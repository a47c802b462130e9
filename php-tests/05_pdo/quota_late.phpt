--TEST--
A grant of a quota on MySQL describes the window from which it took, even if that window ends meanwhile
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

use TokenBucket\{Period, Quota};

/** Sets the clock of its session forward between a grant and the look at the bucket. */
final class Late extends PDO
{
    public ?float $later = null;

    public function prepare(string $query, array $options = []): PDOStatement|false
    {
        if ($this->later !== null && str_contains($query, '(SELECT 2 * ')) {
            usleep(60_000);
            $this->exec("SET TIMESTAMP = $this->later");
        }
        return parent::prepare($query, $options);
    }
}

$server = MariaDbServer::start();
(new TokenBucketStoragePDO($server->connect(), 'limits'))->prepare();
foreach ([0.02, -0.02] as $after) {
    $db = $server->connect(class: Late::class);
    $end = time() + 2;
    $db->exec('SET TIMESTAMP = ' . $end - 0.03);
    $quota = new Quota(new TokenBucketStoragePDO($db, 'limits'), "at $after", 5, Period::Minute, new DateTimeImmutable("@$end"));
    $db->later = $end + $after;
    $decision = $quota->attempt();
    printf("%s, %g left, reset after %.2f s\n", $decision->reason, $decision->remaining, $decision->resetAfter);
}
?>
--EXPECT--
granted, 4 left, reset after 0.00 s
granted, 4 left, reset after 0.02 s
