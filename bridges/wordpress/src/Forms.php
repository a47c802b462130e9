<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\WordPress;

use WP_Error;
use WP_User;

/** Limits lost passwords, comments and registrations. */
final class Forms
{
    private bool $commentDenied = false;

    public function __construct(private readonly Limits $limits)
    {
    }

    public function register(): void
    {
        add_action('lostpassword_post', $this->lostPassword(...), 100, 2);
        add_filter('wp_is_comment_flood', $this->comment(...), 100);
        add_filter('rest_request_after_callbacks', $this->restComment(...));
        add_filter('registration_errors', $this->registration(...), 100);
        add_action('before_signup_header', $this->signUp(...));
    }

    private function lostPassword($errors, $user = null): void
    {
        if (!$errors instanceof WP_Error || current_user_can('edit_users')) {
            return;
        }
        $name = $_POST['user_login'] ?? '';
        $account = $user instanceof WP_User ? (string) $user->ID : Limits::unknown(is_string($name) ? wp_unslash($name) : '');
        $denial = $this->limits->take([['password_network', '', Limits::network()], ['password_account', $account, '']]);
        if ($denial !== null) {
            // The answer is the same for an unknown account.
            array_map($errors->remove(...), $errors->get_error_codes());
            $errors->merge_from($denial);
        }
    }

    private function comment($flood)
    {
        if ($flood || current_user_can('moderate_comments')) {
            return $flood;
        }
        $this->commentDenied = $this->limits->take([['comment_network', '', Limits::network()]]) !== null;
        return $this->commentDenied;
    }

    /** Core answers a flood of comments by the REST API with status 400. */
    private function restComment($response)
    {
        if ($this->commentDenied && is_wp_error($response) && $response->get_error_code() === 'comment_flood') {
            $response->add_data(['status' => 429]);
        }
        return $response;
    }

    private function registration($errors)
    {
        $denial = $this->limits->take([['registration_network', '', Limits::network()]]);
        if ($denial !== null) {
            $errors->merge_from($denial);
        }
        return $errors;
    }

    /**
     * Limits the sign-up form of a network of sites, before WordPress sends the header of the page.
     */
    private function signUp(): void
    {
        if ($_POST === [] || is_user_logged_in()) {
            return;
        }
        $denial = $this->limits->take([['registration_network', '', Limits::network()]]);
        if ($denial !== null) {
            wp_die($denial, '', 429);
        }
    }
}
