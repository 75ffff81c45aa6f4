# Sourced by what compares with other tools: a place to work in, and the tools themselves.
. "$SOURCE_DIR/tests/live/_target.sh"

here=$SOURCE_DIR/tests/oracles
kept=${HS_ORACLES:-${BUILD_DIR%/*}/oracles} # shared by the builds of one tree

skip()
{
    echo "skipped: $1" >&2
    exit 77
}

. "$here/_visualvm.sh"

# need_npm PACKAGE@VERSION...: installs them below $kept/NAME, once. Their scripts are not run.
need_npm()
{
    local name=$1
    shift
    need node npm
    npm_dir=$kept/$name
    [ ! -e "$npm_dir/whole" ] || return 0
    rm -rf "$npm_dir"
    mkdir -p "$npm_dir"
    echo '{"private": true}' >"$npm_dir/package.json"
    (cd "$npm_dir" && timeout 240 npm install --ignore-scripts --no-audit --no-fund --no-save \
        --loglevel error "$@") >"$work/npm.log" 2>&1 || {
        tail -3 "$work/npm.log" >&2
        rm -rf "$npm_dir"
        skip "npm cannot install $*"
    }
    touch "$npm_dir/whole"
}

# graph SNAP: our own answer as $work/graph/{nodes,edges}.tsv
graph()
{
    rm -rf "$work/graph"
    "$HEAPSNAP" check "$1" >/dev/null || fail "$1 is not sound"
    "$HEAPSNAP" export "$1" --to graph -o "$work/graph" "${@:2}" || fail "export of $1"
}
