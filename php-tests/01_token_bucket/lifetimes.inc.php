<?php
/** Defines a bucket whose _bootstrap() can be called. The tests find more errors under valgrind. */
require_once __DIR__ . '/../../tools/testkit/php/check.php';

class Starting extends TokenBucket
{
    public function start()
    {
        $this->_bootstrap(1);
        return 'started';
    }
}
