<?php
require_once __DIR__ . '/controls.inc.php';

/** This extension on two hosts with memcached, of which one has a clock that is a minute ahead. */
final class ClockAhead implements Scripted
{
    /** The clocks are allowed to differ by 10 ms. */
    public const ALLOWANCES = "skew 10000000\n" . Scripted::ALLOWANCES;
    private const ERROR = 60;

    public static function run(History $history): void
    {
        $server = MemcachedServer::startTcp();
        $folder = temporary_folder();
        $module = dirname(__DIR__, 2) . '/modules/tokenbucket.so';
        link_to_faketime($module, "$folder/clocks.so");
        file_put_contents("$folder/clock", '+' . self::ERROR);
        $storage = ['class' => 'TokenBucketStorageMemcached', 'arguments' => ['servers' => "127.0.0.1:$server->port", 'onFailure' => 'Throw']];
        // The bucket is refilled in a minute.
        $bucket = $history->bucket(4, 4 / self::ERROR);
        $history->caller(new Extension($storage))->take($bucket, 4);
        $code = 'require ' . var_export(__DIR__ . '/worker.php', true) . ';'
            . '[$storage, $bucket, $folder] = json_decode(' . var_export(json_encode([$storage, $bucket, $history->folder]), true) . ', true);'
            . 'echo (new Caller(new Extension($storage), new CallLog($folder, process_id())))->take($bucket, 4)[0];';
        $command = str_replace("extension=$module", "extension=$folder/clocks.so", php_command());
        $said = shell_exec(environment_of_clock("$folder/clock") . " $command -r " . escapeshellarg($code) . ' 2>&1');
        $history->happened('granted by a wrong clock', $said === (string) CallLog::DONE);
    }
}
