# shellcheck shell=bash
# Executes the Dockerfile without Docker. scripts/test-packages sources this file.

# Executes the Dockerfile of the current folder. In the given folder, each image is a root folder,
# which is named after the image without its tag. The last stage is written into "scratch". Commands
# of this file need in_root. The other arguments are variables of the images, for example
# PHP_INI_DIR=/etc/php.
execute_dockerfile() {
    local images=$1 instruction arguments image stage root directory source target
    local -a variables words files
    local -A roots=()
    shift
    while read -r instruction arguments; do
        echo "$instruction $arguments"
        case $instruction in
            ARG) ;;
            FROM)
                read -r image _ stage <<<"$arguments"
                root=$images/${image%%:*} directory=/
                roots[$stage]=$root
                variables=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@")
                mkdir -p "$root"
                ;;
            ENV)
                read -ra words <<<"${arguments//\$PATH/${variables[0]#PATH=}}"
                variables+=("${words[@]}")
                ;;
            WORKDIR)
                directory=$arguments
                mkdir -p "$root$directory"
                ;;
            COPY)
                if [[ $arguments == --from=* ]]; then
                    read -r stage source target <<<"${arguments#--from=}"
                    mkdir -p "$root$target"
                    cp -a "${roots[$stage]}$source/." "$root$target"
                else
                    # The exceptions in .dockerignore are the only files that Docker copies.
                    mapfile -t files < <(sed -n 's/^!//p' .dockerignore)
                    git ls-files --cached --others --exclude-standard -z -- "${files[@]}" | xargs -0 cp --parents --target-directory="$root$directory"
                fi
                ;;
            RUN) in_root "$root" env -i "${variables[@]}" sh -ec "cd $directory && $arguments" </dev/null ;;
            *)
                echo "This script does not know $instruction"
                return 1
                ;;
        esac || return
    done < <(sed -e ':join' -e '/\\$/{N;s/\\\n *//;b join' -e '}' -e '/^#/d' -e '/^$/d' Dockerfile)
}
