<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\WordPress;

use IXR_Error;
use WP_Error;
use WP_Hook;
use WP_User;

/** Limits logins: by form, by XML-RPC, and by application passwords of the REST API. */
final class Logins
{
    /** The priority at which core verifies passwords. */
    private const CORE = 20;

    /**
     * The calls of `authenticate` that have not ended. Other plugins may call this filter again
     * during a call.
     *
     * @var list<array{?Attempt, ?WP_Error, array}> the attempt, the error of a denial, and the
     *     callbacks that were removed for the call
     */
    private array $calls = [];
    /** @var array<int, true> the users who logged in during this request */
    private array $succeeded = [];
    private ?WP_Error $denial = null;
    private ?Attempt $application = null;
    private ?WP_Error $applicationDenial = null;

    /** The callback that ends a call: one object, because WordPress finds callbacks by object. */
    private readonly \Closure $end;

    public function __construct(private readonly Limits $limits)
    {
        $this->end = $this->end(...);
    }

    public function register(): void
    {
        // begin() runs before other plugins verify the password.
        add_filter('authenticate', $this->begin(...), PHP_INT_MIN, 3);
        add_filter('authenticate', $this->end, PHP_INT_MAX);
        add_action('shutdown', $this->exited(...), 0);
        add_action('wp_login', $this->loggedIn(...), PHP_INT_MIN, 2);
        // Some plugins set the cookie, and do not fire wp_login.
        add_action('set_logged_in_cookie', fn ($cookie, $expire, $expiration, $id) => $this->loggedIn('', get_userdata($id)), PHP_INT_MIN, 4);
        // WooCommerce does not fire after_password_reset.
        add_action('password_reset', $this->passwordReset(...));
        add_filter('application_password_is_api_request', $this->beginApplication(...), PHP_INT_MAX);
        add_action('application_password_did_authenticate', $this->applicationSucceeded(...));
        add_filter('rest_authentication_errors', fn ($result) => $this->applicationDenial ?? $result, PHP_INT_MAX);
        add_filter('xmlrpc_login_error', $this->xmlRpcError(...), 10, 2);
    }

    private function begin($user, $name, #[\SensitiveParameter] $password)
    {
        // Core verifies no empty name or password.
        if ($user instanceof WP_User || empty($name) || empty($password) || Limits::exempt()) {
            $this->calls[] = [null, null, []];
            return $user;
        }
        $attempt = new Attempt($this->limits, 'login');
        $denial = $attempt->begin((string) $name);
        $hook = $GLOBALS['wp_filter']['authenticate'];
        if ($denial === null) {
            $this->calls[] = [$attempt, null, []];
            $this->observe($hook);
            return $user;
        }
        // Another callback would verify the password, overwrite the error, or end the request.
        $this->calls[] = [null, $denial, $hook->callbacks];
        $end = _wp_filter_build_unique_id('authenticate', $this->end, PHP_INT_MAX);
        foreach ($hook->callbacks as $priority => $callbacks) {
            $hook->callbacks[$priority] = $priority === PHP_INT_MAX ? [$end => $callbacks[$end]] : [];
        }
        return $denial;
    }

    private function end($user)
    {
        [$attempt, $this->denial, $removed] = array_pop($this->calls) ?? [null, null, []];
        if ($this->denial !== null) {
            $GLOBALS['wp_filter']['authenticate']->callbacks = $removed;
            return $this->denial;
        }
        if ($user instanceof WP_User) {
            $this->succeed($attempt, $user->ID);
        } elseif ($attempt?->isVerified) {
            $attempt->cancel();
        }
        return $user;
    }

    /** Notes the users whom callbacks return, because a later callback may end the request. */
    private function observe(WP_Hook $hook): void
    {
        foreach (array_keys($hook->callbacks) as $priority) {
            if ($priority !== PHP_INT_MIN && $priority !== PHP_INT_MAX) {
                unset($hook->callbacks[$priority]['tokenbucket']);
                $hook->callbacks[$priority]['tokenbucket'] = ['function' => $this->returned(...), 'accepted_args' => 1];
            }
        }
    }

    private function returned($user)
    {
        $attempt = $this->calls[array_key_last($this->calls) ?? 0][0] ?? null;
        if ($attempt !== null) {
            $isNew = $attempt->user === null && $user instanceof WP_User;
            $isCore = $GLOBALS['wp_filter']['authenticate']->current_priority() === self::CORE;
            // XML-RPC has no field for a code. So a plugin that refuses a password that core has
            // verified as it was sent refuses no wrong code.
            $attempt->isVerified = $attempt->isVerified || $isNew && $isCore && defined('XMLRPC_REQUEST');
            $attempt->user = $user instanceof WP_User ? $user->ID : null;
        }
        return $user;
    }

    /**
     * Ends the attempts of a request that a callback ended: with a form for a second factor, or
     * with an exception.
     */
    private function exited(): void
    {
        $error = error_get_last();
        $isThrown = ($error['type'] ?? 0) === E_ERROR && str_starts_with($error['message'], 'Uncaught ');
        foreach ($this->calls as [$attempt]) {
            if ($attempt?->user !== null) {
                $this->succeed($attempt, $attempt->user);
            } elseif ($isThrown) {
                $attempt?->cancel();
            }
        }
        $this->calls = [];
    }

    private function succeed(?Attempt $attempt, int $user): void
    {
        if ($attempt !== null) {
            $attempt->succeed($user);
            $this->succeeded[$user] = true;
        }
    }

    /** The second factor was right, or another plugin has verified the user. */
    private function loggedIn($name, $user = null): void
    {
        $user ??= get_user_by('login', $name);
        if ($user instanceof WP_User && !isset($this->succeeded[$user->ID]) && !Limits::exempt()) {
            Attempt::succeedLater($this->limits, $user->ID);
        }
    }

    /** A new password makes the guesses of the old one worthless. */
    private function passwordReset(WP_User $user): void
    {
        $network = Limits::network();
        if ($network !== '') {
            $this->limits->lockout('login_lockout', (string) $user->ID, $network)->succeed();
            KnownNetworks::add($user->ID, $network);
        }
        $this->limits->bucket('login_account', (string) $user->ID, '')->reset();
    }

    private function xmlRpcError($error, $cause)
    {
        return $cause === $this->denial && $cause !== null ? new IXR_Error(429, wp_strip_all_tags($cause->get_error_message())) : $error;
    }

    /**
     * Counts the application password of a request once, although core may verify it again. Core
     * asks this filter just before it verifies one.
     */
    private function beginApplication($isApi)
    {
        if (!$isApi || !self::verifiesRequest() || Limits::exempt()) {
            return $isApi;
        }
        if ($this->application === null) {
            $this->application = new Attempt($this->limits, 'application');
            $this->applicationDenial = $this->application->begin((string) $_SERVER['PHP_AUTH_USER']);
        }
        return $this->applicationDenial === null;
    }

    private function applicationSucceeded(WP_User $user): void
    {
        if (self::verifiesRequest()) {
            $this->application?->succeed($user->ID);
        }
    }

    /**
     * Reports whether core verifies the application password in the header of this request. XML-RPC
     * also accepts application passwords at `authenticate`. begin() and end() count those.
     */
    private static function verifiesRequest(): bool
    {
        return array_slice($GLOBALS['wp_current_filter'], -2, 1) === ['determine_current_user'] && isset($_SERVER['PHP_AUTH_USER'], $_SERVER['PHP_AUTH_PW']);
    }
}
