# shellcheck shell=bash
# Unpacks versions of PHP, and their sources.

# Prints the origin of a version of PHP.
php_origin() {
    case $1 in
        8.2) echo bookworm ;;
        8.4) echo trixie ;;
        8.5 | 8.6) echo sid+experimental ;;
    esac
}

# Unpacks a version of PHP with its extensions and their libraries, and prints its php-config. The
# second argument is "arm64" or empty.
unpack_php() {
    local version=$1 architecture=$2 origin home=$PWD/target/php$1$2 packages programs
    origin=$(php_origin "$version")${architecture:+/$architecture}
    if [[ $architecture == arm64 ]]; then
        install_packages qemu-user-static >&2
    fi
    programs="/usr/bin/php$version /usr/sbin/php-fpm$version"
    case $version in
        8.2) packages=(libldap-2.5-0 libssl3 libgcrypt20 libgpg-error0 liblz4-1 libxml2 libsodium23 libicu72
            libgnutls30 libp11-kit0 libidn2-0 libunistring2 libtasn1-6 libnettle8 libhogweed6 libgmp10) ;;
        # The tests use every kind of this PHP. The last libraries belong to the extensions
        # memcached, mbstring and xml.
        8.4) programs+=' /usr/bin/php-cgi8.4'
            packages=(php8.4-{cgi,opcache,apcu,igbinary,msgpack,redis,memcached,memcache,mbstring,xml} libapache2-mod-php8.4 libphp8.4-embed
            libldap2 libssl3t64 libsodium23 libxml2 libhashkit2t64 libmemcached11t64 libonig5 libxslt1.1) ;;
        # These versions contain OPcache. Debian has no other extensions for them yet.
        8.5 | 8.6) packages=(libldap2 libssl3t64 libsodium26 libxml2-16) ;;
        *) unavailable 'only 8.2, 8.4, 8.5 and 8.6 are known' ;;
    esac
    unpack_programs "${home##*/}" "$origin" "$programs" \
        "php$version"-{cli,common,fpm,dev,mysql,pgsql,sqlite3} "${packages[@]}" \
        libc6 libgcc-s1 libacl1 libapparmor1 libargon2-1 libcap2 libcom-err2 libffi8 \
        libgssapi-krb5-2 libk5crypto3 libkeyutils1 libkrb5-3 libkrb5support0 liblzma5 libpcre2-8-0 libpq5 libsasl2-2 \
        libsqlite3-0 libstdc++6 libsystemd0 libzstd1 zlib1g
    write_php_config "$home/php-config"
    echo "$home/php-config"
}

# Writes a php-config that has the options that the build uses. Another run may read the file, so it
# is renamed when it is complete.
write_php_config() {
    if [[ -e $1 ]]; then
        return
    fi
    cat >"$1.$$" <<'SCRIPT'
#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
headers=$(echo "$here"/root/usr/include/php/*)
php=$(echo "$here"/php[0-9]*)
case $1 in
    --php-binary) echo "$php" ;;
    --vernum) "$php" -n -r 'echo PHP_VERSION_ID;' ;;
    --extension-dir) echo "$here"/root/usr/lib/php/20* ;;
    --includes) echo "-I$headers -I$headers/main -I$headers/TSRM -I$headers/Zend -I$headers/ext -I$headers/ext/date/lib" ;;
    *) exit 1 ;;
esac
SCRIPT
    chmod 755 "$1.$$"
    mv "$1.$$" "$1"
}

# Unpacks the source of a version of PHP and prints its folder.
unpack_php_source() {
    local version=$1 home=$PWD/target/php$1-source origin downloads unpacked
    origin=$(php_origin "$version")
    [[ -n $origin ]] || unavailable 'only 8.2, 8.4, 8.5 and 8.6 are known'
    if [[ ! -e $home/configure ]] && lock "php$version-source" && [[ ! -e $home/configure ]]; then
        downloads=$(mktemp -d)
        # shellcheck disable=SC2064 # now, because the variable is local
        trap "rm -rf '$downloads'" EXIT
        download_source "$downloads" "$origin" "php$version"
        unpacked=$(mktemp -d "$home.XXXXXX")
        chmod 755 "$unpacked"
        tar -x --strip-components=1 --no-same-owner -C "$unpacked" -f "$downloads/php${version}"_*.orig.tar.xz
        rm -rf "$home"
        mv "$unpacked" "$home"
    fi
    echo "$home"
}
