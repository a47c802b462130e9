<?php

declare(strict_types=1);

interface TokenBucketStorage
{
    public function prepare();

    public function bootstrap($identifier, $microtime);

    public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure);
}
