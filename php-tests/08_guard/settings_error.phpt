--TEST--
The guard: an invalid setting causes a warning with the position of the error
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/child.php';

foreach ([
    ['guard', 'ip 100/mnute burst 20'],
    ['guard', 'ip 10/second; user 5/second'],
    ['guard', 'ip 10/second; ip 10/second burst 10'],
    ['guard', "ip 10/second <\n\xff"],
    ['guard', 'ip'],
    ['guard', 'ip 10/second; ip+path 10/minute burst 20'],
    ['guard', 'on POST /wp-login.php ip 5/minute; on /export* all 100/second'],
    ['guard', 'on post /login ip 5/minute'],
    ['guard', 'ip 10/second; on /log*n ip 5/minute'],
    ['guard', 'ip+all 10/second'],
    ['guard', 'ip concurrent 1025'],
    ['guard', 'ip many'],
    ['guard', 'path 10/second block 15 minutes'],
    ['guard', 'ip 10/second block 25 hours'],
    ['guard', 'ip 10/second block 15 minutes; ip concurrent 10'],
    ['guard', 'unless cookie wordpress_logged_in_* all 20/second; agent GPTBot all 1/second; unless cookie PHPSESSID net 300/minute burst 100; unless cookie laravel_session all concurrent 12'],
    ['guard', 'ip 10/second; unless cookie * all 5/second'],
    ['guard', 'agent Evil Bot all 5/second'],
    ['guard', 'net 10/second block 15 minutes'],
    ['guard', ''],
    ['guard_local', 'path 0/hour'],
    ['guard_trusted_proxies', '10.0.0.0/8, 10.0.0.0/33'],
    ['guard_allow', 'localhost'],
    ['guard_allow', '::1 127.0.0.0/8'],
    ['guard_preflights', 'ip'],
    ['guard_max_age', '301'],
    ['guard_max_age', '5'],
    ['guard_mode', 'dry'],
    ['guard_mode', 'observe'],
] as [$name, $value]) {
    $output = php_run('echo "started";', ["tokenbucket.$name" => $value]);
    echo "== $name = ", json_encode($value, JSON_INVALID_UTF8_SUBSTITUTE), "\n",
        str_replace(' in Unknown on line 0', '', trim($output)), "\n";
}
?>
--EXPECT--
== guard = "ip 100\/mnute burst 20"
Warning: tokenbucket: tokenbucket.guard must have second, minute, hour or day at position 8, "mnute burst 20" given; no limit of this setting is in force
started
== guard = "ip 10\/second; user 5\/second"
Warning: tokenbucket: tokenbucket.guard must have a key: ip, net, host, path, header:Name or all at position 15, "user 5/second" given; no limit of this setting is in force
started
== guard = "ip 10\/second; ip 10\/second burst 10"
Warning: tokenbucket: tokenbucket.guard must have another limit at position 15, "ip 10/second burst 10" given; no limit of this setting is in force
started
== guard = "ip 10\/second <\n\ufffd"
Warning: tokenbucket: tokenbucket.guard must have "burst", "block", ";" or the end at position 14, "\x3c\n" given; no limit of this setting is in force
started
== guard = "ip"
Warning: tokenbucket: tokenbucket.guard must have a space and a whole number at position 3, "" given; no limit of this setting is in force
started
== guard = "ip 10\/second; ip+path 10\/minute burst 20"
started
== guard = "on POST \/wp-login.php ip 5\/minute; on \/export* all 100\/second"
started
== guard = "on post \/login ip 5\/minute"
Warning: tokenbucket: tokenbucket.guard must have a method such as POST, or a path such as /login at position 4, "post /login ip 5/minute" given; no limit of this setting is in force
started
== guard = "ip 10\/second; on \/log*n ip 5\/minute"
Warning: tokenbucket: tokenbucket.guard must have a path without "*" (except at its end), "?" and "#" at position 22, "*n ip 5/minute" given; no limit of this setting is in force
started
== guard = "ip+all 10\/second"
Warning: tokenbucket: tokenbucket.guard must have another key at position 4, "all 10/second" given; no limit of this setting is in force
started
== guard = "ip concurrent 1025"
Warning: tokenbucket: tokenbucket.guard must have a whole number from 1 to 1024 at position 15, "1025" given; no limit of this setting is in force
started
== guard = "ip many"
Warning: tokenbucket: tokenbucket.guard must have a whole number from 1 to 1000000000, or "concurrent" at position 4, "many" given; no limit of this setting is in force
started
== guard = "path 10\/second block 15 minutes"
Warning: tokenbucket: tokenbucket.guard must have "ip" among the keys of a limit with "block" at position 16, "block 15 minutes" given; no limit of this setting is in force
started
== guard = "ip 10\/second block 25 hours"
Warning: tokenbucket: tokenbucket.guard must have at most one day at position 20, "25 hours" given; no limit of this setting is in force
started
== guard = "ip 10\/second block 15 minutes; ip concurrent 10"
started
== guard = "unless cookie wordpress_logged_in_* all 20\/second; agent GPTBot all 1\/second; unless cookie PHPSESSID net 300\/minute burst 100; unless cookie laravel_session all concurrent 12"
started
== guard = "ip 10\/second; unless cookie * all 5\/second"
Warning: tokenbucket: tokenbucket.guard must have the name of a cookie, without "*" (except at its end), "[" and "=" at position 29, "* all 5/second" given; no limit of this setting is in force
started
== guard = "agent Evil Bot all 5\/second"
Warning: tokenbucket: tokenbucket.guard must have a key: ip, net, host, path, header:Name or all at position 12, "Bot all 5/second" given; no limit of this setting is in force
started
== guard = "net 10\/second block 15 minutes"
Warning: tokenbucket: tokenbucket.guard must have "ip" among the keys of a limit with "block" at position 15, "block 15 minutes" given; no limit of this setting is in force
started
== guard = ""
started
== guard_local = "path 0\/hour"
Warning: tokenbucket: tokenbucket.guard_local must have a whole number from 1 to 1000000000, or "concurrent" at position 6, "0/hour" given; no limit of this setting is in force
started
== guard_trusted_proxies = "10.0.0.0\/8, 10.0.0.0\/33"
Warning: tokenbucket: tokenbucket.guard_trusted_proxies must have a network such as 192.0.2.0/24 or 2001:db8::/32 at position 13, "10.0.0.0/33" given; no proxy is trusted, so all clients of a proxy share its bucket
started
== guard_allow = "localhost"
Warning: tokenbucket: tokenbucket.guard_allow must have a network such as 192.0.2.0/24 or 2001:db8::/32 at position 1, "localhost" given; all clients are limited
started
== guard_allow = "::1 127.0.0.0\/8"
started
== guard_preflights = "ip"
Warning: tokenbucket: tokenbucket.guard_preflights must have a space and a whole number at position 3, "" given; the other limits count preflight requests, too
started
== guard_max_age = "301"
Warning: tokenbucket: tokenbucket.guard_max_age must have a whole number of seconds from 1 to 300, or 0 at position 1, "301" given; requests of any age are served
started
== guard_max_age = "5"
started
== guard_mode = "dry"
Warning: tokenbucket: tokenbucket.guard_mode must be "enforce" or "observe", "dry" given; using "enforce"
started
== guard_mode = "observe"
started
