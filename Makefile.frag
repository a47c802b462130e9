CARGO_TARGET_DIR ?= $(builddir)/.cargo-target
# By its path, so that extension_dir stays PHP's own and the tests find other extensions there.
PHP_TEST_SHARED_EXTENSIONS = -d extension_dir=$(EXTENSION_DIR) -d extension=$(abspath modules)/tokenbucket.so
TESTS ?= $(srcdir)/php-tests

.PHONY: cargo-build remove-installed-symbols
all: cargo-build
test: cargo-build
cargo-build:
	PHP_CONFIG="$(EXT_PHP_CONFIG)" CARGO="$(CARGO)" CARGO_TARGET_DIR="$(abspath $(CARGO_TARGET_DIR))" \
	  "$(srcdir)/scripts/build" "$(abspath modules)"

# Built here only if it is missing, so that `sudo make install` needs no Rust.
install-modules: modules/tokenbucket.so
modules/tokenbucket.so:
	$(MAKE) cargo-build

# PHP's own rule installs every file in modules; the symbols stay there and are not installed.
install: remove-installed-symbols
remove-installed-symbols: install-modules
	@rm -f "$(INSTALL_ROOT)$(EXTENSION_DIR)/tokenbucket.so.debug"
