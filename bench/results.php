<?php
/** Prints as one JSON document, a row a line, what a run has kept: its circumstances, then rows, a line each. */
$rows = file($argv[1], FILE_IGNORE_NEW_LINES);
$circumstances = json_decode(array_shift($rows), true, 512, JSON_THROW_ON_ERROR);
array_map(fn (string $row) => json_decode($row, true, 512, JSON_THROW_ON_ERROR), $rows);
echo "{\n";
foreach ($circumstances as $name => $value) {
    printf("\"%s\": %s,\n", $name, json_encode($value, JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR));
}
echo "\"rows\": [\n", implode(",\n", $rows), "\n]}\n";
