--TEST--
PHP blocks of README.md, CONTRIBUTING.md, the tutorial, the reference and the explanations print the documented output
--EXTENSIONS--
apcu
igbinary
msgpack
memcached
redis
mysqlnd
pdo
pdo_mysql
pdo_pgsql
pdo_sqlite
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/documents.php';

$root = dirname(__DIR__, 2);
$paths = array_merge(...array_map(fn ($pattern) => glob("$root/$pattern"), explode(' ', 'README.md CONTRIBUTING.md docs/*.md docs/reference/*.md docs/explanation/*.md')));
run_documents(...$paths);
echo count($paths) > 0 ? 'done' : 'no documents', "\n";
?>
--EXPECT--
done
