<?php

declare(strict_types=1);

namespace TokenBucket;

class StorageException extends \RuntimeException implements Exception {}
