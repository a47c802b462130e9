--TEST--
The guard: a flood of 5,000 addresses without a cookie gets what the limit allows, and people with a cookie get their pages
--SKIPIF--
<?php require __DIR__ . '/skip_web_servers.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/web_servers.inc.php';
require __DIR__ . '/../../tools/testkit/php/flood.php';

$cookies = array_map(fn (int $person) => "forum_sid_1=abc%3D$person", range(1, Flood::PEOPLE));
chmod($folder = temporary_folder(), 0711);
$flood = new Flood('forum_sid_*', fn (int $page) => "/topic$page.php?start=10", $cookies, 'topic', "$folder/record");
$scripts = ['index' => '', 'status' => Flood::STATUS];
for ($i = 0; $i < 500; $i++) {
    $scripts["topic$i"] = "<?php $flood->recording echo 'topic $i';";
}
foreach (['observe', 'enforce'] as $mode) {
    with_web_servers($flood->settings($mode), $scripts, fn (string $server, int $port) => $flood->check($server, $port, $mode), 'nginx and php-fpm', 'Apache and php-fpm');
}

// A client can send any cookie. Then only a limit that counts everybody limits it.
foreach (['alone' => '', 'beside a limit of networks' => '; net 30/day burst 10'] as $how => $beside) {
    $ini = ['tokenbucket.guard' => $flood->limit . $beside] + $flood->settings('enforce');
    with_web_servers($ini, $scripts, function (string $server, int $port) use ($flood, $how): void {
        [$strangers, $people] = $flood->send($port, 10, ['Cookie: forum_sid_1=forged']);
        check($people === [200 => 200], "$server, people: " . json_encode($people));
        echo "$server, forged cookies, $how: ", $strangers[200] === $flood->requests ? 'all' : $strangers[200], " pass\n";
    }, 'nginx and php-fpm', 'Apache and php-fpm');
}
?>
--EXPECT--
nginx and php-fpm, forged cookies, alone: all pass
Apache and php-fpm, forged cookies, alone: all pass
nginx and php-fpm, forged cookies, beside a limit of networks: 200 pass
Apache and php-fpm, forged cookies, beside a limit of networks: 200 pass
