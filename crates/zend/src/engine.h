/* Declares the parts of the engine that ext-php-rs does not bind. build.rs generates their Rust
 * declarations from the headers of the PHP that this crate is built for. */
#include "php.h"
#include "php_ini.h"
#include "zend_attributes.h"
#include "zend_closures.h"
#include "zend_constants.h"
#include "zend_enum.h"
#include "zend_exceptions.h"
#include "zend_interfaces.h"
#include "ext/date/php_date.h"
#include "ext/standard/php_password.h"
#include "ext/spl/spl_exceptions.h"

/* The layout of the engine's globals depends on the processor. */
#if defined(__aarch64__) && defined(HAVE__FPU_SETCW)
#error "these are the headers of a PHP for another processor"
#endif

/* pdo.rs reads the head of a PDO object, if this PHP has PDO. */
#if __has_include("ext/pdo/php_pdo_driver.h")
#include "ext/pdo/php_pdo_driver.h"
#define AT(type, field, offset) \
    _Static_assert(offsetof(type, field) == (offset), "pdo.rs: " #type "." #field " has moved")
AT(pdo_dbh_t, driver_data, 8);
AT(pdo_dbh_t, username, 16);
AT(pdo_dbh_t, data_source, 40);
AT(pdo_dbh_t, data_source_len, 48);
AT(pdo_dbh_object_t, inner, 0);
AT(pdo_dbh_object_t, std, 8);
AT(pdo_driver_t, driver_name, 0);
/* This offset differs between releases. */
enum { PDO_DRIVER_AT = offsetof(pdo_dbh_t, driver) };
#else
enum { PDO_DRIVER_AT = 0 };
#endif
