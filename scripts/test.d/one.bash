# shellcheck shell=bash
# Installs and builds what single tests need, and runs them. scripts/test sources this file.

# Runs tests of cargo with a filter: the package's folder, then arguments of cargo test.
one_of_cargo() {
    local package
    package=$(sed -n 's/^name = "\(.*\)"/\1/p' "$1/Cargo.toml" | head -n 1)
    cargo test --locked --package "$package" ${building:+--no-run} "${@:2}"
}

# Runs the tests of a Rust file: crates/NAME/src/a/b.rs, crates/NAME/tests/a.rs or tests/a/b.rs.
one_rust_file() {
    local folder=${1%%/src/*} path module
    folder=${folder%%/tests/*}
    path=${1#"$folder"/}
    path=${path%.rs}
    module=${path#*/}
    module=${module%/mod}
    module=${module%/main}
    if [[ $path == src/* ]]; then
        one_of_cargo "$folder" --lib "${module//\//::}"
    elif [[ $module == */* ]] && ! grep -A1 "^name = \"${module%%/*}\"" "$folder/Cargo.toml" | grep -q '^harness = false'; then
        one_of_cargo "$folder" --test "${module%%/*}" "${module#*/}::"
    else
        one_of_cargo "$folder" --test "${module%%/*}"
    fi
}

# Runs PHPUnit on a file or with a filter, in the folder of a bridge, on Debian 13's framework.
# Debian 13 has no WordPress.
one_of_bridge() {
    local bridge=$1 suite=trixie bootstrap=()
    [[ -d $(scripts/setup bridges)/phpunit ]] || skip "PHPUnit is not available"
    [[ $bridge != yii ]] || suite=phpunit
    [[ $bridge != psr15 && $bridge != wordpress ]] || suite=bookworm
    [[ $bridge == wordpress ]] || bootstrap=(--bootstrap tests/bootstrap.php)
    (cd "bridges/$bridge" && TOKENBUCKET=$module ../../scripts/phpunit "$suite" "${bootstrap[@]}" "${@:2}")
}

# Runs the .phpt of the polyfill, or one of them.
one_of_polyfill() {
    local name=${1##*/}
    [[ $name == *.phpt ]] || name='*.phpt'
    TOKENBUCKET=$module bridges/polyfill/tests/run "${name%.phpt}"
}

# Prints where tests with a name are: "FILE" of a .phpt, "rust FOLDER", or "bridge NAME".
find_test() {
    git ls-files --cached --others --exclude-standard "php-tests/*/$1.phpt" "bridges/polyfill/tests/$1.phpt"
    git grep --untracked -lE "fn $1\(" -- 'crates/*.rs' ':!crates/zend' 'tools/prove/*.rs' 'tools/testkit/*.rs' | sed -E 's#/(src|tests)/.*#/#; s/^/rust /; s#/$##' | sort -u
    git grep --untracked -lE "function $1\(" -- 'bridges/*/tests/*.php' | sed -E 's#bridges/([^/]*)/.*#bridge \1#' | sort -u
}

is_phpt() {
    [[ $1 == *.phpt && -f $1 ]] || { [[ -d $1 ]] && compgen -G "$1/*.phpt" >/dev/null; }
}

unknown_test() {
    echo "\"$1\" is not a test." >&2
    echo "Pass a .phpt file, a folder of them, a .rs file, a file in bridges/*/tests, or the name of a test." >&2
    echo "Folders of .phpt: $(echo php-tests/*/)" >&2
    echo "Rust: $(git ls-files 'crates/*/tests/*.rs' | grep -E 'tests/[^/]*(\.rs|/main\.rs)$' | paste -sd ' ')" >&2
    echo "Bridges: $(git ls-files 'bridges/*/tests/*Test.php' | paste -sd ' ')" >&2
    exit 2
}

run_one() {
    local test code=0
    prepare_for "$@"
    for test in "$@"; do
        one_test "$test" || code=1
    done
    return "$code"
}

# Checks that all arguments are tests, and installs what they need.
prepare_for() {
    local test place
    [[ $# -ne 0 ]] || unknown_test ''
    for test in "$@"; do
        [[ -n $(places_of "$test") ]] || unknown_test "$test"
    done
    for test in "$@"; do
        while read -r place; do
            case $place in
                'rust '* | *.rs) scripts/setup "$(servers_of_rust "${place#rust }")" ;;
                *bridge*) scripts/setup build ;;
                *) scripts/setup phpt "$place" ;;
            esac
        done < <(places_of "$test")
    done
    choose_php
}

# Prints the purpose of scripts/setup for tests in Rust.
servers_of_rust() {
    case $1 in
        crates/stores* | crates/compat* | tools/testkit*) echo stores ;;
        *) echo engine ;;
    esac
}

# Prints the places of a test, for one_place: a path, or what find_test prints.
places_of() {
    if is_phpt "$1" || [[ -f $1 && ($1 == *.rs || $1 == bridges/*/tests/*.php) ]]; then
        echo "$1"
    else
        find_test "$1"
    fi
}

one_test() {
    local place code=0
    while read -r place; do
        one_place "$place" "$1" </dev/null || code=1
    done < <(places_of "$1")
    return "$code"
}

# Runs the tests at a place, which is a line of find_test or a path.
one_place() {
    case $1 in
        'rust '*) one_of_cargo "${1#rust }" "$2" ;;
        'bridge '*) with_test_module one_of_bridge "${1#bridge }" --filter "/::$2\b/" tests ;;
        *.rs) one_rust_file "$1" ;;
        bridges/polyfill/*) with_test_module one_of_polyfill "$1" ;;
        bridges/*) local name=${1#bridges/}; with_test_module one_of_bridge "${name%%/*}" "${1#bridges/*/}" ;;
        *) with_test_module phpt "$1" ;;
    esac
}

with_test_module() {
    build_for_tests "$PWD/target/php8.2" >/dev/null && "$@"
}
