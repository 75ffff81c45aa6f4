# Sourced by what tests live programs: a place to work in, and one target that never outlives it.
set -euo pipefail

# What the sourcing scripts use.
# shellcheck disable=SC2034
fixtures=$SOURCE_DIR/tests/live/fixtures
work=$(mktemp -d)
export XDG_CONFIG_HOME=$work/config # no rules of whoever runs this
pid=""

stop_target()
{
    exec 9>&-
    [ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null || true
    [ -z "$pid" ] || wait "$pid" 2>/dev/null || true
    pid=""
}
finish()
{
    stop_target
    rm -rf "$work"
}
trap finish EXIT

fail()
{
    echo "FAILED: $1"
    [ -f "$work/log" ] && tail -5 "$work/log"
    exit 1
}

# need TOOL...: without any of them the test is skipped.
need()
{
    local tool
    for tool in "$@"; do
        command -v "$tool" >/dev/null || { echo "skipped: no $tool"; exit 77; }
    done
}

# The path of libjemalloc.so.2, or nothing. Reads all that ldconfig says: a reader that stops
# earlier makes it fail where there are many libraries.
jemalloc_library()
{
    ldconfig -p | awk '$1 == "libjemalloc.so.2" && !n++ { print $NF }'
}

# start COMMAND...: runs it until it says READY and rests; its standard input stays open.
start()
{
    stop_target
    rm -f "$work/input"
    mkfifo "$work/input"
    : >"$work/log" # the program before was READY, too
    "$@" <"$work/input" >"$work/log" 2>&1 &
    pid=$!
    exec 9>"$work/input"
    for _ in $(seq 600); do
        if grep -q '^READY' "$work/log"; then
            sleep 0.2
            return
        fi
        kill -0 "$pid" 2>/dev/null || fail "$1 ended before it was ready"
        sleep 0.1
    done
    fail "$1 did not get ready"
}

# leave: the target ends by itself, as it would without us.
leave()
{
    exec 9>&-
    wait "$pid" || fail "the target did not end well"
    pid=""
}
