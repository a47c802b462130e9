<?php
/** A bucket whose _bootstrap() can be called. Valgrind finds more errors in these tests. */
require __DIR__ . '/../../testkit/php/check.php';

class Starting extends TokenBucket
{
    public function start()
    {
        $this->_bootstrap(1);
        return 'started';
    }
}
