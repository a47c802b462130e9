<?php
/**
 * A userland storage with the records of the published PDO storage, in plain PHP.
 *
 * The storage runs SELECT … FOR UPDATE in a transaction and uses the clock of the host.
 */
class UserlandStoragePDOMySQL implements TokenBucketStorage
{
    private $db;
    private $table_name;

    public function __construct($db, $table_name)
    {
        $this->db = $db;
        $this->table_name = $table_name;
    }

    public function prepare()
    {
        $this->db->exec("CREATE TABLE IF NOT EXISTS `$this->table_name` (identifier varchar(255) PRIMARY KEY, microtime double)");
    }

    public function bootstrap($identifier, $microtime)
    {
        $this->db->prepare("INSERT INTO `$this->table_name` (identifier, microtime) VALUES (?, ?)")
            ->execute([$identifier, sprintf('%.6F', $microtime)]);
    }

    public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure)
    {
        $this->db->beginTransaction();
        $select = $this->db->prepare("SELECT microtime FROM `$this->table_name` WHERE identifier = ? FOR UPDATE");
        $select->execute([$identifier]);
        $record = $select->fetchColumn();
        if ($record === false) {
            $granted = $bootstrap_closure() ? true : false;
            $granted ? $this->db->commit() : $this->db->rollBack();
            return $granted;
        }
        $now = microtime(true);
        $available = min($now - $record, $full_microtime);
        if (UserlandTokenBucket::compare_microtimes($microtime, $available) > 0) {
            $this->db->rollBack();
            return false;
        }
        $update = $this->db->prepare("UPDATE `$this->table_name` SET microtime = ? WHERE identifier = ?");
        $update->execute([sprintf('%.6F', $now - $available + $microtime), $identifier]);
        $this->db->commit();
        return true;
    }
}
