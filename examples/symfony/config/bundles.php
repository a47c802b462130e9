<?php

return [
    Symfony\Bundle\FrameworkBundle\FrameworkBundle::class => ['all' => true],
    // The environment "plain" runs without the bridge, so that both can be compared.
    TokenBucket\Bridge\Symfony\TokenBucketBundle::class => ['all' => true, 'plain' => false, 'unlimited' => false],
];
