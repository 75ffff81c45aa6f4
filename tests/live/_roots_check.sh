# Sourced by _roots.sh and ocaml5_*.sh, after _target.sh: dumps a target and compares what the
# snapshot says with what the program printed of itself. compare_flags: see _roots_compare.py.
compare=$SOURCE_DIR/tests/live/_roots_compare.py
compare_flags=${compare_flags:-}

# dump_roots SNAP: of the running target, which lives on.
dump_roots()
{
    "$HEAPSNAP" dump "$pid" -o "$1" || fail "dump"
    kill -0 "$pid" || fail "the target did not survive the dump"
}

# judge_roots WHAT SNAP
judge_roots()
{
    local what=$1 snap=$2
    "$HEAPSNAP" roots "$snap" --json -n 0 >"$work/roots.json" || fail "roots"
    set --
    if grep -q '^SAMPLE' "$work/log"; then
        "$HEAPSNAP" samples "$snap" --json -n 0 >"$work/samples.json" || fail "samples"
        set -- "$work/samples.json"
    fi
    # shellcheck disable=SC2086
    python3 "$compare" $compare_flags "$work/roots.json" "$work/log" "$@" || fail "$what"
}

# Dumps the running target and compares.
compare_roots()
{
    dump_roots "$work/heap.snap"
    judge_roots "$1" "$work/heap.snap"
}

# many_stops WHAT STOPS: so many dumps of the running target, which are judged when it is there no
# more, as it takes all processors; n_exact counts those that do not say that they are not exact.
many_stops()
{
    local i
    for i in $(seq "$2"); do
        (dump_roots "$work/$i.snap") >"$work/$i.said" 2>&1 ||
            { cat "$work/$i.said"; fail "$1: stop $i"; }
    done
    stop_target
    for i in $(seq "$2"); do
        (
            ! grep -q 'a stack could not be delimited' "$work/$i.said" ||
                compare_flags="$compare_flags --any-frame"
            judge_roots "$1" "$work/$i.snap"
        ) >>"$work/$i.said" 2>&1 || { cat "$work/$i.said"; fail "$1: stop $i"; }
        if grep "not exact" "$work/$i.said"; then
            continue
        fi
        n_exact=$((n_exact + 1))
        "$HEAPSNAP" info "$work/$i.snap" --json >"$work/info.json"
        python3 -c '
import json, sys
bad = [p for p in json.load(open(sys.argv[1]))["proofs"] if not p["holds"]]
sys.exit("a proof fails in an exact dump: %s" % bad if bad else 0)' "$work/info.json" ||
            fail "$1: stop $i"
    done
    rm -f "$work"/*.snap*
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
