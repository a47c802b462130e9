<?php

return [
    'redis' => [
        'client' => 'phpredis',
        'default' => ['host' => env('REDIS_HOST', '127.0.0.1'), 'port' => (int) env('REDIS_PORT', 6379), 'persistent' => true],
    ],
];
