--TEST--
The guard: processes without a common parent count apart, and say so, unless they share a segment
--SKIPIF--
<?php
require __DIR__ . '/skip_apache.inc.php';
is_executable('/usr/sbin/lighttpd') && is_file('/usr/lib/apache2/modules/mod_fcgid.so') || die('skip there is no lighttpd or no mod_fcgid');
?>
--FILE--
<?php
require __DIR__ . '/clients.inc.php';
require __DIR__ . '/../03_php_fpm/traffic.inc.php';
require __DIR__ . '/../../tools/testkit/php/apache.php';
require __DIR__ . '/../../tools/testkit/php/lighttpd.php';

// Four processes run the script at once, and so take the four tokens if they share a bucket.
const GUARD = 'on /meet.php ip 1/day burst 4';
const STATUS = '<?php $guard = TokenBucket\status()["guard"]; echo json_encode($guard["in_force"]), ", ", $guard["reason"];';

$servers = [
    'mod_fcgid' => fn (array $ini) => new Apache(ini: $ini, fcgid: true),
    'lighttpd, four parents' => fn (array $ini) => new Lighttpd(parents: 4, children: 0, ini: $ini),
    'lighttpd, two parents with two children each' => fn (array $ini) => new Lighttpd(parents: 2, children: 2, ini: $ini),
    'lighttpd, one parent with four children' => fn (array $ini) => new Lighttpd(parents: 1, children: 4, ini: $ini),
];
foreach ($servers as $name => $start) {
    foreach (['private', 'named'] as $memory) {
        $log = log_file();
        $server = $start(['tokenbucket.guard' => GUARD, 'error_log' => $log, 'tokenbucket.shm_size' => '1M']
            + ($memory === 'named' ? ['tokenbucket.shm_path' => segment_path()] : []));
        $meet = $server->script('meet', MEET);
        Traffic::of_each(4, $server->folder, fn (array $meeting) => $server->get($meet, $meeting + ['id' => 'x', 'capacity' => 100]));
        $again = Traffic::of(4, 1, fn () => preg_replace('/^Too.*/s', 'denied', $server->get($meet, ['met' => '/dev/null', 'count' => 0, 'id' => 'x', 'capacity' => 100])));
        echo "== $name, $memory: ", $again->granted === 0 ? 'the fifth request is denied' : 'a fifth request passes', "\n";
        echo $server->get($server->script('status', STATUS)), "\n";
        echo implode("\n", array_unique(preg_replace('/^\[.*?\] /', '', file($log, FILE_IGNORE_NEW_LINES)))), "\n";
        $server->kill();
        $in_its_folder = fn (string $link) => str_starts_with((string) @readlink($link), $server->folder);
        wait_for("no process of $name is left", fn () => array_filter(glob('/proc/[0-9]*/cwd'), $in_its_folder) === []);
    }
}
?>
--EXPECT--
== mod_fcgid, private: a fifth request passes
false, each process that the web server has started has buckets of its own while tokenbucket.shm_path is empty
tokenbucket: guard: tokenbucket.guard is not in force, because each process that the web server has started has buckets of its own while tokenbucket.shm_path is empty
== mod_fcgid, named: the fifth request is denied
true, 

== lighttpd, four parents, private: a fifth request passes
false, each process that the web server has started has buckets of its own while tokenbucket.shm_path is empty
tokenbucket: guard: tokenbucket.guard is not in force, because each process that the web server has started has buckets of its own while tokenbucket.shm_path is empty
== lighttpd, four parents, named: the fifth request is denied
true, 

== lighttpd, two parents with two children each, private: a fifth request passes
false, each process that the web server has started has buckets of its own while tokenbucket.shm_path is empty
tokenbucket: guard: tokenbucket.guard is not in force, because each process that the web server has started has buckets of its own while tokenbucket.shm_path is empty
== lighttpd, two parents with two children each, named: the fifth request is denied
true, 

== lighttpd, one parent with four children, private: the fifth request is denied
true, 

== lighttpd, one parent with four children, named: the fifth request is denied
true,
