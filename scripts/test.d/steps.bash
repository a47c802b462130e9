# shellcheck shell=bash
# The steps of scripts/test, which sources this file. A step STEP is the function step_STEP.

# shellcheck source=scripts/uptime.bash
source scripts/uptime.bash

# name|tier|usual seconds|what it runs
# The tier "quick" belongs to scripts/test quick, "all" to scripts/test, and "full" to --full only.
# "zend" and "stores" belong to --full, and to scripts/test after a change of the paths below.
# The longest steps come first, so that no long step runs alone at the end.
steps=(
    'quick-engine|quick|20|arithmetic, slots, guard and records, without servers'
    'quick-php|quick|30|.phpt of the classes in shared memory, on the build for tests'
    'simulate-quick|quick|10|120 simulated histories of a fleet, each judged'
    'core|all|200|the engine, the other limiters and the judge, with real servers'
    'php|all|200|every .phpt on PHP 8.4, on the release build'
    'bridges|all|100|the bridges, on the newest frameworks for PHP 8.2'
    'wordpress|all|120|the plugin, on WordPress'
    'polyfill|all|100|the polyfill, on PHP 8.2'
    'php8.2|zend|150|the .phpt that depend on PHP or its servers, on PHP 8.2'
    'php8.5|zend|80|the .phpt that depend on the version of PHP, on PHP 8.5'
    'valgrind|zend|120|.phpt of lifetimes, reentrancy and errors, with a planted leak as control'
    'jit|zend|30|.phpt of the classes with the tracing JIT'
    'simulate|stores|10|a million more simulated calls'
    'fleets|stores|60|fleets on Valkey'
    'verdicts|all|3|the runner itself: what it counts, and what it tries again'
    'instructions|all|10|instructions of calls, compared with tools/bench/instructions.json'
    'php8.6|full|200|every .phpt on PHP 8.6'
    'bridges-whole|full|400|bridges in each framework of Debian, the polyfill on each PHP'
    'php8.5-whole|full|200|every .phpt on PHP 8.5'
    'php8.2-whole|full|200|every .phpt on PHP 8.2'
    'opcache|full|200|every .phpt with opcache'
    'jit-whole|full|200|every .phpt with the tracing JIT'
    'valgrind-whole|full|2400|every .phpt under valgrind'
    'core-at-length|full|600|the exhaustive model, the rates of all periods'
    'batches|full|300|a minute of calls and batches that scripts/prove judges'
    'uptime|full|500|scripts/prove and .phpt as if the host had been up for 3 seconds, and for 40 days'
    'proof|full|10|the proof of the bound, which z3 checks'
    'releases|full|400|the last release beside this code, on each store'
    'simulate-hour|full|3700|an hour of new simulated histories, and the planted faults'
    'scrapes|full|320|five minutes of scrapes by Prometheus'
    'zts|full|900|thread-safe PHP'
    'packages|full|900|packages in clean roots'
    'php-servers|full|300|.phpt of remote stores on Valkey and Redis 8'
    'fleets-redis6|full|60|fleets on Redis 6.0'
    'fleets-redis8|full|60|fleets on Redis 8'
    'databases|full|400|.phpt of databases on MySQL 9 and on MariaDB 11.8'
    'arm64|full|1200|AArch64, which qemu emulates'
    'musl|full|600|the C library musl'
)

declare -A paths_of=(
    [zend]='crates/zend src stubs build.rs Cargo.lock'
    [stores]='crates/gcra crates/segment crates/stores tools/simulate Cargo.lock'
)

# Reports whether the paths of a tier have changed since the merge base with the upstream branch.
# Without one, compares with the last commit that is older than a day, which the nightly run has
# tested. TEST_BASE names another commit to compare with.
has_changed() {
    local base=${TEST_BASE:-}
    [[ -n $base ]] || base=$(git merge-base HEAD origin/HEAD 2>/dev/null) || base=$(git rev-list -1 --before='1 day ago' HEAD)
    # shellcheck disable=SC2086 # several paths
    ! git diff --quiet "${base:-HEAD}" -- ${paths_of[$1]}
}

is_step() { declare -F "step_$1" >/dev/null; }

list_steps() {
    local row name tier seconds what
    echo "Steps, with their usual seconds on two cores:"
    for row in "${steps[@]}"; do
        IFS='|' read -r name tier seconds what <<<"$row"
        printf '  %-16s %-6s %5s  %s\n' "$name" "$tier" "$seconds" "$what"
    done
}

