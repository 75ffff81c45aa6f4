# Sourced by the tests of native programs: builds a fixture, starts it, dumps it.
. "$SOURCE_DIR/tests/live/_target.sh"
need python3

# dump [OPTIONS...]: into $work/heap.snap; the target must live on.
dump()
{
    "$HEAPSNAP" dump "$pid" -o "$work/heap.snap" "$@" 2>"$work/talk" ||
        { cat "$work/talk"; fail "dump"; }
    kill -0 "$pid" || fail "the target did not survive the dump"
    "$HEAPSNAP" check "$work/heap.snap" >/dev/null || fail "check"
}

# rust_compilers: the paths of those there are, one of each version.
rust_compilers()
{
    local rustc version seen=" "
    for rustc in $(type -a -p rustc); do
        version=$("$rustc" --version) || continue
        [ "${seen/"$version"/}" = "$seen" ] || continue
        seen="$seen $version"
        echo "$rustc"
    done
}
