# shellcheck shell=bash
# Unpacks C libraries and compilers for other processors.

# Unpacks Debian's newest rustc, the standard library for this processor and for AArch64, and the
# sources from which cargo builds the standard library for other targets.
unpack_rust() {
    local home=$PWD/target/rust newest='?name(^libstd-rust-1)'
    # The first pattern selects the package of the newest version. The others select the packages
    # that it needs, and those that these need.
    unpack_programs rust sid /usr/bin/rustc rustc rust-src libstd-rust-dev \
        "$newest" "?reverse-depends($newest)" "?reverse-depends(?reverse-depends($newest))" libtinfo6 libbsd0 libmd0
    unpack_packages rust-arm64 sid/arm64 libstd-rust-dev
    ln -sfnr target/rust-arm64/usr/lib/rustlib/aarch64-unknown-linux-gnu "$home/root/usr/lib/rustlib/"
    echo "$home/rustc"
}

# Unpacks the oldest C library that the packages support, that of Debian 11, and prints its folder:
#   unpack_sysroot gnu|musl ARCHITECTURE
unpack_sysroot() {
    local library=(musl musl-dev)
    if [[ $1 == gnu ]]; then
        library=(libc6 libc6-dev libgcc-s1 libcrypt1)
    fi
    unpack_packages "sysroot/$1-$2" "bullseye/$2" "${library[@]}" linux-libc-dev libgcc-10-dev
    echo "$PWD/target/sysroot/$1-$2"
}
