<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\WordPress;

/** The page that lists blocks and frees them: Tools, or the settings of a network. */
final class ToolsPage
{
    private const SLUG = 'tokenbucket';
    private const FREE = 'tokenbucket_free';

    public function __construct(private readonly Blocks $blocks)
    {
    }

    public function register(): void
    {
        add_action(is_multisite() ? 'network_admin_menu' : 'admin_menu', function (): void {
            $parent = is_multisite() ? 'settings.php' : 'tools.php';
            $title = __('Blocked clients', 'tokenbucket');
            add_submenu_page($parent, $title, $title, Blocks::capability(), self::SLUG, $this->show(...));
        });
        add_action('admin_post_' . self::FREE, $this->free(...));
    }

    private function show(): void
    {
        echo '<div class="wrap"><h1>', esc_html__('Blocked clients', 'tokenbucket'), '</h1>';
        if (isset($_GET['ended'])) {
            $text = $_GET['ended'] === '1' ? __('The block has ended. The client can try again.', 'tokenbucket') : __('This block had already ended.', 'tokenbucket');
            echo '<div class="notice notice-success is-dismissible"><p>', esc_html($text), '</p></div>';
        }
        echo '<p>', esc_html__('Too many attempts block a client until the time in the last column. If somebody you know is blocked, end the block. If an attacker guesses passwords, leave it.', 'tokenbucket'), '</p>';
        [$account, $network] = $this->search();
        $blocks = array_filter($this->blocks->all(), static fn ($block) => ($account === '' || in_array($block['account'], ['', $account], true)) && ($network === '' || in_array($block['network'], ['', $network], true)));
        if ($blocks === []) {
            echo '<p>', esc_html($account . $network === '' ? __('No client is blocked.', 'tokenbucket') : __('This client is not blocked.', 'tokenbucket')), '</p></div>';
            return;
        }
        $this->table($blocks);
        echo '</div>';
    }

    /**
     * Prints the form that searches a client, and finds the blocks of the client that it names.
     *
     * @return array{string, string} the account and the network, or ''
     */
    private function search(): array
    {
        $typed = array_map(static fn ($name) => is_string($_GET[$name] ?? null) ? sanitize_text_field(wp_unslash($_GET[$name])) : '', ['user' => 'user', 'address' => 'address']);
        echo '<form method="get"><input type="hidden" name="page" value="', esc_attr(self::SLUG), '"><p class="search-box" style="float: none">';
        foreach (['user' => __('User name or e-mail address', 'tokenbucket'), 'address' => __('IP address', 'tokenbucket')] as $name => $label) {
            echo '<label>', esc_html($label), ' <input type="text" name="', esc_attr($name), '" value="', esc_attr($typed[$name]), '"></label> ';
        }
        echo '<button class="button">', esc_html__('Search', 'tokenbucket'), '</button></p></form>';
        $account = $typed['user'] === '' ? '' : Limits::accounts($typed['user'])[0];
        $network = $typed['address'] === '' ? '' : Limits::networkOf(preg_replace('~/64$~', '', $typed['address']));
        if ($account . $network !== '') {
            $this->blocks->find($account, $network);
        }
        if ($account !== '' && $network === '') {
            echo '<p>', esc_html__('Wrong passwords are counted for each account and network. Also enter the IP address of the user to find this block.', 'tokenbucket'), '</p>';
        }
        return [$account, $network];
    }

    /** @param array<string, array> $blocks */
    private function table(array $blocks): void
    {
        echo '<table class="widefat striped"><thead><tr>';
        foreach ([__('Too many', 'tokenbucket'), __('Account', 'tokenbucket'), __('Network', 'tokenbucket'), __('Ends', 'tokenbucket')] as $title) {
            echo '<th scope="col">', esc_html($title), '</th>';
        }
        echo '<td></td></tr></thead><tbody>';
        foreach ($blocks as $id => $block) {
            $ends = wp_date(get_option('date_format') . ' ' . get_option('time_format'), $block['until']);
            $cells = [Blocks::title($block['limit']), Blocks::account($block), $block['network'], $ends];
            echo '<tr>';
            foreach ($cells as $cell) {
                echo '<td>', esc_html($cell), '</td>';
            }
            echo '<td><form method="post" action="', esc_url(admin_url('admin-post.php')), '">';
            wp_nonce_field(self::FREE . $id);
            echo '<input type="hidden" name="action" value="', esc_attr(self::FREE), '">';
            echo '<input type="hidden" name="id" value="', esc_attr($id), '">';
            /* translators: 1: what was done too often, 2: account, 3: network */
            $label = trim(sprintf(__('End the block: %1$s %2$s %3$s', 'tokenbucket'), ...$cells));
            echo '<button class="button" aria-label="', esc_attr($label), '">', esc_html__('End the block', 'tokenbucket'), '</button></form></td></tr>';
        }
        echo '</tbody></table>';
    }

    private function free(): void
    {
        if (!current_user_can(Blocks::capability())) {
            wp_die(esc_html__('Sorry, you are not allowed to do that.', 'tokenbucket'), 403);
        }
        $id = isset($_POST['id']) && is_string($_POST['id']) ? sanitize_key($_POST['id']) : '';
        check_admin_referer(self::FREE . $id);
        $ended = (int) $this->blocks->free($id);
        $page = is_multisite() ? network_admin_url('settings.php') : admin_url('tools.php');
        wp_safe_redirect(add_query_arg(['page' => self::SLUG, 'ended' => $ended], $page));
        exit;
    }
}
