<?php

return [
    // False leaves all limits to Laravel.
    'enabled' => env('TOKENBUCKET_ENABLED', true),

    // 'shared-memory', a DSN of Redis ('redis://…', 'rediss://…' or 'unix:///…'), or
    // 'memcached://host:port,host:port'. To use another storage, bind TokenBucketStorage.
    'storage' => env('TOKENBUCKET_STORAGE', 'shared-memory'),

    // Separates applications that share a storage. Null means 'tokenbucket:', followed by the
    // prefix of Laravel's cache and by a hash of the application's directory. Set a prefix if
    // several hosts or releases, with different directories, share a storage. Do not set it to the
    // prefix of the cache.
    'prefix' => env('TOKENBUCKET_PREFIX'),

    // Seconds that one call to Redis or memcached may take.
    'timeout' => env('TOKENBUCKET_TIMEOUT', 0.05),

    // Decides while Redis or memcached fails: 'Local', 'Allow', 'Deny' or 'Throw'.
    'on_failure' => env('TOKENBUCKET_ON_FAILURE', 'Local'),

    // The decay times whose limits are windows of the calendar: 'minute', 'hour', 'day' and 'week',
    // with commas between them. The whole limit comes back at the start of a window, in
    // app.timezone. The other limits refill continuously.
    'windows' => env('TOKENBUCKET_WINDOWS', ''),

    // True lets every request of a throttled route pass, and sends no headers. The attribute
    // ThrottleRequests::DECISIONS of the request has the decision.
    'observe' => env('TOKENBUCKET_OBSERVE', false),

    // The attempts and seconds of keys that are passed to RateLimiter::hit(), tooManyAttempts(),
    // remaining(), attempts() or availableIn(), such as 'login:*' => [5, 60]. These methods get
    // only one of the two numbers. Routes, and keys that attempt() uses first, need no line here.
    'limits' => [],
];
