# shellcheck shell=bash
# shellcheck disable=SC2154 # scripts/package sets version, home, dist and SOURCE_DATE_EPOCH
# Writes the source archive. scripts/package sources this file.

# Copies the tracked files of the work tree into a folder, except those that only serve its hosting.
copy_source() {
    mkdir -p "$1"
    git ls-files --cached --others --exclude-standard -z -- ':!.ci' ':!.github' ':!.gitattributes' ':!.gitignore' ':!.dockerignore' \
        ':!docs/images' ':!rust-toolchain.toml' | xargs -0 cp --parents --target-directory="$1"
}

# Copies all crates into a folder of the source, so that cargo needs no network. Empties those for
# Windows, which have prebuilt libraries. Cargo only reads their names. Removes the objects for
# Windows from the others, because "make clean" would delete them, and cargo would miss them.
vendor_crates() {
    local crate object
    cargo vendor --locked --versioned-dirs --quiet "$1/vendor" >/dev/null
    for crate in "$1"/vendor/windows*; do
        find "$crate" -type f ! -name Cargo.toml ! -name .cargo-checksum.json -delete
        find "$crate" -type d -empty -delete
        sed -i 's/"files":{[^}]*}/"files":{}/' "$crate/.cargo-checksum.json"
        install -D -m 644 /dev/null "$crate/src/lib.rs"
    done
    for crate in "$1"/vendor/*; do
        while read -r object; do
            rm "$crate/$object"
            sed -i -e "s#\"$object\":\"[0-9a-f]*\",\{0,1\}##" -e 's#,}#}#' "$crate/.cargo-checksum.json"
        done < <(cd "$crate" && find . -type f -regex '.*\.\(o\|lo\|a\|la\|so\|dep\)' -printf '%P\n')
    done
    printf '%s\n' '[source.crates-io]' 'replace-with = "vendored-sources"' '[source.vendored-sources]' 'directory = "vendor"' >>"$1/.cargo/config.toml"
}

# Writes package.xml for PECL into a folder, with the files of the source but not the crates.
write_package_xml() {
    local files
    files=$(cd "$1" && find . -type f ! -path './vendor/*' ! -path './.*' ! -name package.xml | sort \
        | sed 's#^\./\(docs/.*\|examples/.*\|[A-Z]*\.md\|LICENSE\|CRATES\)$#   <file name="\1" role="doc"/>#; s#^\./\(php-tests/.*\)$#   <file name="\1" role="test"/>#; s#^\./\(.*\)$#   <file name="\1" role="src"/>#')
    sed -e "s/@VERSION@/$version/g" -e "s/@DATE@/$(date --date="@$SOURCE_DATE_EPOCH" +%F)/" -e '/@FILES@/{r /dev/stdin' -e 'd}' \
        packaging/package.xml <<<"$files" >"$1/package.xml"
}

# Writes the source archive with all crates into dist/. Two archives of one commit are identical.
source_archive() {
    local name=tokenbucket-$version parent=$home/source
    rm -rf "$parent"
    copy_source "$parent/$name"
    vendor_crates "$parent/$name"
    cp "$home/CRATES" "$parent/$name/CRATES"
    cp "$home/copyright" "$parent/$name/packaging/debian/copyright"
    git log -1 --format=%h -- Cargo.toml Cargo.lock build.rs src crates >"$parent/$name/.commit"
    write_package_xml "$parent/$name"
    tar -C "$parent" --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=a+rX,u+w,go-w \
        -cf - "$name" | xz --threads=1 >"$dist/$name.tar.xz"
}
