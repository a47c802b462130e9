CARGO_TARGET_DIR ?= $(builddir)/.cargo-target
# By its path, so that extension_dir stays PHP's own and the tests find other extensions there.
PHP_TEST_SHARED_EXTENSIONS = -d extension_dir=$(EXTENSION_DIR) -d extension=$(abspath modules)/tokenbucket.so
TESTS ?= $(srcdir)/php-tests

.PHONY: cargo-build
all: cargo-build
test: cargo-build
install-modules: cargo-build
cargo-build:
	PHP="$(PHP_EXECUTABLE)" PHP_CONFIG="$(EXT_PHP_CONFIG)" CARGO_TARGET_DIR="$(CARGO_TARGET_DIR)" \
	  "$(CARGO)" build --release --locked --manifest-path "$(srcdir)/Cargo.toml"
	@mkdir -p modules
	@install -m 755 "$(CARGO_TARGET_DIR)/release/libtokenbucket.so" modules/tokenbucket.so
