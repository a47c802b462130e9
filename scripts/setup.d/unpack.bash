# shellcheck shell=bash
# Unpacks Debian packages into folders of target/, and installs nothing. The file "packages" of a
# folder is its recipe: the origin and the names of the packages. The recipe is written last, so a
# folder with a recipe is complete.

# Succeeds if a folder is complete. Otherwise locks it, so that only this run unpacks it.
is_unpacked() {
    local home=$1 recipe=$2
    if [[ $(cat "$home/packages" 2>/dev/null) != "$recipe" ]]; then
        lock "${home##*/target/}"
        [[ $(cat "$home/packages" 2>/dev/null) == "$recipe" ]]
    fi
}

# Unpacks all packages of a folder into another folder.
unpack_all() {
    printf '%s\0' "$1"/*.deb | xargs -0 -I '{}' "-P$(nproc)" dpkg -x '{}' "$2"
}

# Prints the version of each program in a folder. Fails if a program does not run.
run_programs() {
    local program
    for program in "${@:2}"; do
        "$1/${program##*/}" --version || return
    done
}

# Unpacks programs and all their libraries into target/NAME:
#   unpack_programs NAME ORIGIN 'PROGRAM...' PACKAGE...
# The programs need the C library of their own suite, which includes a loader. Programs for AArch64
# are emulated.
unpack_programs() {
    local home=$PWD/target/$1 origin=$2 programs recipe="${*:2}" downloads unpacked said
    read -ra programs <<<"$3"
    if is_unpacked "$home" "$recipe"; then
        return
    fi
    downloads=$(mktemp -d)
    # Unpacks into a temporary folder and moves it, so that no other run finds an incomplete folder.
    unpacked=$(mktemp -d "$home.XXXXXX")
    # shellcheck disable=SC2064 # now, because the variables are local
    trap "rm -rf '$downloads' '$unpacked'" EXIT
    chmod 755 "$unpacked"
    download_packages "$downloads" "$origin" "${@:4}"
    mkdir "$unpacked/root"
    unpack_all "$downloads" "$unpacked/root"
    # Newer packages have no /lib, because a link of another package leads to /usr/lib.
    [[ -e $unpacked/root/lib ]] || ln -s usr/lib "$unpacked/root/lib"
    write_wrappers "$unpacked" "$origin" "${programs[@]}"
    said=$(run_programs "$unpacked" "${programs[@]}" 2>&1) || unavailable "the program does not run here: $said"
    echo "$recipe" >"$unpacked/packages"
    rm -rf "$home"
    mv "$unpacked" "$home"
}

# Writes a script for each program, which starts the program in the folder "root" next to it. Also
# writes the script with-libraries, which starts any program with the libraries there.
write_wrappers() {
    local folder=$1 origin=$2 loader libraries run program
    # In Debian 11, the loader has the version in its name, is outside usr/ and lacks --argv0.
    loader=$(cd "$folder" && find root -type f \( -name 'ld-linux*' -o -name 'ld-2.*.so' \) | head -n 1)
    libraries=\$root/${loader%/*}:\$root/root/usr/lib/${loader#*lib/}
    run="\"\$root/$loader\" --argv0 \"\$0\" --library-path \"${libraries%/*}\""
    if [[ $origin == bullseye ]]; then
        run=${run/ --argv0 \"\$0\"/}
    fi
    if [[ $origin == */arm64 ]]; then
        # shellcheck disable=SC2016 # the variables of the script
        run='qemu-aarch64-static -0 "$0" -L "$root/root"'
    fi
    for program in "${@:3}"; do
        write_wrapper "$folder/${program##*/}" "$run \"\$root/root$program\""
    done
    write_wrapper "$folder/with-libraries" "${run/ --argv0 \"\$0\"/}"
}

# Writes the script FILE, which adds its arguments to a command.
#   write_wrapper FILE COMMAND
write_wrapper() {
    cat >"$1" <<WRAPPER
#!/bin/sh
# Starts a program with the loader and the libraries that it was built for. A program of this folder
# gets the name of this script.
root=\${0%/*}
exec $2 "\$@"
WRAPPER
    chmod 755 "$1"
}

# Unpacks packages of an origin into target/NAME. "src:NAME/FOLDER" is a folder of a source package,
# which is unpacked into src/NAME there.
#   unpack_packages NAME ORIGIN PACKAGE...
unpack_packages() (
    home=$PWD/target/$1
    if is_unpacked "$home" "${*:2}"; then
        return
    fi
    downloads=$(mktemp -d)
    mkdir -p "${home%/*}"
    unpacked=$(mktemp -d "$home.XXXXXX")
    trap 'rm -rf "$downloads" "$unpacked"' EXIT
    chmod 755 "$unpacked"
    download_packages "$downloads" "${@:2}"
    unpack_all "$downloads" "$unpacked"
    # Absolute links point to the unpacked files.
    find "$unpacked" -type l -lname '/*' | while read -r link; do
        ln -sfr "$unpacked$(readlink "$link")" "$link"
    done
    # Some packages load files by their installed path. Removes this path, so that PHP finds the
    # files through the include path.
    find "$unpacked" -iname '*autoload*.php' -exec sed -i "s#'/usr/share/php/#'#g" {} +
    for source in "${@:3}"; do
        if [[ $source == src:* ]]; then
            unpack_source "$downloads" "$unpacked/src" "${source#src:}"
        fi
    done
    echo "${*:2}" >"$unpacked/packages"
    rm -rf "$home"
    mv "$unpacked" "$home"
)

# Unpacks a folder of a source package, if the package was downloaded.
#   unpack_source DOWNLOADS FOLDER NAME/FOLDER
unpack_source() {
    local package=${3%%/*} archive
    mkdir -p "$2/$package"
    for archive in "$1/$package/$package"_*.orig.tar.*; do
        if [[ -e $archive ]]; then
            tar -C "$2/$package" --strip-components 1 --no-same-owner --wildcards -xf "$archive" "*/${3#*/}"
        fi
    done
}
