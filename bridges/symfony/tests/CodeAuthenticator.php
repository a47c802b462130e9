<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Tests;

use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\Security\Core\Authentication\Token\TokenInterface;
use Symfony\Component\Security\Core\Exception\AuthenticationException;
use Symfony\Component\Security\Core\Exception\BadCredentialsException;
use Symfony\Component\Security\Core\User\InMemoryUser;
use Symfony\Component\Security\Http\Authenticator\AbstractAuthenticator;
use Symfony\Component\Security\Http\Authenticator\Passport\Badge\UserBadge;
use Symfony\Component\Security\Http\Authenticator\Passport\Passport;
use Symfony\Component\Security\Http\Authenticator\Passport\SelfValidatingPassport;

/** Verifies a code before it has a passport, or when the user is loaded. */
final class CodeAuthenticator extends AbstractAuthenticator
{
    public function supports(Request $request): ?bool
    {
        return $request->headers->has('X-Code');
    }

    public function authenticate(Request $request): Passport
    {
        $load = static fn () => $request->headers->get('X-Code') === '7' ? new InMemoryUser('alice', null, ['ROLE_USER']) : throw new BadCredentialsException();
        $request->headers->get('X-When') === 'before' && $load();
        return new SelfValidatingPassport(new UserBadge('alice', $load));
    }

    public function onAuthenticationSuccess(Request $request, TokenInterface $token, string $firewallName): ?Response
    {
        return null;
    }

    public function onAuthenticationFailure(Request $request, AuthenticationException $exception): ?Response
    {
        return new Response('', 401);
    }
}
