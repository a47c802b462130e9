--TEST--
Processes share the permits of a named segment, and renew() takes a lock again that PHP code has dropped
--EXTENSIONS--
pcntl
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$path = temporary_folder() . '/segment';
$testkit = var_export(dirname(__DIR__, 2) . '/tools/testkit/php/testkit.php', true);
echo php_run(<<<PHP
    require $testkit;
    \$limit = new TokenBucket\ConcurrencyLimit(new TokenBucketStorageSharedMemory, 'x', 1);
    \$other = function (string \$code) {
        return php_run("\\\$limit = new TokenBucket\ConcurrencyLimit(new TokenBucketStorageSharedMemory, 'x', 1); \$code", ['tokenbucket.shm_path' => '$path']);
    };
    \$acquire = 'echo \$limit->acquire()->decision->reason, " ", \$limit->held();';
    \$counts = function () {
        \$permits = TokenBucket\status()['permits'];
        print_values(\$permits);
        \$text = TokenBucket\metrics();
        foreach (['held' => 'held{namespace=""}', 'denied' => 'denied_total', 'taken_back' => 'taken_back_total', 'foreign' => 'foreign_total'] as \$field => \$metric) {
            check(str_contains(\$text, "\\ntokenbucket_permits_\$metric \$permits[\$field]\\n"), \$metric);
        }
    };

    echo "-- another program is denied while this one holds the permit --\n";
    \$permit = \$limit->acquire();
    print_values(\$other(\$acquire), \$permit->renew());
    \$counts();

    echo "-- this program opens and closes the file, and renews its permit --\n";
    file_get_contents('$path');
    print_values(\$limit->held(), \$permit->renew(), \$other(\$acquire));

    echo "-- the control: it does not renew, and the other program takes the permit --\n";
    file_get_contents('$path');
    print_values(\$other(\$acquire), \$permit->renew());
    \$counts();
    \$permit->release();
    \$permit->release();
    \$counts();

    echo "-- renew() has locked again, so the next permit is safe --\n";
    \$permit = \$limit->acquire();
    print_values(\$permit->decision->reason, \$other(\$acquire));
    unset(\$permit);
    print_values(\$other(\$acquire));

    echo "-- so has the release of a permit that was taken over --\n";
    \$permit = \$limit->acquire();
    file_get_contents('$path');
    print_values(\$other(\$acquire));
    unset(\$permit);
    \$permit = \$limit->acquire();
    print_values(\$permit->decision->reason, \$other(\$acquire));
    PHP, ['tokenbucket.shm_path' => $path]);
?>
--EXPECT--
-- another program is denied while this one holds the permit --
'too_many_concurrent 1' true
['held' => 1, 'denied' => 1, 'taken_back' => 0, 'foreign' => 0, 'unavailable' => null]
-- this program opens and closes the file, and renews its permit --
1 true 'too_many_concurrent 1'
-- the control: it does not renew, and the other program takes the permit --
'granted 0' false
['held' => 0, 'denied' => 2, 'taken_back' => 1, 'foreign' => 0, 'unavailable' => null]
['held' => 0, 'denied' => 2, 'taken_back' => 1, 'foreign' => 1, 'unavailable' => null]
-- renew() has locked again, so the next permit is safe --
'granted' 'too_many_concurrent 1'
'granted 0'
-- so has the release of a permit that was taken over --
'granted 0'
'granted' 'too_many_concurrent 1'
