# Sourced by scripts/*-root: packages of another release of Debian, downloaded by an apt of our own,
# which changes nothing on this machine. Variables: dir, apt (a directory), suite, architecture; a
# function: unavailable MESSAGE.

# The mirror that this machine itself uses, without what it adds to the release.
archive_uri()
{
    local release
    release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' "Created-By: Packages" |
        awk -v release="$release" \
            '$2 == release && $3 == "main" && $1 ~ /debian/ && !n++ { print $1 }'
}

private_apt()
{
    apt-get -q \
        -o Dir::State::Lists="$apt/lists" -o Dir::State::status="$apt/status" \
        -o Dir::Cache="$apt/cache" -o Dir::Etc::SourceList="$apt/sources.list" \
        -o Dir::Etc::SourceParts=/dev/null -o Dir::Etc::Preferences=/dev/null \
        -o Dir::Etc::PreferencesParts=/dev/null -o APT::Architecture="$architecture" \
        -o APT::Architectures::="$architecture" -o APT::Sandbox::User="$(id -un)" \
        -o Acquire::Languages=none -o Acquire::Retries=3 "$@" </dev/null >&2
}

prepare_apt()
{
    local uri
    uri=$(archive_uri) || true
    [ -n "$uri" ] || unavailable "no source of Debian packages is configured"
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/debs"
    : >"$apt/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $suite main" \
        >"$apt/sources.list"
    private_apt update || unavailable "the package lists of $suite cannot be read"
}

# Manuals and translations are most of the files and of no use.
unpack_debs()
{
    local deb
    for deb in "$apt/debs"/*.deb; do
        dpkg-deb --fsys-tarfile "$deb" |
            tar -x -C "$dir" --no-same-owner --exclude='./usr/share/doc/*' \
                --exclude='./usr/share/man/*' --exclude='./usr/share/locale/*' \
                --exclude='./usr/lib/x86_64-linux-gnu/gconv/*'
    done
    rm -f "$apt/debs"/*.deb
}
