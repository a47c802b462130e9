# shellcheck shell=bash
# Builds PHP from source. Other scripts source this file. They set `home`, the folder for the build
# and its logs.

# Runs a command and shows its output only if it fails.
quietly() {
    local what=$1 log=$home/logs/$2.log
    shift
    mkdir -p "$home/logs"
    echo "$what"
    # Runs in the background, because bash ignores -e in a condition.
    ("$@") >"$log" 2>&1 </dev/null &
    if ! wait $!; then
        tail -n 30 "$log"
        echo "This step failed (full log: $log)"
        exit 1
    fi
}

compile_php() (
    set -e
    local source=$1
    shift
    rm -rf "$home/php" "$home/build"
    mkdir -p "$home/build"
    cd "$home/build"
    "$source/configure" "$@"
    make "-j$(nproc)"
    make install
)

# Builds a version of PHP with these options of configure into $home/php, once. Sets php_source, the
# folder of its source.
build_php() {
    local version=$1 recipe
    shift
    php_source=$(scripts/setup php-source "$version")
    if [[ -z $php_source ]]; then
        echo "The source of PHP $version is missing"
        exit 1
    fi
    recipe="$home $*"
    if [[ $(cat "$home/recipe" 2>/dev/null) != "$recipe" ]]; then
        rm -f "$home/recipe"
        quietly 'Building PHP' compile_php "$php_source" --prefix="$home/php" --program-suffix="$version" "$@"
        echo "$recipe" >"$home/recipe"
    fi
}

# Builds only the command line of a version of PHP, with musl or thread-safe, and prints its
# php-config. scripts/package builds modules with the headers of this PHP.
#   bare_php 8.4 musl|zts
bare_php() {
    local home=$PWD/target/bare-$2-$1 options=(--disable-all --disable-cgi --disable-phpdbg --without-valgrind)
    case $2 in
        musl) local -x CC=musl-gcc ;;
        zts) options+=(--enable-zts) ;;
    esac
    build_php "$1" "${options[@]}" >&2
    echo "$home/php/bin/php-config$1"
}
