<?php

declare(strict_types=1);

/** Throws, or keeps buckets of this host if a setting permits that. */
class TokenBucketStoragePDOMySQL extends TokenBucketStoragePDO
{
    public function __construct($db, $table_name)
    {
        parent::__construct($db, $table_name);
    }
}
