<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\WordPress;

use IXR_Error;
use WP_Error;
use WP_User;

/** Limits logins: by form, by XML-RPC, and by application passwords of the REST API. */
final class Logins
{
    private const VERIFIERS = ['wp_authenticate_username_password', 'wp_authenticate_email_password', 'wp_authenticate_application_password'];

    /**
     * The calls of `authenticate` that have not ended. Other plugins may call this filter again
     * during a call.
     *
     * @var list<array{?Attempt, ?WP_Error, list<string>}> the attempt, the error of a denial, and
     *     the verifiers that were removed for the call
     */
    private array $calls = [];
    private ?WP_Error $denial = null;
    private ?Attempt $application = null;
    private ?WP_Error $applicationDenial = null;

    public function __construct(private readonly Limits $limits)
    {
    }

    public function register(): void
    {
        // begin() runs before other plugins verify the password.
        add_filter('authenticate', $this->begin(...), PHP_INT_MIN, 3);
        add_filter('authenticate', $this->end(...), PHP_INT_MAX);
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
        if ($denial === null) {
            $this->calls[] = [$attempt, null, []];
            return $user;
        }
        // Core's verifiers would overwrite the error, so they are removed for this call.
        $removed = array_values(array_filter(self::VERIFIERS, static fn ($verifier) => remove_filter('authenticate', $verifier, 20)));
        $this->calls[] = [null, $denial, $removed];
        return $denial;
    }

    private function end($user)
    {
        [$attempt, $this->denial, $removed] = array_pop($this->calls) ?? [null, null, []];
        foreach ($removed as $verifier) {
            add_filter('authenticate', $verifier, 20, 3);
        }
        if ($this->denial !== null) {
            return $this->denial;
        }
        if ($user instanceof WP_User) {
            $attempt?->succeed($user->ID);
        }
        return $user;
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
