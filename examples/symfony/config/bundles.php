<?php

return [
    Symfony\Bundle\FrameworkBundle\FrameworkBundle::class => ['all' => true],
    // The environment "plain" runs without the bridge, to compare it.
    TokenBucket\Bridge\Symfony\TokenBucketBundle::class => ['all' => true, 'plain' => false, 'unlimited' => false],
];
