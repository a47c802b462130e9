# shellcheck shell=bash
# shellcheck disable=SC2154 # scripts/package sets version, home, dist and SOURCE_DATE_EPOCH
# Writes Debian packages of modules that are built already. scripts/package sources this file.

# Writes the programs that packaging/debian expects for a PHP of another suite or architecture.
#   foreign_programs FOLDER VERSION API
foreign_programs() {
    mkdir -p "$1"
    cat >"$1/php-config$2" <<SCRIPT
#!/bin/sh
case \$1 in
    --phpapi) echo $3 ;;
    --extension-dir) echo /usr/lib/php/$3 ;;
    *) exit 1 ;;
esac
SCRIPT
    chmod 755 "$1/php-config$2"
    ln -sf "$(command -v llvm-objcopy)" "$1/aarch64-linux-gnu-objcopy"
    ln -sf "$(command -v llvm-strip)" "$1/aarch64-linux-gnu-strip"
}

# Writes the packages of a module with its symbols, and those of the command, into dist/.
#   debs VERSION API ARCHITECTURE FOLDER LIBRARIES
debs() {
    local folder=$4/debian/tokenbucket-$version
    rm -rf "$4/debian"
    copy_source "$folder"
    cp -r "$folder/packaging/debian" "$folder/debian"
    cp "$home/CRATES" "$folder"
    cp "$home/copyright" "$folder/debian/copyright"
    foreign_programs "$4/debian/bin" "$1" "$2"
    (
        export PATH=$4/debian/bin:$PATH PHP=$1 MODULES=$4/modules LIBRARIES=$5
        cd "$folder" || exit
        make --no-print-directory -f debian/rules debian/control
        dpkg-buildpackage --build=binary --no-check-builddeps --unsigned-changes --unsigned-buildinfo --host-arch="$3" >"$4/debian/log" 2>&1 ||
            { tail -n 20 "$4/debian/log"; exit 1; }
    )
    mv "$4"/debian/*.deb "$dist"
}
