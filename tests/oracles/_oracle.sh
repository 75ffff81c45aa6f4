# Sourced by what compares with other tools: a place to work in, and the tools themselves.
. "$SOURCE_DIR/tests/live/_target.sh"

here=$SOURCE_DIR/tests/oracles

skip()
{
    echo "skipped: $1" >&2
    exit 77
}

. "$here/_tools.sh"

# graph SNAP: our own answer as $work/graph/{nodes,edges}.tsv
graph()
{
    rm -rf "$work/graph"
    "$HEAPSNAP" check "$1" >/dev/null || fail "$1 is not sound"
    "$HEAPSNAP" export "$1" --to graph -o "$work/graph" "${@:2}" || fail "export of $1"
}
