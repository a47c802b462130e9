# shellcheck shell=bash
# Unpacks versions of Redis and Valkey that Debian 12 does not have, and Revolt.

# The libraries of Redis and Valkey, in addition to OpenSSL.
server_libraries=(libc6 libatomic1 liblzf1 libjemalloc2 libsystemd0 libcap2 libgcc-s1 libstdc++6 libzstd1 zlib1g)

unpack_valkey() {
    unpack_programs valkey trixie /usr/bin/valkey-server valkey-server valkey-tools "${server_libraries[@]}" libssl3t64
    echo "$PWD/target/valkey"
}

unpack_redis() {
    case $1 in
        6) set -- 6 bullseye libssl1.1 liblua5.1-0 lua-bitop lua-cjson libgcrypt20 libgpg-error0 liblz4-1 liblzma5 ;;
        8) set -- 8 trixie libssl3t64 ;;
        *) unavailable 'only 6 and 8 are known' ;;
    esac
    unpack_programs "redis$1" "$2" /usr/bin/redis-server redis-server redis-tools "${server_libraries[@]}" "${@:3}"
    echo "$PWD/target/redis$1"
}

# Revolt is an event loop in PHP.
unpack_revolt() {
    unpack_packages revolt sid php-revolt-event-loop
    [[ ! -d target/revolt ]] || echo "$PWD/target/revolt"
}

# MySQL, which Debian has only in sid.
unpack_mysql() {
    unpack_programs mysql sid /usr/sbin/mysqld mysql-server-core libaio1t64 libc6 libfido2-1 libgcc-s1 libgoogle-perftools4t64 libicu78 \
        liblz4-1 libnuma1 libprotobuf-lite32t64 libprotobuf32t64 libssl3t64 libstdc++6 libtirpc3t64 libzstd1 zlib1g libcbor0.10 libudev1 libcap2 libunwind8 liblzma5 libgssapi-krb5-2 libkrb5-3 libk5crypto3 libcom-err2 libkrb5support0 libkeyutils1 mysql-common
    echo "$PWD/target/mysql"
}

# MariaDB 11.8, whose transactions see only their snapshot.
unpack_mariadb() {
    unpack_programs mariadb trixie /usr/sbin/mariadbd mariadb-server-core libaio1t64 libc6 libcrypt1 libgcc-s1 libnuma1 libpcre2-8-0 \
        libssl3t64 libstdc++6 libsystemd0 liburing2 zlib1g libcap2 libzstd1
    echo "$PWD/target/mariadb"
}
