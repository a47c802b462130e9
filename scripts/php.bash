# Sourced by the other scripts: which PHP to build and test with. PHP_CONFIG chooses another one.

PHP_CONFIG=${PHP_CONFIG:-$(command -v php-config8.2 || command -v php-config || true)}
if [[ -z $PHP_CONFIG ]]; then
    echo "php-config is not there: run scripts/setup, or set PHP_CONFIG" >&2
    exit 1
fi
PHP=$("$PHP_CONFIG" --php-binary)
# shellcheck disable=SC2034 # for those who source this
php_extensions=$("$PHP_CONFIG" --extension-dir)
# Both: the build of ext-php-rs asks each of them for something else.
export PHP PHP_CONFIG
