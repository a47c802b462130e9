<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony;

use Symfony\Component\HttpFoundation\RequestStack;
use Symfony\Component\Security\Http\Authenticator\Passport\Credentials\CredentialsInterface;
use Symfony\Component\Security\Http\Event\CheckPassportEvent;

/**
 * Tells LoginRateLimiter whether a passport has a secret that can be guessed. A remembered user, a
 * login link and an access token have none, because their signatures are long.
 */
final class PassportListener
{
    public function __construct(private readonly RequestStack $requests)
    {
    }

    public function __invoke(CheckPassportEvent $event): void
    {
        $badges = $event->getPassport()->getBadges();
        $secrets = array_filter($badges, static fn (object $badge) => $badge instanceof CredentialsInterface);
        $this->requests->getMainRequest()?->attributes->set(LoginRateLimiter::UNGUESSABLE, $secrets === []);
    }
}
