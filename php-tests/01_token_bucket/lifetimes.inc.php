<?php
/** A bucket whose _bootstrap() can be called; under valgrind these tests see more. */
require __DIR__ . '/../../testkit/php/check.php';

class Starting extends TokenBucket
{
    public function start()
    {
        $this->_bootstrap(1);
        return 'started';
    }
}
