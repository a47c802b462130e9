# shellcheck shell=bash
# Downloads packages of Debian suites, and does not change the system's package lists.
#
# An origin is one suite or several, and optionally another architecture than that of this machine:
# trixie, sid+experimental, sid/arm64. The origin experimental has its own packages, and those of
# sid that it lacks. All origins share one folder with package lists, so that apt gets each list
# once an hour.
lists=$PWD/target/package-lists

# Waits for other runs that work on the same thing. The lock ends with the script, or when the file
# descriptor in the variable "lock" is closed.
lock() {
    mkdir -p "$lists"
    exec {lock}>"$lists/${1//\//-}.lock"
    flock "$lock"
}

# Prints the mirror from which this system gets Debian.
mirror() {
    # shellcheck disable=SC2016 # apt-get's variables
    apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | head -n 1
}

# Gets the package lists of an origin, and those of its sources if the second argument is "deb-src".
# Locks the lists, and sets apt_options, with which apt-get uses them.
get_package_lists() {
    local origin=$1 architecture='' release='' suites site program content log
    local keys=/usr/share/keyrings/debian-archive-keyring.gpg
    for program in apt-get dpkg; do
        command -v "$program" >/dev/null || unavailable "$program is missing"
    done
    [[ -r $keys ]] || unavailable "$keys is missing"
    site=$(mirror)
    [[ -n $site ]] || unavailable 'apt has no Debian mirror'
    IFS=+ read -ra suites <<<"${origin%/*}"
    if [[ $origin == experimental ]]; then
        suites=(sid experimental) release=experimental
    fi
    if [[ $origin == */* ]]; then
        architecture=${origin#*/}
    fi
    # Without targets, apt also gets the lists that other programs of this system use.
    content=$(printf "deb [signed-by=$keys target=Packages] $site %s main\n" "${suites[@]}")
    if [[ ${2:-} == deb-src ]]; then
        content+=$(printf "\ndeb-src [signed-by=$keys target=Sources] $site %s main" "${suites[@]}")
    fi
    lock lists
    package_list=$lists/${origin/\//-}${2:+.$2}
    mkdir -p "$lists/state/lists/partial" "$lists/cache/archives/partial"
    [[ -e $lists/status ]] || touch "$lists/status"
    apt_options=(
        -o "Dir::Etc::sourcelist=$package_list" -o Dir::Etc::sourceparts=-
        -o "Dir::State=$lists/state" -o "Dir::State::status=$lists/status"
        -o "Dir::Cache=$lists/cache" -o "Dir::Cache::pkgcache=$package_list.bin" -o Dir::Cache::srcpkgcache=
        -o APT::Sandbox::User=root -o Acquire::Languages=none
        -o APT::Get::List-Cleanup=false -o APT::Update::Error-Mode=any
        ${release:+-o "APT::Default-Release=$release"}
        ${architecture:+-o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture"}
    )
    if [[ $(cat "$package_list" 2>/dev/null) != "$content" || -z $(find "$package_list" -mmin -60) ]]; then
        echo "$content" >"$package_list"
        log=$(apt-get "${apt_options[@]}" update 2>&1) || apt_failed "$log"
    fi
}

# Ends the script, and shows the errors in the output of apt-get. The next run gets the lists again.
apt_failed() {
    rm -f "$package_list"
    unavailable "$(grep '^[EW]:' <<<"$1" || tail -n 3 <<<"$1")"
}

# Downloads packages of an origin into a folder. "src:NAME/FOLDER" is a source package, which is
# saved in the folder NAME. A missing source is only reported.
#   download_packages FOLDER ORIGIN PACKAGE...
download_packages() {
    local folder=$1 origin=$2 package binary=() sources=() log
    for package in "${@:3}"; do
        if [[ $package == src:* ]]; then sources+=("${package#src:}"); else binary+=("$package"); fi
    done
    get_package_lists "$origin" ${sources:+deb-src}
    log=$(cd "$folder" && apt-get "${apt_options[@]}" download "${binary[@]}" 2>&1) || apt_failed "$log"
    for package in "${sources[@]%%/*}"; do
        mkdir -p "$folder/$package"
        log=$(cd "$folder/$package" && apt-get "${apt_options[@]}" source --download-only --tar-only "$package" 2>&1) ||
            echo "The source of $package in $origin is not available: $(grep '^E:' <<<"$log" | head -n 1)" >&2
    done
    exec {lock}>&-
}

# Downloads the newest source of a package into a folder.
#   download_source FOLDER ORIGIN PACKAGE
download_source() {
    local folder=$1 package=$3 version versions log='E: There is no source'
    get_package_lists "$2" deb-src
    versions=$(apt-cache "${apt_options[@]}" madison "$package" | awk '{ print $3 }' | sort --unique --version-sort --reverse)
    # A mirror may list a version that it does not have. Then the next older version is tried.
    for version in $versions; do
        if log=$(cd "$folder" && apt-get "${apt_options[@]}" source --download-only --tar-only "$package=$version" 2>&1); then
            exec {lock}>&-
            return
        fi
    done
    apt_failed "$log"
}
