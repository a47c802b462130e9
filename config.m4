dnl Cargo builds the extension; see Makefile.frag.
PHP_ARG_ENABLE([tokenbucket], [whether to build tokenbucket],
  [AS_HELP_STRING([--enable-tokenbucket], [Build tokenbucket (needs cargo and libclang)])], [yes])

if test "$PHP_TOKENBUCKET" != "no"; then
  AC_PATH_PROG([CARGO], [cargo], [no], [$PATH$PATH_SEPARATOR$HOME/.cargo/bin])
  AS_IF([test "$CARGO" = no], [AC_MSG_ERROR([cargo not found; install Rust])])
  AS_CASE([$PHP_CONFIG], [/*], [EXT_PHP_CONFIG=$PHP_CONFIG], [EXT_PHP_CONFIG=`command -v "$PHP_CONFIG"`])
  PHP_SUBST([CARGO])
  PHP_SUBST([EXT_PHP_CONFIG])
  dnl Without a folder to make, PHP's configure calls mkdir with no argument and prints an error.
  PHP_ADD_BUILD_DIR([modules])
  PHP_ADD_MAKEFILE_FRAGMENT([$abs_srcdir/Makefile.frag], [$abs_srcdir], [$abs_builddir])
fi
