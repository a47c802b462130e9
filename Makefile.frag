CARGO_TARGET_DIR ?= $(builddir)/.cargo-target
# Loads the extension by path, so that extension_dir stays PHP's own folder with the other
# extensions.
PHP_TEST_SHARED_EXTENSIONS = -d extension_dir=$(EXTENSION_DIR) -d extension=$(abspath modules)/tokenbucket.so
TESTS ?= $(srcdir)/php-tests

.PHONY: cargo-build remove-installed-symbols test-runner
all: cargo-build
test: cargo-build test-runner
cargo-build:
	PHP_CONFIG="$(EXT_PHP_CONFIG)" CARGO="$(CARGO)" CARGO_TARGET_DIR="$(abspath $(CARGO_TARGET_DIR))" \
	  sh "$(srcdir)/scripts/build" "$(abspath modules)"

# PHP's runner of tests also skips tests whose server is not installed.
test-runner:
	@grep -q ended_with "$(top_srcdir)/run-tests.php" || \
	  { "$(PHP_EXECUTABLE)" -n "$(srcdir)/tools/testkit/php/run_tests.php" "$(top_srcdir)/run-tests.php" "$(top_builddir)/run-tests.new" && \
	    mv "$(top_builddir)/run-tests.new" "$(top_srcdir)/run-tests.php"; }

# Builds the extension only if it is missing, so that `sudo make install` needs no Rust.
install-modules: modules/tokenbucket.so
modules/tokenbucket.so:
	$(MAKE) cargo-build

# PHP's own rule installs every file in modules. This rule removes the installed symbols.
install: remove-installed-symbols
remove-installed-symbols: install-modules
	@rm -f "$(INSTALL_ROOT)$(EXTENSION_DIR)/tokenbucket.so.debug"
