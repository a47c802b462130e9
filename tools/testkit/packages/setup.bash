# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # folder and code are those of scripts/test-packages
# Runs scripts/setup in a root, and looks for what it leaves behind. scripts/test-packages sources
# this file.

# Prints the names of the services in a root that start at the next boot, by systemd or by init.
enabled_services() {
    find "$1"/etc/systemd/system/*.wants "$1"/etc/rc[2-5].d/S* -type l -printf '%f\n' 2>/dev/null | sed -E 's/^S[0-9]{2}//; s/\.service$//' | sort -u
}

# Succeeds if the enabled services of a root are those in a file, and if no file of scripts/setup is
# left.
leaves_nothing() {
    diff "$2" <(enabled_services "$1") && not test -e "$1/usr/sbin/policy-rc.d" && not test -e "$1/var/lib/tokenbucket-setup" \
        && not grep -rq tokenbucket-setup "$1/var/lib/systemd"
}

# Succeeds if the policy of a killed run lets a service start, and if it denies that only while a
# run works. A service that was not installed by the run always starts.
allows_starts() {
    # shellcheck disable=SC2016 # expanded by the other shell
    in_root "$1" sh -ec 'policy=/usr/sbin/policy-rc.d
        $policy redis-server start
        $policy --quiet redis-server start 5
        exec 9</var/lib/dpkg
        flock 9
        $policy php8.2-fpm restart
        if $policy --quiet redis-server start 5 || $policy redis-server.service start; then exit 1; fi'
}

# Kills all processes of scripts/setup at once when Redis is unpacked, and not configured.
kill_setup() {
    local root=$1 run
    in_root "$root" sh -c 'cd /project && exec scripts/setup stores' &
    run=$!
    until [[ -e $root/usr/bin/redis-server ]]; do
        kill -0 "$run" || return
        sleep 0.05
    done
    # This is unshare, which kills its child, and with it all processes of the root.
    pkill -KILL -P "$run"
    wait "$run" || true
    [[ -e $root/usr/sbin/policy-rc.d && -e $root/var/lib/tokenbucket-setup ]]
}

# Installs servers in a root whose user has php-fpm.
setup() {
    local root=$folder/setup before=$folder/enabled
    make_root bookworm bookworm install_php 8.2 >"$folder/log" 2>&1 || { tail -n 20 "$folder/log"; echo "FAIL a root of bookworm"; code=1; return; }
    mkdir -p "$root"
    tar -C "$root" -xf target/roots/bookworm.tar
    mkdir "$root/project"
    cp -r scripts "$root/project"
    enabled_services "$root" >"$before"
    check 'setup: the user has php-fpm' grep -x 'php8.2-fpm' "$before"
    check 'setup: is killed while it installs Redis' kill_setup "$root"
    check 'setup: a killed run enables no service' diff "$before" <(enabled_services "$root")
    check 'setup: the policy of a killed run denies nothing' allows_starts "$root"
    check 'setup: the next run ends' in_root "$root" sh -c 'cd /project && scripts/setup stores && redis-server --version'
    check 'setup: the next run leaves no service enabled, and no policy' leaves_nothing "$root" "$before"
    check 'setup: a user enables Redis later' in_root "$root" sh -c 'update-rc.d redis-server enable'
    check 'setup: a run keeps what the user enabled' in_root "$root" sh -c 'cd /project && scripts/setup demo'
    check 'setup: an enabled service is seen (control)' not leaves_nothing "$root" "$before"
    echo redis-server >>"$before"
    check 'setup: nothing else is enabled' diff <(sort -u "$before") <(enabled_services "$root")
}
