--TEST--
The guard: an invalid setting causes a warning with the position of the error
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/child.php';

foreach ([
    ['guard', 'ip 100/mnute burst 20'],
    ['guard', "ip 10/second <\n\xff"],
    ['guard', 'ip 10/second; ip+path 10/minute burst 20'],
    ['guard', 'unless cookie wordpress_logged_in_* all 20/second; agent GPTBot all 1/second; unless cookie PHPSESSID net 300/minute burst 100; unless cookie laravel_session all concurrent 12'],
    ['guard', 'on /category*,/tag* ip 30/minute burst 10 name listing; all 200/second burst 200 leave 60 on /export*,/search* name site; all concurrent 40 leave 10 on /export*'],
    ['guard', 'all 9/day leave 9 on /export*'],
    ['guard', 'ip 9/day name a; net 9/day name a'],
    ['guard', ''],
    ['guard_local', 'path 0/hour'],
    ['guard_trusted_proxies', '10.0.0.0/8, 10.0.0.0/33'],
    ['guard_allow', 'localhost'],
    ['guard_allow', '::1 127.0.0.0/8'],
    ['guard_preflights', 'ip'],
    ['guard_max_age', '301'],
    ['guard_max_age', '5'],
    ['guard_headers', 'yes'],
    ['guard_headers', 'all'],
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
== guard = "ip 10\/second <\n\ufffd"
Warning: tokenbucket: tokenbucket.guard must have "burst", "block", "leave", "name", ";" or the end at position 14, "\x3c\n" given; no limit of this setting is in force
started
== guard = "ip 10\/second; ip+path 10\/minute burst 20"
started
== guard = "unless cookie wordpress_logged_in_* all 20\/second; agent GPTBot all 1\/second; unless cookie PHPSESSID net 300\/minute burst 100; unless cookie laravel_session all concurrent 12"
started
== guard = "on \/category*,\/tag* ip 30\/minute burst 10 name listing; all 200\/second burst 200 leave 60 on \/export*,\/search* name site; all concurrent 40 leave 10 on \/export*"
started
== guard = "all 9\/day leave 9 on \/export*"
Warning: tokenbucket: tokenbucket.guard must have a whole number from 1 that is less than the burst at position 17, "9 on /export*" given; no limit of this setting is in force
started
== guard = "ip 9\/day name a; net 9\/day name a"
Warning: tokenbucket: tokenbucket.guard must have another name, because two limits of a setting cannot share one at position 33, "a" given; no limit of this setting is in force
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
== guard_headers = "yes"
started
== guard_headers = "all"
Warning: tokenbucket: tokenbucket.guard_headers must be 0 or 1, "all" given; using 0
started
== guard_mode = "dry"
Warning: tokenbucket: tokenbucket.guard_mode must be "enforce" or "observe", "dry" given; using "enforce"
started
== guard_mode = "observe"
started
