<?php
/** Defines a bucket whose _bootstrap() can be called. Under valgrind the tests find more errors. */
require __DIR__ . '/../../testkit/php/check.php';

class Starting extends TokenBucket
{
    public function start()
    {
        $this->_bootstrap(1);
        return 'started';
    }
}
