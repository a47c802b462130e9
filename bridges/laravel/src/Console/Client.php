<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel\Console;

use Illuminate\Contracts\Auth\Authenticatable;
use Illuminate\Http\Request;
use Illuminate\Routing\Route;
use Illuminate\Support\Arr;
use Throwable;

/** A client whom an operator names, by its address, its user, or a field of its requests. */
final class Client
{
    /** The address of requests for which the operator names none. */
    private const NOWHERE = '::';

    /**
     * @param ?Authenticatable $user the user, if the key names one
     * @param ?string $field the input or the header that has the key
     * @param ?string $address the address, if the key is another value
     */
    public function __construct(
        private readonly string $key,
        private readonly ?Authenticatable $user = null,
        private readonly ?string $field = null,
        private readonly ?string $address = null,
    ) {
    }

    public static function isAddress(string $key): bool
    {
        return filter_var($key, FILTER_VALIDATE_IP) !== false;
    }

    /** Returns a client that differs from this one in each value that the operator named. */
    public function another(): self
    {
        $address = sprintf('2001:db8::%x', random_int(1, 0xffff));
        $key = self::isAddress($this->key) ? $address : bin2hex(random_bytes(16));
        return new self($key, self::anotherUser($this->user), $this->field, $this->address === null ? null : $address);
    }

    /** Returns a request of the client. */
    public function request(): Request
    {
        $input = [];
        $server = ['REMOTE_ADDR' => $this->address ?? (self::isAddress($this->key) ? $this->key : self::NOWHERE)];
        if ($this->field !== null) {
            Arr::set($input, $this->field, $this->key);
            $server['HTTP_' . strtoupper(strtr($this->field, '-', '_'))] = $this->key;
        }
        $request = Request::create('/', 'POST', $input, [], [], $server);
        $request->setUserResolver(fn () => $this->user);
        $route = (new Route('POST', '/', fn () => null))->bind($request);
        return $request->setRouteResolver(fn () => $route);
    }

    /** Returns a user with another id, or null if the class cannot represent one. */
    private static function anotherUser(?Authenticatable $user): ?Authenticatable
    {
        if ($user === null) {
            return null;
        }
        try {
            $another = clone $user;
            $another->{$user->getAuthIdentifierName()} = is_int($user->getAuthIdentifier()) ? random_int(2 ** 61, 2 ** 62) : bin2hex(random_bytes(16));
            return $another->getAuthIdentifier() === $user->getAuthIdentifier() ? null : $another;
        } catch (Throwable) {
            return null;
        }
    }
}
