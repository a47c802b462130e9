# shellcheck shell=bash
# Builds PHP from source. scripts/sanitize and scripts/zts source this file. They set `home`, the
# folder for the build and its logs.
: "${home:?}"

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
        echo "This step failed, so no test ran (full log: $log)"
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
        echo "The source of PHP $version is missing, so no test ran"
        exit 1
    fi
    recipe="$home $*"
    if [[ $(cat "$home/recipe" 2>/dev/null) != "$recipe" ]]; then
        rm -f "$home/recipe"
        quietly 'Building PHP' compile_php "$php_source" --prefix="$home/php" --program-suffix="$version" "$@"
        echo "$recipe" >"$home/recipe"
    fi
}
