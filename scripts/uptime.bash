# shellcheck shell=bash
# Runs commands as if the host had been up for another time. Other scripts source this file after
# scripts/php.bash.

# The command that runs another one with the chosen uptime.
on_host=()

# Chooses the uptime in seconds of a command that begins now. Fails if the kernel or this user
# cannot.
on_host_up() {
    # shellcheck disable=SC2016 # PHP's variables
    read -ra on_host < <("$PHP" -n -r 'require "tools/testkit/php/clocks.php"; echo at_uptime((int) $argv[1]), "\n";' "$1")
    if [[ ${#on_host[@]} -eq 0 ]]; then
        echo "time namespaces are not permitted"
        return 1
    fi
}
