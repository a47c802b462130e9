# shellcheck shell=bash
# Keeps the services of installed packages off: none is started now, and none is enabled for the
# next boot. Services of packages that this system had before are left alone.
#
# apt runs this file before dpkg unpacks packages. It marks each service of a new package as one
# that the administrator has disabled, so that the package does not enable it. It also adds the name
# of the service to a list. While a run of scripts/setup works, a policy denies the start of the
# services in this list. A run that is killed leaves the list and the policy. The policy then allows
# everything, and the next run removes both.

# The names of the services, without ".service". The file exists while packages are installed.
services=/var/lib/tokenbucket-setup
# The programs invoke-rc.d and deb-systemd-invoke ask this policy.
policy=/usr/sbin/policy-rc.d
# Debian's programs keep here which services a package has enabled. A service is disabled if a link
# in its file does not exist. Such a link of this script is in the folder "tokenbucket-setup".
enabled=/var/lib/systemd/deb-systemd-helper-enabled

# Reads the paths of packages from stdin, and turns the services of the new ones off.
turn_off_new_services() {
    local file package status script name
    mkdir -p "$enabled"
    while read -r file; do
        package=$(dpkg-deb --field "$file" Package)
        # The format has dpkg's variable.
        # shellcheck disable=SC2016
        status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
        [[ $status =~ ^(|not-installed|config-files)$ ]] || continue
        script=$(dpkg-deb --info "$file" postinst 2>/dev/null || true)
        while read -r name; do
            echo "/etc/systemd/system/tokenbucket-setup/$name" >"$enabled/$name.dsh-also"
            echo "${name%.service}" >>"$services"
        done < <(sed -nE "s/.*deb-systemd-helper (--quiet )?enable '?([^' ]+).*/\2/p" <<<"$script")
        sed -nE 's/.*update-rc\.d ([^ ]+) defaults.*/\1/p' <<<"$script" >>"$services"
    done
}

# Begins to install packages. The caller holds a lock on the folder of dpkg.
keep_services_off() {
    touch "$services"
    # Another policy stays. It may be that of a container, which denies every start.
    [[ ! -e $policy ]] || return 0
    cat >"$policy.new" <<POLICY
#!/bin/sh
# Written by scripts/setup of tokenbucket, which also removes it. Denies the start of the services
# that it installs, and only while it runs.
flock --shared --nonblock /var/lib/dpkg true && exit 0
[ "\$1" != --quiet ] || shift
if grep -qxF -e "\${1%.service}" $services 2>/dev/null; then exit 101; fi
POLICY
    chmod 755 "$policy.new"
    mv "$policy.new" "$policy"
}

# Ends what keep_services_off began, in this run or in a killed one.
finish_services() {
    local name file
    while read -r name; do
        [[ ! -e /etc/init.d/$name ]] || update-rc.d "$name" disable >/dev/null 2>&1 || true
    done < <(sort -u "$services" 2>/dev/null)
    # Packages that were not unpacked leave no mark.
    while read -r file; do
        name=${file##*/}
        [[ -e /lib/systemd/system/${name%.dsh-also} ]] || rm -f "$file"
    done < <(grep -lsF /tokenbucket-setup/ "$enabled"/*.dsh-also)
    ! grep -qs '^# Written by scripts/setup of tokenbucket' "$policy" || rm -f "$policy"
    # A later run configures packages that are unpacked. It needs the list.
    [[ -n $(dpkg --audit) ]] || rm -f "$services"
}

[[ ${BASH_SOURCE[0]} != "$0" ]] || { set -euo pipefail; turn_off_new_services; }
