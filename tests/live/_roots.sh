# Sourced by roots_*.sh: builds a fixture, runs it unstripped and stripped, dumps it and compares
# what the snapshot says with what the program printed of itself.
. "$SOURCE_DIR/tests/live/_target.sh"
need ocamlfind python3

case "$(ocamlfind ocamlopt -version)" in
4.13.*|4.14.*) ;;
*) echo "skipped: the compiler is not OCaml 4.13 or 4.14"; exit 77 ;;
esac

compare=$SOURCE_DIR/tests/live/_roots_compare.py

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
        start "$work/$variant" "$@"
        compare_roots "$variant"
        leave
    done
}
