--TEST--
In Chromium: an operator frees a client of the guard, and the form of another site cannot
--SKIPIF--
<?php require __DIR__ . '/skipif_chromium.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/site.inc.php';
require __DIR__ . '/../08_guard/operator.inc.php';
require __DIR__ . '/../../tools/testkit/php/chromium.php';

$site = new Site([
    'tokenbucket.guard' => 'on /limited ip 2/day block 1 day', 'tokenbucket.guard_password_hash' => password_hash_of('right'),
]);
$url = $site->open_page();
$other_site = strtr($site->url, ['127.0.0.1' => 'localhost']);
$site->script('evil', <<<PHP
    <form method="post" action="$url?client"><input name="token" value=""><input name="limit" value="guard: on /limited ip 2/day burst 2 block 1 day">
    <input name="client" value="127.0.0.2"><input name="password" value="<?= htmlspecialchars(\$_GET['password'] ?? 'wrong') ?>"><input name="action" value="reset"></form>
    <script>document.forms[0].submit()</script>
    PHP);
$limited = fn (int $count): string => implode(' ', array_map(fn () => $site->get('limited', [], '127.0.0.2')[0], range(1, $count)));

$browser = new Chromium();
/** Fills in the form, presses a button, and returns the sentence of the reply. */
$send = function (string $button, string $password = 'right') use ($browser): string {
    $browser->run(<<<'JS'
        document.title = 'sent';
        document.querySelector('[name=client]').value = '127.0.0.2';
        document.querySelector('[name=password]').value = arguments[1];
        document.querySelector(`button[value=${arguments[0]}]`).click();
        JS, $button, $password);
    $browser->wait_for('document.title !== "sent" && document.querySelector("[role=status]")');
    return $browser->text('[role=status]');
};

echo "-- an operator frees a client\n", $limited(3), "\n";
foreach ([true, false] as $scripts) {
    $browser->use_scripts($scripts);
    $browser->open($url);
    $browser->run('document.querySelector("[href=\'?client\']").click()');
    $browser->wait_for('document.querySelector("form")');
    echo $send('peek'), ' ', $send('reset', 'wrong'), ' ', $send('reset'), ' ', $limited(3), "\n";
    check($browser->run('return document.querySelector("[name=password]").value') === '', 'the password is not filled in');
    // The browser reports the reply to the wrong password, which has the status 403.
    $messages = preg_grep('/ 403 /', $browser->console(), PREG_GREP_INVERT);
    check($messages === [], json_encode($messages));
}
foreach ([1_200, 360] as $width) {
    foreach (['light', 'dark'] as $scheme) {
        $browser->show_as($width, $scheme);
        $wide = $browser->run('return [...document.querySelectorAll("main *")].filter(e => e.getBoundingClientRect().right > innerWidth).length');
        check($wide === 0, "$width px, $scheme: $wide elements are outside");
    }
}

echo "-- the page of another site sends the form\n";
$browser->use_scripts(true);
foreach (['right', ...array_fill(0, 6, 'wrong')] as $password) {
    $browser->open("$other_site/evil?password=$password");
    $browser->wait_for('document.querySelector("[role=status]")');
    $said[] = $browser->text('[role=status]');
}
echo implode("\n", array_unique($said)), "\n", $limited(1), "\n";
$browser->open("$url?client");
echo $send('reset'), "\n";
?>
--EXPECT--
-- an operator frees a client
200 200 429
127.0.0.2 is denied for 24 hours. The password is wrong. 127.0.0.2 is free. 200 200 429
127.0.0.2 is denied for 24 hours. The password is wrong. 127.0.0.2 is free. 200 200 429
-- the page of another site sends the form
This form has expired, so nothing was done. Send it again.
429
127.0.0.2 is free.
