--TEST--
HTML and any bytes in identifiers and namespaces stay text on the status page
--SKIPIF--
<?php require __DIR__ . '/../08_guard/skip_nginx.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/site.inc.php';
require __DIR__ . '/cells.inc.php';

$texts = [
    '<script>alert(1)</script>' => '<script>alert(1)</script>',
    '<img src=x onerror=alert(2)>' => '<img src=x onerror=alert(2)>',
    '"><svg onload=alert(3)>' => '"><svg onload=alert(3)>',
    "</script><script>alert(4)//\xff" => '</script><script>alert(4)//\xff',
    "\0\x1b[31m\r\n\u{202e}<i>" => '\x00\x1b[31m\x0d\x0a\xe2\x80\xae<i>',
    '&lt;b&gt; ü' => '&lt;b&gt; ü',
];
// The random secret of a segment may put two identifiers into one entry, which keeps only one.
for ($round = 0, $kept = []; $round < 20 && count($kept) < count($texts); $round++) {
    $site = new Site(['tokenbucket.track_identifiers' => '1']);
    foreach (array_keys($texts) as $bytes) {
        $site->take(50, $bytes, $bytes);
    }
    $kept = $site->status()['most_denied'];
}
/** Returns the elements that a page must not have. */
$foreign = fn (): int => preg_match_all('~<(script|img|svg|i>\s*</code)|\son(error|load)=[^&]*>~', $site->get('status')[2]);
$all = ['SHOW_IDENTIFIERS = false' => 'SHOW_IDENTIFIERS = true'];
$site->open_page($all);
check($foreign() === 0, 'found foreign elements');
foreach (['identifiers', 'namespaces'] as $part) {
    preg_match_all('~<th scope="row"><code>(.*?)</code>~s', part($site->get('status')[2], $part), $shown);
    check(array_diff($texts, array_map(html_entity_decode(...), $shown[1])) === [], "$part: " . json_encode($shown[1]));
}

// The control: the same check must find a page that does not escape.
$site->open_page([...$all, "htmlspecialchars(preg_replace_callback(\$hidden, \$escape, \$bytes), ENT_QUOTES | ENT_SUBSTITUTE, 'UTF-8')" => 'preg_replace("/[^ -~]/", "?", $bytes)']);
check($foreign() > 0, 'control');
echo "Done.\n";
?>
--EXPECT--
Done.
