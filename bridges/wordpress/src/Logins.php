<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\WordPress;

use IXR_Error;
use WP_Application_Passwords;
use WP_Error;
use WP_User;

/** Limits logins: by form, by XML-RPC, and by application passwords of the REST API. */
final class Logins
{
    private const VERIFIERS = ['wp_authenticate_username_password', 'wp_authenticate_email_password', 'wp_authenticate_application_password'];

    private ?Attempt $attempt = null;
    private ?WP_Error $denial = null;
    /** @var list<string> the verifiers that were removed for this call */
    private array $removed = [];
    private ?Attempt $application = null;
    private ?WP_Error $applicationDenial = null;

    public function __construct(private readonly Limits $limits)
    {
    }

    public function register(): void
    {
        add_filter('authenticate', $this->begin(...), 0, 3);
        add_filter('authenticate', $this->end(...), PHP_INT_MAX);
        // Core verifies application passwords at 20.
        add_filter('determine_current_user', $this->beginApplication(...), 19);
        add_action('application_password_did_authenticate', $this->applicationSucceeded(...));
        add_filter('rest_authentication_errors', fn ($result) => $this->applicationDenial ?? $result, PHP_INT_MAX);
        add_filter('xmlrpc_login_error', $this->xmlRpcError(...), 10, 2);
    }

    private function begin($user, $name, #[\SensitiveParameter] $password)
    {
        $this->attempt = $this->denial = null;
        // Core verifies no empty name or password.
        if ($user instanceof WP_User || empty($name) || empty($password) || Limits::exempt()) {
            return $user;
        }
        $this->attempt = new Attempt($this->limits, 'login');
        $this->denial = $this->attempt->begin((string) $name);
        if ($this->denial === null) {
            return $user;
        }
        $this->attempt = null;
        // Core's verifiers ignore an error, because they overwrite it.
        $this->removed = array_values(array_filter(self::VERIFIERS, static fn ($verifier) => remove_filter('authenticate', $verifier, 20)));
        return $this->denial;
    }

    private function end($user)
    {
        foreach ($this->removed as $verifier) {
            add_filter('authenticate', $verifier, 20, 3);
        }
        $this->removed = [];
        if ($this->denial !== null) {
            return $this->denial;
        }
        if ($user instanceof WP_User) {
            $this->attempt?->succeed($user->ID);
        }
        $this->attempt = null;
        return $user;
    }

    private function xmlRpcError($error, $cause)
    {
        return $cause === $this->denial && $cause !== null ? new IXR_Error(429, wp_strip_all_tags($cause->get_error_message())) : $error;
    }

    /** Counts the application password of a request once, although core may verify it again. */
    private function beginApplication($user)
    {
        if (!empty($user) || $this->application !== null || !self::verifiesApplicationPassword() || Limits::exempt()) {
            return $user;
        }
        $this->application = new Attempt($this->limits, 'application');
        $this->applicationDenial = $this->application->begin((string) $_SERVER['PHP_AUTH_USER']);
        if ($this->applicationDenial !== null) {
            remove_filter('determine_current_user', 'wp_validate_application_password', 20);
        }
        return $user;
    }

    /** XML-RPC also accepts application passwords at `authenticate`, whose end counts them. */
    private function applicationSucceeded(WP_User $user): void
    {
        if (!doing_filter('authenticate')) {
            $this->application?->succeed($user->ID);
        }
    }

    /** Reports whether core will verify an application password of this request. */
    private static function verifiesApplicationPassword(): bool
    {
        if (!isset($_SERVER['PHP_AUTH_USER'], $_SERVER['PHP_AUTH_PW']) || !WP_Application_Passwords::is_in_use() || !wp_is_application_passwords_available()) {
            return false;
        }
        $isApi = defined('XMLRPC_REQUEST') && XMLRPC_REQUEST || defined('REST_REQUEST') && REST_REQUEST;
        return (bool) apply_filters('application_password_is_api_request', $isApi);
    }
}
