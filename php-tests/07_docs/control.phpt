--TEST--
Control: a wrong PHP block of a document is reported
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/documents.php';

$document = tempnam(sys_get_temp_dir(), 'tokenbucket-document-');
file_put_contents($document, <<<'MARKDOWN'
Right:
```php
$bucket = new TokenBucket(new TokenBucketStorageMemory(), 'a', 2, 1);
var_dump($bucket->consume(2));
```
```output
bool(true)
```
<!-- run: continue; $again = true; -->
```php
var_dump($bucket->consume() === !$again, microtime(true));
```

```output
bool(true)
float(%f)
```

1. In a list:
   <!-- run: function hello(string $to) { echo "Hello $to\n"; } -->
   ```php
   declare(strict_types=1);
   hello('you');
   ```
   ```output
   Hello %s
   ```

Wrong output, no output, output that is not stated, a warning, an exception, a later mistake:
```php
echo 1 + 1;
```
```output
3
```
```php
1 + 1;
```
```output
2
```
```php
echo 'unstated';
```
```php
echo $undefined;
```
```output
%A
```
```php
new TokenBucket(new TokenBucketStorageMemory(), 'a', 0, 1);
```
```php
$a = 1;
```
<!-- run: continue -->
```php
echo $a;
```
MARKDOWN);
ob_start();
run_documents($document);
echo str_replace($document, 'document', ob_get_clean());
foreach (["```php\necho 1;\n", "<!-- run: continue -->\n```php\n```\n"] as $broken) {
    file_put_contents($document, $broken);
    try {
        run_documents($document);
    } catch (RuntimeException $e) {
        echo $e->getMessage(), "\n";
    }
}
unlink($document);
?>
--EXPECTF--
document:30 prints:
2

document:36 prints:


document:42 prints:
unstated

document:45 prints:
Warning: Undefined variable $undefined in %s on line %d

document:51 prints:
%AValueError: TokenBucket::__construct(): Argument #3 ($bucket_capacity) must be greater than 0 in %a
%a

document:58 prints:
1

A block is not closed
The first block continues nothing
