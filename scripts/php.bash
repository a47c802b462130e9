# Chooses the PHP to build and test with. Other scripts source this file. Set PHP_CONFIG to choose
# another PHP.

# PATH of a user often lacks the folder of servers, such as nginx.
PATH=$PATH:/usr/sbin
PHP_CONFIG=${PHP_CONFIG:-$(command -v php-config8.2 || command -v php-config || true)}
if [ -z "$PHP_CONFIG" ]; then
    echo "php-config is missing: run scripts/setup, or set PHP_CONFIG" >&2
    exit 1
fi
PHP=$("$PHP_CONFIG" --php-binary)
# shellcheck disable=SC2034 # used by the scripts that source this file
php_extensions=$("$PHP_CONFIG" --extension-dir)
# The build of ext-php-rs reads both variables.
export PHP PHP_CONFIG