# Installs the packages that all steps need, and prepares to run tests.
prepare() {
    scripts/setup test
    choose_php
}

# Chooses PHP, and makes a folder for copies.
choose_php() {
    php_of_user=${PHP_CONFIG:-}
    # shellcheck source=scripts/php.bash
    source scripts/php.bash
    copies=$(mktemp -d)
    trap 'rm -rf "$copies"' EXIT
    chmod 755 "$copies"
    "$PHP" -n tools/testkit/php/run_tests.php "$php_extensions/build/run-tests.php" target/run-tests.php
}

# Makes the places that the tests of all steps share, so that they do not bring more load than they
# stand. See tools/testkit/php/places.php. Also makes the folder in which they share the initial
# data of databases.
make_places() {
    local place
    TEST_PLACES=$copies/places
    mkdir "$TEST_PLACES"
    for place in door $(seq $(($(nproc) + 2))); do
        : >"$TEST_PLACES/$place"
    done
    TEST_SQL_DATA=$copies/sql-data
    mkdir "$TEST_SQL_DATA"
    chmod -R a+rwX "$TEST_PLACES" "$TEST_SQL_DATA"
    export TEST_PLACES TEST_SQL_DATA
}

skip() {
    echo "$1"
    exit "$SKIPPED"
}

# Prints a path, or that of a copy if the user nobody cannot read it, for example in /root. Servers
# of tests run as that user.
readable() {
    local copy
    if [[ $EUID -ne 0 ]] || setpriv --reuid=nobody --regid=nogroup --clear-groups test -r "$1"; then
        echo "$1"
        return
    fi
    copy=$(mktemp -d "$copies/XXXXXX")
    chmod 755 "$copy"
    cp -r "$1" "$copy"
    echo "$copy/${1##*/}"
}

# Builds the module for the chosen PHP with a profile into a folder, and sets `module`. One build at
# a time, because builds for several PHPs share cargo's folder. Does not wait if the module is new.
#   build_module test|release FOLDER
build_module() {
    local -x BUILD_ONCE=1 BUILD_PROFILE=$1
    CARGO=false scripts/build "$2" || flock "target/.build-$1" scripts/build "$2" || return
    module=$2/tokenbucket.so
}
build_for_tests() { build_module test "$1"; }
build_release() { build_module release "$PWD/modules"; }

