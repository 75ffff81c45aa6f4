# Sourced by roots_*.sh: builds a fixture, runs it unstripped and stripped, dumps it and compares
# what the snapshot says with what the program printed of itself.
set -euo pipefail

command -v ocamlfind >/dev/null || { echo "skipped: no OCaml compiler"; exit 77; }
case "$(ocamlfind ocamlopt -version)" in
4.13.*|4.14.*) ;;
*) echo "skipped: the compiler is not OCaml 4.13 or 4.14"; exit 77 ;;
esac
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }

fixtures=$SOURCE_DIR/tests/live/fixtures
compare=$SOURCE_DIR/tests/live/_roots_compare.py
work=$(mktemp -d)
pid=""

stop_target()
{
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

# build OUTPUT PACKAGES SOURCES...: compiles copies, so that nothing is left beside the sources.
build()
{
    local output=$1 packages=$2
    shift 2
    for source in "$@"; do
        cp "$fixtures/$source" "$work/"
    done
    (cd "$work" && ocamlfind ocamlopt -w -a -g -thread -package "$packages" -linkpkg "$@" \
        -o "$output") || fail "building $output"
    cp "$work/$output" "$work/$output.stripped"
    strip "$work/$output.stripped"
}

# start PROGRAM ARGUMENTS...: runs it until it says READY; its standard input stays open.
start()
{
    local program=$1
    shift
    rm -f "$work/input"
    mkfifo "$work/input"
    "$work/$program" "$@" <"$work/input" >"$work/log" 2>&1 &
    pid=$!
    exec 9>"$work/input"
    for _ in $(seq 300); do
        grep -q '^READY' "$work/log" && break
        kill -0 "$pid" 2>/dev/null || fail "$program ended before it was ready"
        sleep 0.1
    done
    grep -q '^READY' "$work/log" || fail "$program did not get ready"
    sleep 0.2
}

# Dumps the running target and compares.
compare_roots()
{
    "$HEAPSNAP" dump "$pid" -o "$work/heap.snap" || fail "dump"
    kill -0 "$pid" || fail "the target did not survive the dump"
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "roots"
    if grep -q '^SAMPLE' "$work/log"; then
        "$HEAPSNAP" samples "$work/heap.snap" --json -n 0 >"$work/samples.json" || fail "samples"
        python3 "$compare" "$work/roots.json" "$work/log" "$work/samples.json" || fail "$1"
    else
        python3 "$compare" "$work/roots.json" "$work/log" || fail "$1"
    fi
}

# check PROGRAM ARGUMENTS...: both variants; afterwards the target ends by itself as it should.
check()
{
    local program=$1
    shift
    for variant in "$program" "$program.stripped"; do
        echo "$variant"
        start "$variant" "$@"
        compare_roots "$variant"
        exec 9>&-
        wait "$pid" || fail "$variant did not end well"
        pid=""
    done
}
