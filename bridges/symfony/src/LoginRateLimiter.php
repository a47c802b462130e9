<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony;

use Symfony\Component\HttpFoundation\RateLimiter\RequestRateLimiterInterface;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\RateLimiter\LimiterInterface;
use Symfony\Component\RateLimiter\RateLimit as SymfonyRateLimit;
use Symfony\Component\RateLimiter\RateLimiterFactoryInterface;
use Symfony\Component\Security\Http\RateLimiter\DefaultLoginRateLimiter;
use TokenBucket\Quota;

/**
 * Limits logins by address, and by address and user name. Replaces DefaultLoginRateLimiter.
 *
 * An attempt takes its tokens before the password is verified, from both limits or from none. A
 * passport without a secret that can be guessed, such as that of a remembered user, takes none. If
 * an authenticator verifies its secret on its own, the attempt takes its tokens after a failure.
 * Symfony 6.4 and later peek at first, and take the tokens after a failure. Parallel attempts can
 * all pass the peek. So this class does not implement the interface of limiters with peek().
 */
final class LoginRateLimiter implements RequestRateLimiterInterface
{
    /** The attribute of a request: the number of its attempts that took tokens, and the window. */
    private const TAKEN = '_tokenbucket_login';
    /** The attribute of a request: which secret its last passport has. */
    public const SECRET = '_tokenbucket_secret';
    public const IN_PASSPORT = 'in passport';
    public const UNGUESSABLE = 'unguessable';
    /** The authenticator may have verified a secret, or verifies it when it loads the user. */
    public const UNKNOWN = 'unknown';
    /** The constant has moved between versions of Symfony. */
    private const LAST_USERNAME = '_security.last_username';

    public function __construct(
        private readonly RateLimiterFactoryInterface $globalFactory,
        private readonly RateLimiterFactoryInterface $localFactory,
        #[\SensitiveParameter] private readonly string $secret = '',
    ) {
        // Symfony 5.4 has no secret.
        if ($secret === '' && (new \ReflectionMethod(DefaultLoginRateLimiter::class, '__construct'))->getNumberOfParameters() > 2) {
            throw new \InvalidArgumentException('A non-empty secret is required.');
        }
    }

    public function consume(Request $request): SymfonyRateLimit
    {
        $secret = $request->attributes->get(self::SECRET);
        if ($secret === self::UNGUESSABLE) {
            return new SymfonyRateLimit(1, new \DateTimeImmutable(), true, 1);
        }
        if ($secret === self::UNKNOWN) {
            $left = $this->peek($request);
            return $left->getRemainingTokens() > 0 ? $left : new SymfonyRateLimit(0, $left->getRetryAfter(), false, $left->getLimit());
        }
        $limiters = $this->limiters($request);
        $window = self::window($limiters[0]);
        $limit = (new CompoundLimiter($limiters))->consume();
        $request->attributes->set(self::TAKEN, [self::taken($request, $window) + (int) $limit->isAccepted(), $window]);
        return $limit;
    }

    /** Takes the tokens of a failure from each limit as Symfony does, unless consume() has. */
    public function fail(Request $request): void
    {
        if (!$request->attributes->has(self::TAKEN)) {
            array_map(static fn (LimiterInterface $limiter) => $limiter->consume(), $this->limiters($request));
        }
    }

    /** Returns the result of an attempt that takes no tokens. */
    public function peek(Request $request): SymfonyRateLimit
    {
        return (new CompoundLimiter($this->limiters($request)))->consume(0);
    }

    /**
     * Ends a successful login: fills the bucket of this user at this address, and gives back the
     * tokens of the address. The failures of other users at this address still count. The success
     * of a passport that has nothing to guess changes nothing.
     */
    public function reset(Request $request): void
    {
        if ($request->attributes->get(self::SECRET) === self::UNGUESSABLE) {
            return;
        }
        [$global, $local] = $this->limiters($request);
        $local->reset();
        $taken = self::taken($request, self::window($global));
        if ($taken > 0) {
            $request->attributes->remove(self::TAKEN);
            // As in Symfony, a negative number gives tokens back. It cannot name a window. If the
            // window has ended since taken(), and other attempts have taken tokens of the next
            // window, that window gets some of theirs back.
            $global->consume(-$taken);
        }
    }

    /**
     * Returns the tokens that the attempts of a request took and may give back. Once a later window
     * has begun, it has all its tokens, so nothing is given back to it.
     */
    private static function taken(Request $request, ?array $window): int
    {
        [$taken, $itsWindow] = $request->attributes->get(self::TAKEN, [0, null]);
        return $window == $itsWindow ? $taken : 0;
    }

    /**
     * Returns the hash that a limiter has as its key. $key is an address, or a lowercase name, "-"
     * and an address.
     */
    public static function hash(string $key, #[\SensitiveParameter] string $secret): string
    {
        return hash_hmac('sha256', $key, $secret);
    }

    private static function window(LimiterInterface $limiter): ?array
    {
        return $limiter instanceof BucketLimiter && $limiter->bucket instanceof Quota ? $limiter->bucket->window() : null;
    }

    /** @return array{LimiterInterface, LimiterInterface} */
    private function limiters(Request $request): array
    {
        $address = (string) $request->getClientIp();
        $name = (string) $request->attributes->get(self::LAST_USERNAME, '');
        return [
            $this->globalFactory->create(self::hash($address, $this->secret)),
            $this->localFactory->create(self::hash(self::lowercase($name) . "-$address", $this->secret)),
        ];
    }

    public static function lowercase(string $name): string
    {
        return preg_match('//u', $name) ? mb_strtolower($name, 'UTF-8') : strtolower($name);
    }
}
