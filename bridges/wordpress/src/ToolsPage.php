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
        $blocks = $this->blocks->all();
        if ($blocks === []) {
            echo '<p>', esc_html__('No client is blocked.', 'tokenbucket'), '</p></div>';
            return;
        }
        echo '<table class="widefat striped"><thead><tr>';
        foreach ([__('Limit', 'tokenbucket'), __('Account', 'tokenbucket'), __('Network', 'tokenbucket'), __('Ends', 'tokenbucket'), ''] as $title) {
            echo '<th scope="col">', esc_html($title), '</th>';
        }
        echo '</tr></thead><tbody>';
        foreach ($blocks as $id => $block) {
            $ends = wp_date(get_option('date_format') . ' ' . get_option('time_format'), $block['until']);
            echo '<tr>';
            foreach ([$block['limit'], Blocks::account($block), $block['network'], $ends] as $cell) {
                echo '<td>', esc_html($cell), '</td>';
            }
            echo '<td><form method="post" action="', esc_url(admin_url('admin-post.php')), '">';
            wp_nonce_field(self::FREE . $id);
            echo '<input type="hidden" name="action" value="', esc_attr(self::FREE), '">';
            echo '<input type="hidden" name="id" value="', esc_attr($id), '">';
            echo '<button class="button">', esc_html__('Free', 'tokenbucket'), '</button></form></td></tr>';
        }
        echo '</tbody></table></div>';
    }

    private function free(): void
    {
        if (!current_user_can(Blocks::capability())) {
            wp_die(esc_html__('Sorry, you are not allowed to do that.', 'tokenbucket'), 403);
        }
        $id = isset($_POST['id']) && is_string($_POST['id']) ? sanitize_key($_POST['id']) : '';
        check_admin_referer(self::FREE . $id);
        $this->blocks->free($id);
        $page = is_multisite() ? network_admin_url('settings.php') : admin_url('tools.php');
        wp_safe_redirect(add_query_arg('page', self::SLUG, $page));
        exit;
    }
}
