# Sourced by _roots.sh and ocaml5_*.sh, after _target.sh: dumps a target and compares what the
# snapshot says with what the program printed of itself. compare_flags: see _roots_compare.py.
compare=$SOURCE_DIR/tests/live/_roots_compare.py
compare_flags=${compare_flags:-}

# Dumps the running target and compares.
compare_roots()
{
    "$HEAPSNAP" dump "$pid" -o "$work/heap.snap" || fail "dump"
    kill -0 "$pid" || fail "the target did not survive the dump"
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "roots"
    if grep -q '^SAMPLE' "$work/log"; then
        "$HEAPSNAP" samples "$work/heap.snap" --json -n 0 >"$work/samples.json" || fail "samples"
        set -- "$1" "$work/samples.json"
    fi
    # shellcheck disable=SC2086
    python3 "$compare" $compare_flags "$work/roots.json" "$work/log" "${@:2}" || fail "$1"
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
