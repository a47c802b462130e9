<?php
/** A batch whose second bucket fails, so that tokens are given back to the first one. */
require_once __DIR__ . '/../../tools/testkit/php/check.php';

/** A statement that runs code before it charges a bucket, or before it gives tokens back. */
final class CodeStatement extends PDOStatement
{
    public static ?Closure $charge = null;
    public static ?Closure $giveBack = null;

    protected function __construct(private string $role)
    {
    }

    public function execute(?array $params = null): bool
    {
        if ($this->role === 'other' && self::$charge !== null && str_starts_with($this->queryString, 'INSERT')) {
            (self::$charge)();
        }
        if ($this->role === 'first' && self::$giveBack !== null && str_starts_with($this->queryString, 'UPDATE')) {
            (self::$giveBack)();
        }
        return parent::execute($params);
    }
}

/** Returns a storage on a new database, whose statements run the code for this role. */
function storage(string $role, TokenBucket\OnFailure $onFailure = TokenBucket\OnFailure::Throw): TokenBucketStoragePDO
{
    $db = new PDO('sqlite::memory:', options: [PDO::ATTR_STATEMENT_CLASS => [CodeStatement::class, [$role]]]);
    $storage = new TokenBucketStoragePDO($db, 'limits', $onFailure);
    $storage->prepare();
    return $storage;
}

/** Runs a batch on $first and another bucket. $charge runs before the other one is charged. */
function batch(TokenBucket $first, Closure $charge, ?Closure $giveBack): void
{
    CodeStatement::$charge = $charge;
    CodeStatement::$giveBack = $giveBack;
    try {
        TokenBucket::attemptAll([$first, new TokenBucket(storage('other'), 'other', 10, 1e-6)], 4);
    } finally {
        CodeStatement::$charge = CodeStatement::$giveBack = null;
    }
}
