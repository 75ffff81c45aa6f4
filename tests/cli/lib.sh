# Sourced by the tests of the command line. Each test is a bash script that ctest runs with
# HEAPSNAP, BUILD_DIR and SOURCE_DIR set; what needs structure is Python on the input of `python`.
set -euo pipefail

: "${HEAPSNAP:?the program to test}" "${BUILD_DIR:?where it was built}" "${SOURCE_DIR:?its source}"
export MAKE_SNAP=$BUILD_DIR/bin/make_snap
export PYTHONPATH=$SOURCE_DIR/tests/cli
export PYTHONDONTWRITEBYTECODE=1
work=$(mktemp -d)
export WORK=$work
export XDG_CACHE_HOME=$work/cache XDG_CONFIG_HOME=$work/config
unset NO_COLOR COLUMNS
started=()
# is_own PID: is it a child of this test, or in its directory? The number of a process that has
# ended may be anybody's: numbers are used again within minutes where many processes begin.
is_own()
{
    local parent
    parent=$(awk '$1 == "PPid:" { print $2 }' "/proc/$1/status" 2>/dev/null) || return 1
    [ "$parent" = $$ ] || [[ $(readlink "/proc/$1/cwd" 2>/dev/null)/ == "$work"/* ]]
}
cleanup()
{
    local pid
    for pid in "${started[@]+"${started[@]}"}"; do
        ! is_own "$pid" || kill -KILL "$pid" 2>/dev/null || true
    done
    chmod -R u+rwx "$work" 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT

python()
{
    python3 -B - "$@"
}

# has_part NAME: is this part of heapsnap built (cmake/HsParts.cmake)?
has_part()
{
    [ -z "${PARTS+set}" ] || [[ " $PARTS " == *" $1 "* ]]
}

skip()
{
    echo "skipped: $*" >&2
    exit 77
}

fail()
{
    echo "FAILED: $*" >&2
    exit 1
}

# heapsnap ARGUMENTS...: runs it; output in $work/out and $work/err, its exit code in $code.
heapsnap()
{
    code=0
    "$HEAPSNAP" "$@" >"$work/out" 2>"$work/err" || code=$?
}

# exits CODE ARGUMENTS...
exits()
{
    local expected=$1
    shift
    heapsnap "$@"
    [ "$code" -eq "$expected" ] ||
        fail "heapsnap $*: exit $code, expected $expected: $(cat "$work/err")"
}

# says TEXT: the message, to the letter. hints TEXT: the hint likewise.
says()
{
    grep -qxF "heapsnap: $1" "$work/err" || fail "no line 'heapsnap: $1' in: $(cat "$work/err")"
}
hints()
{
    grep -qxF "hint: $1" "$work/err" || fail "no line 'hint: $1' in: $(cat "$work/err")"
}
# mentions PATTERN: an extended regular expression found in the talk.
mentions()
{
    grep -qE -- "$1" "$work/err" || fail "nothing like '$1' in: $(cat "$work/err")"
}
