# shellcheck shell=bash
# Unpacks PHPUnit and the frameworks that the bridges are tested with.

# PHPUnit 11, the newest for PHP 8.2, and the packages that it needs.
phpunit=(phpunit php-{codecoverage,deepcopy,file-iterator,invoker,parser,phar-io-manifest,phar-io-version,staabm-side-effects-detector}
    php-{text-template,timer,tokenizer} phpunit-{cli-parser,code-unit,code-unit-reverse-lookup,comparator,complexity,diff,environment}
    phpunit-{exporter,global-state,lines-of-code,object-enumerator,object-reflector,recursion-context,type,version})

# Unpacks PHPUnit, and the packages of every bridge: bridges/*/debian-packages has the lines
# "SUITE PACKAGE". Prints the folder.
unpack_bridges() {
    local suite suites packages run runs=()
    # PHPUnit needs xml and mbstring. Applications run behind nginx, WordPress on MariaDB. Composer
    # installs the bridges in applications. scripts/wordpress needs gettext and zip.
    install_packages php8.2-{cli,fpm,xml,mbstring,apcu,opcache,redis,curl,mysql} composer redis-server mariadb-server nginx-light apache2-utils util-linux gettext zip unzip >&2
    unpack_packages bridges/phpunit trixie "${phpunit[@]}" &
    runs+=($!)
    mapfile -t suites < <(cat bridges/*/debian-packages | sed '/^#/d; s/ .*//' | sort -u)
    for suite in "${suites[@]}"; do
        mapfile -t packages < <(sed -n "s/^$suite //p" bridges/*/debian-packages | sort -u)
        unpack_packages "bridges/$suite" "$suite" "${packages[@]}" &
        runs+=($!)
    done
    for run in "${runs[@]}"; do
        wait "$run"
    done
    echo "$PWD/target/bridges"
}
