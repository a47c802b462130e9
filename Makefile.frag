CARGO_TARGET_DIR ?= $(builddir)/.cargo-target
# Loads the extension by path, so that extension_dir stays PHP's own folder with the other
# extensions.
PHP_TEST_SHARED_EXTENSIONS = -d extension_dir=$(EXTENSION_DIR) -d extension=$(abspath modules)/tokenbucket.so
TESTS ?= $(srcdir)/php-tests

.PHONY: cargo-build remove-installed-symbols
all: cargo-build
test: cargo-build
cargo-build:
	PHP_CONFIG="$(EXT_PHP_CONFIG)" CARGO="$(CARGO)" CARGO_TARGET_DIR="$(abspath $(CARGO_TARGET_DIR))" \
	  sh "$(srcdir)/scripts/build" "$(abspath modules)"

# Builds the extension only if it is missing, so that `sudo make install` needs no Rust.
install-modules: modules/tokenbucket.so
modules/tokenbucket.so:
	$(MAKE) cargo-build

# PHP's own rule installs every file in modules. This rule removes the installed symbols.
install: remove-installed-symbols
remove-installed-symbols: install-modules
	@rm -f "$(INSTALL_ROOT)$(EXTENSION_DIR)/tokenbucket.so.debug"
