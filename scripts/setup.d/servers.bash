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
