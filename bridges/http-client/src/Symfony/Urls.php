<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\HttpClient\Symfony;

use Symfony\Component\HttpClient\Exception\InvalidArgumentException;
use Symfony\Component\HttpClient\HttpClientTrait;
use Symfony\Contracts\HttpClient\HttpClientInterface;

/** Resolves the URLs of requests as Symfony's clients do, from the options of the client. */
final class Urls
{
    use HttpClientTrait;

    /** @param array<string, mixed> $defaults the options base_uri and query of a client */
    private function __construct(private readonly array $defaults)
    {
    }

    /**
     * Reads the options of a client. Symfony's clients state them nowhere, so private properties
     * are read. A client without these properties has no options.
     */
    public static function of(HttpClientInterface $client): self
    {
        $options = [];
        for ($next = $client; $next instanceof HttpClientInterface; $next = $state['client'] ?? null) {
            $state = \Closure::bind(fn () => get_object_vars($this), $next, $next)();
            $scope = $state['defaultOptionsByRegexp'][$state['defaultRegexp'] ?? ''] ?? [];
            $options += array_filter($scope + (array) ($state['defaultOptions'] ?? []));
        }
        return (new self([]))->with($options);
    }

    /** Returns the URLs of a client with further options. */
    public function with(array $options): self
    {
        $query = ($options['query'] ?? []) + ($this->defaults['query'] ?? []);
        return new self(['base_uri' => $options['base_uri'] ?? $this->defaults['base_uri'] ?? null, 'query' => $query]);
    }

    /**
     * Returns the absolute URL of a request, with a host in lower case and without the dot that may
     * end it. Returns a URL that Symfony refuses as it is.
     */
    public function absolute(string $url, array $options = []): string
    {
        $base = $options['base_uri'] ?? $this->defaults['base_uri'];
        try {
            $parts = self::resolveUrl(self::parseUrl($url, $options['query'] ?? []), is_string($base) ? self::parseUrl($base) : $base, $this->defaults['query']);
        } catch (InvalidArgumentException) {
            return $url;
        }
        $parts['authority'] = preg_replace('/\.(?=:\d+$|$)/D', '', $parts['authority']);
        return implode('', $parts);
    }
}