# Chooses a newer PHP, and builds its module in its folder.
#   choose_newer_php VERSION test|release
choose_newer_php() {
    local home
    PHP_CONFIG=$(scripts/setup php "$1")
    [[ -n $PHP_CONFIG ]] || skip "PHP $1 is not available"
    export PHP_CONFIG
    home=${PHP_CONFIG%/*}
    build_module "$2" "$home" || return
    home=$(readable "$home")
    PHP_CONFIG=$home/php-config
    module=$home/tokenbucket.so
    # shellcheck source=scripts/php.bash
    source scripts/php.bash
}

# Chooses PHP 8.4 and builds its release. If it is not available, or the user has set PHP_CONFIG,
# does so with the PHP of the other steps.
choose_reference() {
    if [[ -z $php_of_user && -n $(scripts/setup php 8.4) ]]; then
        choose_newer_php 8.4 release
    else
        [[ -n $php_of_user ]] || echo "PHP 8.4 is not available, so this step runs on $PHP."
        build_release
    fi
}

# Runs .phpt files with the chosen PHP and module. Each run has its own copy of the tests, because
# run-tests.php writes next to them and steps run side by side. Failed tests leave their copy.
phpt() (
    root=$PWD
    # shellcheck disable=SC2030 # the module of this run
    module=$(readable "$module")
    mkdir -p target/phpt
    copy=$(mktemp -d "$root/target/phpt/XXXXXX")
    chmod 755 "$copy"
    cp -r php-tests "$copy"
    for entry in *; do
        [[ $entry == php-tests ]] || ln -s "$root/$entry" "$copy/$entry"
    done
    cd "$copy" || return
    # Loads the extension by its path, because PHP's extension_dir contains the other extensions.
    if "${on_host[@]}" "$PHP" -n "$root/target/run-tests.php" -p "$PHP" -n -q --no-color --show-diff --show-slow 8000 --set-timeout 300 "-j$(($(nproc) + 1))" \
        -d "extension_dir=$php_extensions" -d "extension=$module" "$@"; then
        rm -rf "$copy"
    else
        echo "The files of failed tests are in $copy."
        return 1
    fi
)

# The tests that depend on the version of PHP. On PHP 8.2 and 8.5 the other tests run only with
# --full: they test servers, databases and pages through the same classes.
of_each_php=(
    php-tests/{00_module,01_token_bucket,02_shared_memory,10_concurrency}/*.phpt
    php-tests/04_remote/{construct,contract,decisions,fork,headers,objects,outage_handlers,secrets,signals,wait}*.phpt
    php-tests/05_pdo/{attempt_all,contract,errors,give_back,last_insert_id,transactions,userland}*.phpt
    php-tests/06_compat/{client_throttle,leaky_bucket,minute_window,rate_limiter,redis_client}{,*_error}.phpt
    php-tests/06_compat/{live_clients,memcached_client,outages_error}.phpt
)
# The tests that depend on php-fpm, php-cgi, Apache's module or the embed library, which PHP 8.5
# lacks in part.
of_servers=(php-tests/{03_apache,03_php_fpm,08_guard}/*.phpt)
# Left out are instructions, races, and programs that read the same text from each PHP.
left_out='/(.*_instructions|(.*_)?race|killed|workers_killed|prometheus|alerts|fail2ban|stalls|floods)\.phpt$'
mapfile -t of_each_php < <(printf '%s\n' "${of_each_php[@]}" | grep -vE "$left_out")
mapfile -t of_servers < <(printf '%s\n' "${of_servers[@]}" | grep -vE "$left_out")

with_opcache() {
    phpt -d "zend_extension=$php_extensions/opcache.so" -d opcache.enable_cli=1 "$@"
}

# Used only on PHP 8.2. On PHP 8.4 and 8.5, the tracing JIT runs loops with caught exceptions
# wrongly, also without this extension. Tests that kill processes disable the JIT: a process that
# dies while it compiles leaves half-written code in the shared memory, and then other processes
# crash.
with_jit() {
    with_opcache -d opcache.jit=tracing -d opcache.jit_buffer_size=64M "$@"
}

# Runs tests under valgrind. Memory errors and leaked memory fail a test. PCRE's JIT is off, because
# valgrind cannot check its code. The servers of tests run without valgrind.
under_valgrind() {
    VALGRIND_OPTS='--leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite
        --trace-children-skip=*/setpriv,*/redis-server,*/memcached,*/valkey-server,*/mariadbd,*/postgres,*/initdb' \
        phpt -m -d pcre.jit=0 "$@"
}

# Tests the function under_valgrind, which must find a leak outside PHP's own allocator.
planted_leak() {
    local folder
    folder=$(mktemp -d)
    cat >"$folder/planted_leak.phpt" <<'PHPT'
--TEST--
A planted leak
--EXTENSIONS--
ffi
--FILE--
<?php
$bucket = new TokenBucket(new TokenBucketStorageSharedMemory, 'x', 1, 1);
var_dump($bucket->consume());
FFI::cdef('void *malloc(size_t size);')->malloc(4321);
?>
--EXPECT--
bool(true)
PHPT
    under_valgrind --show-mem "$folder/planted_leak.phpt" >"$folder/output" || true
    if grep -q '^Tests leaked *: *1 ' "$folder/output" && grep -q '4,321 bytes .* definitely lost' "$folder/output"; then
        echo "test result: found. 1 passed; 0 failed"
    else
        sed 's/^Tests/(Tests)/' "$folder/output"
        echo "test result: missed. 0 passed; 1 failed"
    fi
    rm -rf "$folder"
}

# Runs the tests in Rust that the arguments of cargo select, with cargo-nextest if it is installed.
# cargo-nextest counts failed tests in its output. So its status of them, 100, is not returned. The
# packages that need PHP have no tests, but with them and the feature of scripts/build, crates are
# built once for tests and modules.
engine() {
    local run=(test)
    if cargo nextest --version >/dev/null 2>&1; then run=(nextest run --color never); fi
    NEXTEST_TEST_THREADS=$(($(nproc) + 2)) "${on_host[@]}" cargo "${run[@]}" --workspace --features deaths --locked --no-fail-fast "$@" ||
        [[ $? -eq 100 ]]
}

# Runs only the ignored tests among them.
engine_ignored() {
    if cargo nextest --version >/dev/null 2>&1; then
        engine "$@" --run-ignored only
    else
        engine "$@" -- --ignored
    fi
}

# Runs the tests of permits and of fleets, whose servers replace each other, with another server
# program.
fleets_on() {
    REDIS_SERVER=$1 engine --test remote -- cluster:: sentinel:: failover:: permits
}

# Runs them on another server, which "other_server" names.
fleets_of() {
    local server
    server=$(other_server "$@")
    [[ -n $server ]] || skip "$* is not available"
    "$server" --version
    fleets_on "$server"
}

# Unpacks another server of Redis's protocol and prints its program, or nothing if it is not
# available.
other_server() {
    local home
    home=$(scripts/setup "$@")
    [[ -z $home ]] || echo "$(readable "$home")/$1-server"
}

# Runs a command once with each other server, whose program is its last argument.
with_other_servers() {
    local server code=0 servers=()
    mapfile -t servers < <(other_server valkey; other_server redis 8)
    [[ ${#servers[@]} -ne 0 ]] || skip "neither Valkey nor Redis 8 is available"
    for server in "${servers[@]}"; do
        "$server" --version
        "$@" "$server" || code=1
    done
    return "$code"
}

php_on() {
    REDIS_SERVER=$1 phpt php-tests/04_remote php-tests/10_concurrency/redis*.phpt
}

step_quick-engine() {
    TOKENBUCKET_MODEL=quick engine --lib --test laws --test guard --test evictions --test model
}

step_quick-php() {
    build_for_tests "$PWD/target/php8.2"
    phpt php-tests/0{0,1,2}_*
}

step_core() {
    VALKEY_SERVER=$(other_server valkey)
    export VALKEY_SERVER
    # cargo-nextest runs no examples of the documentation.
    cargo test --workspace --features deaths --exclude tokenbucket-zend --locked --doc
    engine
}

# Runs scripts/simulate, which counts as one test.
simulate() {
    scripts/simulate "$@"
    echo "test result: judged. 1 passed; 0 failed"
}

step_simulate-quick() {
    simulate 120
    simulate --same 7
}
step_simulate() { simulate 50 201; }
step_simulate-hour() {
    simulate --planted
    # Each night begins with other seeds.
    simulate --minutes 60 "$(date +%s)"
}
step_fleets() {
    fleets_of valkey
}
step_fleets-redis8() { fleets_of redis 8; }

# Runs the tests of databases on servers that Debian 12 does not have. php-tests/11_command knows
# the messages of MariaDB only.
step_databases() {
    local name home code=0 tests
    build_release
    mapfile -t tests < <(grep -lE 'MariaDb|sql_servers\(' php-tests/05_pdo/*.phpt)
    for name in mysql mariadb; do
        home=$(scripts/setup "$name")
        if [[ -z $home ]]; then
            echo "$name is not available."
            echo 'Tests skipped : 1'
            continue
        fi
        home=$(readable "$home")
        if [[ $name == mysql ]]; then
            MYSQL_SERVER=$home/mysqld phpt "${tests[@]}" || code=1
        else
            MARIADB_SERVER=$home/mariadbd phpt "${tests[@]}" || code=1
        fi
    done
    return "$code"
}

step_php() {
    scripts/setup revolt >/dev/null
    choose_reference
    phpt php-tests
}

on_php8.2() {
    [[ $("$PHP_CONFIG" --vernum) == 802* ]] || skip "$PHP is not PHP 8.2"
    build_release
    phpt "$@"
}
step_php8.2() { on_php8.2 "${of_each_php[@]}" "${of_servers[@]}"; }
step_php8.2-whole() { on_php8.2 php-tests; }

step_jit() {
    build_release
    with_jit php-tests/0{0,1,2}_*
}

step_instructions() {
    build_release
    # shellcheck disable=SC2031 # build_release has set it in this shell
    "$PHP" -n -d "extension=$module" tools/bench/instructions.php check
}

# Runs planted tests, and checks what the runner counts.
step_verdicts() {
    local folder expected
    folder=$(mktemp -d "$copies/XXXXXX")
    cp tools/testkit/verdicts/*.phpt "$folder"
    export TESTKIT=$PWD/tools/testkit/php VERDICTS=$folder
    counts '2 1 1 1' "$PHP" -n target/run-tests.php -p "$PHP" -n -q --no-color -j2 "$folder"
    if [[ -d $(scripts/setup bridges)/phpunit ]]; then
        counts '1 1 1 0' scripts/phpunit phpunit tools/testkit/verdicts/VerdictsTest.php
    else
        echo 'Tests skipped : 1'
    fi
    # cargo test tries no test again.
    if cargo nextest --version >/dev/null 2>&1; then expected='1 1 1 0'; else expected='0 1 2 0'; fi
    counts "$expected" engine_ignored --test verdicts
}

# Runs a command and compares what "count" counts in its output.
#   counts 'PASSED FAILED INCONCLUSIVE SKIPPED' COMMAND…
counts() {
    local output counted
    output=$(mktemp "$copies/XXXXXX")
    "${@:2}" >"$output" 2>&1 || true
    counted=$(count "$output")
    if [[ $counted == "$1" ]]; then
        echo "test result: counted. 1 passed; 0 failed"
    else
        sed 's/^/> /' "$output"
        echo "Counted $counted instead of $1."
        echo "test result: wrong. 0 passed; 1 failed"
    fi
}

newer_php() {
    choose_newer_php "$1" test
    phpt "${@:2}"
}
step_php8.5() { newer_php 8.5 "${of_each_php[@]}"; }
step_php8.5-whole() { newer_php 8.5 php-tests; }
step_php8.6() { newer_php 8.6 php-tests; }

# Runs tests of the lifetimes of objects and of nested calls that start no other PHP, because each
# test takes seconds under valgrind.
step_valgrind() {
    build_release
    planted_leak
    under_valgrind php-tests/00_module/{status,any_arguments}.phpt php-tests/10_concurrency/{acquire,arguments_error}.phpt \
        php-tests/01_token_bucket/{attempt_all,garbage,lifetimes,reentrancy,storage,subclass,userland}*.phpt \
        php-tests/04_remote/{objects,outage_handlers}_*.phpt php-tests/05_pdo/userland_{classes,references}.phpt \
        php-tests/06_compat/{outages,client_throttle,leaky_bucket,minute_window,rate_limiter}*_error.phpt
}

# Runs bridges on the frameworks that PHP 8.2 runs, or only on the newest of them if BRIDGES is
# "short".
#   bridges NAME…
bridges() {
    [[ -d $(scripts/setup bridges)/phpunit ]] || skip "PHPUnit is not available"
    build_release
    scripts/bridges "$@"
}

step_bridges() { BRIDGES=short bridges psr15 yii http-client laravel symfony; }
step_wordpress() {
    scripts/setup chromium
    BRIDGES=short bridges wordpress
}
step_polyfill() { BRIDGES=short bridges polyfill; }

step_bridges-whole() {
    scripts/setup php 8.4
    (choose_newer_php 8.4 release) || [[ $? -eq $SKIPPED ]]
    bridges
}

step_opcache() {
    choose_reference
    with_opcache -d opcache.jit=disable php-tests
}

step_jit-whole() {
    build_release
    with_jit php-tests
}

step_valgrind-whole() {
    build_release
    under_valgrind php-tests
}

step_core-at-length() {
    TOKENBUCKET_MODEL=exhaustive TOKENBUCKET_PERIODS=all engine --release
}

# Runs scripts/prove, which counts as one test.
prove() {
    scripts/prove "$@"
    echo "test result: proved. 1 passed; 0 failed"
}

step_batches() {
    build_release
    prove memory 60
}

# Each command begins at the uptime.
step_uptime() {
    local seconds
    on_host_up 3 || exit "$SKIPPED"
    build_for_tests "$PWD/target/php8.2"
    for seconds in 3 3456000; do
        PROVE_UPTIME=$seconds prove memory 5
        on_host_up "$seconds"
        step_quick-engine
        on_host_up "$seconds"
        phpt php-tests/0{0,1,2}_* php-tests/10_concurrency
    done
}

step_proof() {
    scripts/setup proof
    engine_ignored --test laws
}

step_scrapes() {
    build_release
    TOKENBUCKET_SCRAPE_SECONDS=300 phpt --set-timeout 600 php-tests/03_php_fpm/prometheus.phpt
}

# Builds the module of the last tag for tests.
step_releases() {
    local tag folder=$PWD/target/last-release
    tag=$(git describe --tags --abbrev=0 2>/dev/null) || skip 'there is no release yet'
    rm -rf "$folder"
    git clone --quiet --branch "$tag" . "$folder"
    (cd "$folder" && CARGO_TARGET_DIR=$PWD/../last-release-target scripts/build "$folder/module")
    build_release
    TOKENBUCKET_LAST_RELEASE=$(readable "$folder/module")/tokenbucket.so phpt php-tests/04_remote/releases.phpt
}

step_zts() { scripts/zts; }
step_packages() { scripts/package && scripts/test-packages; }

step_php-servers() {
    build_release
    with_other_servers php_on
}

# Debian 11's Redis needs an installed library for cjson, which a limiter uses.
step_fleets-redis6() { fleets_of redis 6; }

step_arm64() { scripts/test-platforms arm64; }
step_musl() { scripts/test-platforms musl; }
