<?php
/** Defines userland storages that list their calls. */
require_once __DIR__ . '/../../tools/testkit/php/check.php';

class Recorder implements TokenBucketStorage
{
    public $calls = [];
    public $answer = true;
    public $callTheClosure = false;

    public function prepare()
    {
        $this->calls[] = ['prepare', func_get_args()];
    }

    public function bootstrap($identifier, $microtime)
    {
        $this->calls[] = ['bootstrap', func_get_args()];
    }

    public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure)
    {
        $this->calls[] = ['consume', func_get_args()];
        return $this->callTheClosure ? $bootstrap_closure() : $this->answer;
    }
}
class TypedRecorder extends Recorder
{
    public function prepare(): void
    {
        parent::prepare();
    }

    public function bootstrap(mixed $identifier, mixed $microtime, ?string $more = null): void
    {
        parent::bootstrap($identifier, $microtime);
    }

    public function consume(mixed $identifier, mixed $microtime, mixed $full_microtime, mixed $bootstrap_closure): bool
    {
        return parent::consume($identifier, $microtime, $full_microtime, $bootstrap_closure);
    }
}
