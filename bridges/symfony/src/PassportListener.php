<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony;

use Symfony\Component\HttpFoundation\RequestStack;
use Symfony\Component\Security\Http\Authenticator\Passport\Credentials\CredentialsInterface;
use Symfony\Component\Security\Http\Event\CheckPassportEvent;
use Symfony\Component\Security\Http\Event\LoginFailureEvent;

/**
 * Tells LoginRateLimiter which secret a passport has. A passport of Symfony's own authenticators
 * without credentials has none that can be guessed: the signatures of remembered users, login links
 * and access tokens are long. Other authenticators may verify a code on their own.
 */
final class PassportListener
{
    private const SYMFONYS = 'Symfony\\Component\\Security\\Http\\Authenticator\\';

    public function __construct(private readonly RequestStack $requests, private readonly LoginRateLimiter $limiter)
    {
    }

    public function check(CheckPassportEvent $event): void
    {
        $credentials = array_filter($event->getPassport()->getBadges(), static fn (object $badge) => $badge instanceof CredentialsInterface);
        $this->requests->getMainRequest()?->attributes->set(LoginRateLimiter::SECRET, match (true) {
            $credentials !== [] => LoginRateLimiter::IN_PASSPORT,
            self::isSymfonys($event->getAuthenticator()) => LoginRateLimiter::UNGUESSABLE,
            default => LoginRateLimiter::UNKNOWN,
        });
    }

    public function fail(LoginFailureEvent $event): void
    {
        if (!self::isSymfonys($event->getAuthenticator())) {
            $this->limiter->fail($event->getRequest());
        }
    }

    private static function isSymfonys(object $authenticator): bool
    {
        // Debug mode decorates authenticators.
        $inner = method_exists($authenticator, 'getAuthenticator') ? $authenticator->getAuthenticator() : $authenticator;
        return str_starts_with($inner::class, self::SYMFONYS);
    }
}
