--TEST--
INI: each setting has its documented default and scope
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

fold_equal_lines();
const ACCESS = [INI_SYSTEM => 'SYSTEM', INI_PERDIR => 'PERDIR', INI_SYSTEM | INI_PERDIR => 'PERDIR', INI_ALL => 'ALL'];
foreach (ini_get_all('tokenbucket') as $name => $setting) {
    printf("%s = '%s' %s\n", $name, $setting['global_value'], ACCESS[$setting['access']] ?? $setting['access']);
}
preg_match_all('/^;(tokenbucket\.\w+) = "?(.*?)"?$/m', file_get_contents(__DIR__ . '/../../packaging/tokenbucket.ini'), $found);
$listed = array_combine($found[1], $found[2]);
check($listed == array_map(fn (array $setting) => (string) $setting['global_value'], ini_get_all('tokenbucket')), json_encode($listed));
echo "-- at run time --\n";
foreach (ini_get_all('tokenbucket') as $name => $setting) {
    print_values(ini_set($name, '1'), ini_get($name) === $setting['global_value']);
}
?>
--EXPECT--
tokenbucket.failure_report = 'log' SYSTEM
tokenbucket.guard = '' SYSTEM
tokenbucket.guard_allow = '' SYSTEM
tokenbucket.guard_headers = '0' SYSTEM
tokenbucket.guard_local = '' PERDIR
tokenbucket.guard_max_age = '' SYSTEM
tokenbucket.guard_mode = 'enforce' SYSTEM
tokenbucket.guard_password_hash = '' SYSTEM
tokenbucket.guard_preflights = '' SYSTEM
tokenbucket.guard_trusted_proxies = '' SYSTEM
tokenbucket.namespace = '' PERDIR
tokenbucket.shm_full = 'evict' SYSTEM
tokenbucket.shm_group = '' SYSTEM
tokenbucket.shm_mode = '0600' SYSTEM
tokenbucket.shm_path = '' SYSTEM
tokenbucket.shm_size = '32M' SYSTEM
tokenbucket.track_identifiers = '0' SYSTEM
-- at run time --
false true (17 times)
