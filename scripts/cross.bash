# shellcheck shell=bash
# Lets cargo build for another processor or C library. scripts/package and scripts/test-platforms
# source this file.

# Sets the environment in which cargo builds for a Rust target, for example
# aarch64-unknown-linux-gnu. clang compiles and links with the C library of the target, which
# scripts/setup unpacks. If rustc lacks the target, Debian's newest rustc is used.
cross_to() {
    local target=$1 name=${1//-/_} processor=${1%%-*} libc=${1##*-} sysroot musl rustc argument
    local arguments=() flags=() link=(-fuse-ld=lld '-Wl,--build-id=sha1')
    sysroot=$(scripts/setup sysroot "$libc" "$(case $processor in aarch64) echo arm64 ;; *) echo amd64 ;; esac)")
    arguments=("--target=$target" "--sysroot=$sysroot")
    if [[ $libc == musl ]]; then
        musl=$processor-linux-musl
        arguments+=(-nostdlibinc "-isystem$sysroot/usr/include/$musl")
        link+=("-B$sysroot/usr/lib/$musl" "-L$sysroot/lib/$musl" "-L$sysroot/usr/lib/$musl" "-L$sysroot")
        # Links the unwinder into the module, because images of Alpine may lack libgcc.
        echo 'INPUT(-lgcc_eh)' >"$sysroot/libgcc_s.so"
        flags+=(-Ctarget-feature=-crt-static -Clink-self-contained=no)
    fi
    for argument in "${arguments[@]}" "${link[@]}"; do
        flags+=("-Clink-arg=$argument")
    done
    export CARGO_BUILD_TARGET=$target OBJCOPY=llvm-objcopy RUSTFLAGS="${flags[*]}"
    export "CARGO_TARGET_${name^^}_LINKER=clang" "CC_$name=clang" "AR_$name=llvm-ar"
    export "CFLAGS_$name=${arguments[*]:1}" "BINDGEN_EXTRA_CLANG_ARGS_$name=${arguments[*]:1}"
    if [[ ! -d $(rustc --print sysroot)/lib/rustlib/$target/lib ]]; then
        rustc=$(scripts/setup rust)
        export RUSTC=${rustc:?'rustc lacks the target'}
        if [[ ! -d $("$RUSTC" --print sysroot)/lib/rustlib/$target/lib ]]; then
            export RUSTC_BOOTSTRAP=1 CARGO_UNSTABLE_BUILD_STD=std,panic_unwind
        fi
    fi
}
