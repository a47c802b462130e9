# shellcheck shell=bash
# Installs Debian packages for each purpose of scripts/setup.
# shellcheck source=scripts/setup.d/services.bash
source scripts/setup.d/services.bash

# The arguments of scripts/setup, for messages.
purpose=${*:-build}

build=(gcc libc6-dev make php8.2-cli php8.2-dev libclang-dev clang)
# The packages that PHP's source needs. xz-utils unpacks it.
php_build=(pkg-config libffi-dev libpq-dev libsqlite3-dev zlib1g-dev xz-utils)
peers=(php8.2-apcu php8.2-opcache)
servers=(redis-server memcached mariadb-server postgresql)
monitoring=(prometheus nginx-light)
clients=(php8.2-redis php8.2-memcached php8.2-mysql php8.2-pgsql php8.2-sqlite3)
# The limiters that scripts/bench compares with ours. illuminate needs mbstring.
limiters=(php-symfony-rate-limiter php-symfony-cache php-illuminate-cache php-illuminate-redis php8.2-mbstring)

# Ends the script without an error, because the calling script continues without the programs.
unavailable() {
    echo "$purpose is not available: $1" >&2
    exit 0
}

# Sets missing to the packages that are not installed.
find_missing() {
    local package installed
    # The format has dpkg's variables. dpkg-query fails if it does not know a package.
    # shellcheck disable=SC2016
    installed=$(dpkg-query --show --showformat='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true)
    missing=()
    for package in "$@"; do
        if [[ $'\n'$installed$'\n' != *$'\n'"installed $package"$'\n'* ]]; then
            missing+=("$package")
        fi
    done
}

# Reports whether this user, or the one who called sudo, has Rust.
has_rust() {
    local home
    home=$(getent passwd "${SUDO_USER:-$(id -un)}" | cut -d : -f 6)
    command -v cargo >/dev/null || [[ -x $home/.cargo/bin/cargo ]]
}

# Installs the packages that are missing, and Debian's newest Rust if it is missing, as root or with
# sudo.
install_packages() {
    local missing packages=("$@")
    has_rust || packages+=(cargo-web)
    if ! grep -qs '^12' /etc/debian_version; then
        echo "This is not Debian 12, so nothing is installed. On Debian 12 it would be: ${packages[*]}" >&2
        return
    fi
    find_missing "${packages[@]}"
    # A list of services is that of a killed run, or of one that works now.
    if [[ ${#missing[@]} -eq 0 && ($EUID -ne 0 || ! -e $services) ]]; then
        return
    fi
    if [[ $EUID -ne 0 ]]; then
        install_with_sudo "$@"
        return
    fi
    install_missing "${packages[@]}" 9</var/lib/dpkg
}

# Does the same with sudo, which asks for a password only if a person can see that.
install_with_sudo() {
    local ask=(--non-interactive)
    [[ ! -t 0 ]] || ask=()
    # shellcheck disable=SC2016 # the packages of the inner bash
    if ! command -v sudo >/dev/null ||
        ! sudo "${ask[@]}" bash -euo pipefail -c 'source scripts/setup.d/install.bash; install_packages "$@"' bash "$@" 1>&2; then
        echo "Missing: ${missing[*]}. As root, run: scripts/setup $purpose" >&2
        exit 1
    fi
}

# Waits until no other run on this machine installs packages, and installs those that are still
# missing. The lock is file descriptor 9.
install_missing() (
    flock 9
    # Another run may have installed them.
    find_missing "$@"
    if [[ ${#missing[@]} -eq 0 && ! -e $services ]]; then
        exit
    fi
    log=$(mktemp)
    trap 'finish_services; rm -f "$log"' EXIT
    keep_services_off
    [[ ${#missing[@]} -eq 0 ]] || echo "Installing ${missing[*]}"
    if ! run_apt "${missing[@]}" >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        exit 1
    fi
)

# Installs packages, and finishes what a killed run began. apt keeps the lock open, so that the
# policy also denies starts if only this script is killed.
run_apt() {
    export DEBIAN_FRONTEND=noninteractive
    dpkg --configure --pending 9<&- || return
    [[ $# -ne 0 ]] || return 0
    apt-get update && apt-get install --yes --no-install-recommends \
        -o "DPkg::Pre-Install-Pkgs::=bash '$PWD/scripts/setup.d/services.bash'" "$@"
}

install_for_build() {
    install_packages "${build[@]}"
}

# util-linux contains setpriv. openssl is the client in the tests of servers with TLS.
install_for_test() {
    install_packages "${build[@]}" "${peers[@]}" "${servers[@]}" pgbouncer "${clients[@]}" "${monitoring[@]}" php8.2-memcache php8.2-fpm \
        php8.2-cgi libapache2-mod-php8.2 libapache2-mod-fcgid lighttpd libphp8.2-embed apache2-bin strace faketime nutcracker haproxy valgrind openssl util-linux \
        fail2ban python3 python3-systemd nftables iproute2 systemd xz-utils
}

# The engine needs no PHP. The tests of the judge need Python.
install_for_engine() {
    install_packages gcc libc6-dev python3
}

install_for_stores() {
    install_packages gcc libc6-dev redis-server memcached
}

# Installs what some .phpt, or a folder of them, need. The words in the tests say that.
#   install_for_phpt PATH
install_for_phpt() {
    local path=$1 words packages needed=("${build[@]}" "${peers[@]}") files=()
    [[ $path != *07_docs* ]] || { install_for_test; return; }
    [[ -d $path ]] && files=("$path"/*) || files=("$path" "${path%/*}"/*.inc.php)
    while IFS=: read -r words packages; do
        # shellcheck disable=SC2206 # several packages
        ! cat "${files[@]}" 2>/dev/null | grep -qE "$words" || needed+=($packages)
    done <<'NEEDS'
Redis|Sentinel|cluster|contract|servers:redis-server php8.2-redis openssl
Memcached|contract|servers:memcached php8.2-memcached php8.2-memcache
MariaDb|mysql|sql_servers|contract:mariadb-server php8.2-mysql
PostgreSql|pgsql|sql_servers|contract|PgBouncer:postgresql pgbouncer php8.2-pgsql
[Ss]qlite|sql_servers|contract:php8.2-sqlite3
Fpm:php8.2-fpm
cgi:php8.2-cgi
Apache:apache2-bin libapache2-mod-php8.2 libapache2-mod-fcgid php8.2-cgi
Lighttpd:lighttpd php8.2-cgi
EMBED:libphp8.2-embed
Nginx:nginx-light
Prometheus|promtool|open_metrics:prometheus
strace|calls:strace
faketime:faketime
Twemproxy:nutcracker
Haproxy:haproxy
callgrind:valgrind
bans|fail2ban|nft:fail2ban python3-systemd nftables iproute2 systemd
NEEDS
    install_packages "${needed[@]}"
}

install_for_bench() {
    install_packages "${build[@]}" "${peers[@]}" "${servers[@]}" "${clients[@]}" "${limiters[@]}" util-linux
}

install_for_instructions() {
    install_packages "${build[@]}" redis-server valgrind
}

# z3 is a solver, which checks the proof of the bound.
install_for_proof() {
    install_packages gcc libc6-dev z3
}

install_for_demo() {
    install_packages "${build[@]}" "${peers[@]}" php8.2-fpm
}

install_for_lint() {
    install_packages "${build[@]}" shellcheck composer
}

# llvm contains the symboliser.
install_for_sanitize() {
    install_packages "${build[@]}" "${servers[@]}" "${php_build[@]}" libclang-rt-14-dev llvm openssl util-linux
}

install_for_zts() {
    install_packages "${build[@]}" "${servers[@]}" "${php_build[@]}" openssl util-linux
}

# util-linux contains renice.
install_for_mutants() {
    install_packages "${build[@]}" redis-server memcached util-linux
    command -v cargo-mutants >/dev/null || cargo install --locked --version 27.1.0 cargo-mutants
}

# lld links for every architecture, and llvm's objcopy reads modules of every architecture.
install_for_package() {
    install_packages "${build[@]}" lld llvm zip unzip xz-utils debootstrap musl-tools pkg-config dpkg-dev debhelper dh-php >&2
}

install_for_chromium() {
    # In a subshell, because the tests continue without Chromium.
    (install_packages chromium chromium-driver >&2) || unavailable 'its packages cannot be installed'
    command -v chromedriver >/dev/null || unavailable 'chromedriver is missing'
}
