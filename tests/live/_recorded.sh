# Sourced by ocaml*_recorded.sh, after what compiles: OCaml programs under `heapsnap record`, with
# nothing of ours in them.
[ -e "$BUILD_DIR/bin/libheapsnap-record.so" ] || {
    echo "skipped: no recorder in this build"
    exit 77
}

# recorded RATE PROGRAM ARGUMENT...: runs it under record, until it rests.
recorded()
{
    local rate=$1
    shift
    rm -f "$work/app.trace" "$work/heap.snap" "$work/heap.snap.idx"
    start "$HEAPSNAP" record --rate "$rate" -o "$work/app.trace" -- "$@"
    recorder=$pid
    pid=$(pgrep -P "$recorder") || fail "no program"
}

ended()
{
    exec 9>&-
    wait "$recorder" || fail "record: $(cat "$work/log")"
    pid=""
}

# compare PROGRAM RATE N: what the samples of a dump, with and without the trace, and the trace say
# against what the program says of itself.
compare()
{
    local program=$1 rate=$2 n=$3
    recorded "$rate" "$program" "$n"
    "$HEAPSNAP" dump "$pid" -o "$work/heap.snap" 2>"$work/talk" || fail "dump: $(cat "$work/talk")"
    if grep -q "not exact" "$work/talk"; then fail "$program: $(cat "$work/talk")"; fi
    "$HEAPSNAP" samples "$work/heap.snap" --group-by site,root --json -n 0 >"$work/table.json" \
        2>"$work/talk" || fail "samples: $(cat "$work/talk")"
    "$HEAPSNAP" samples "$work/heap.snap" --group-by site,root --json -n 0 \
        --trace "$work/app.trace" >"$work/traced.json" 2>"$work/talk" ||
        fail "samples with the trace: $(cat "$work/talk")"
    ended
    "$HEAPSNAP" trace top "$work/app.trace" --heap minor,major --json -n 0 >"$work/top.json" ||
        fail "trace top"
    "$HEAPSNAP" trace info "$work/app.trace" --json >"$work/info.json" || fail "trace info"
    python3 "$SOURCE_DIR/tests/live/_recorded_compare.py" "$work" "$rate" || fail "$program $rate"
}

# same PROGRAM RATE...: it says and does the same with and without, and no packet is damaged.
same()
{
    local program=$1 rate
    shift
    "$program" >"$work/alone" 2>&1 || fail "$program alone"
    for rate in "$@"; do
        rm -f "$work"/same.trace*
        "$HEAPSNAP" record --children --rate "$rate" -o "$work/same.trace" --quiet -- "$program" \
            >"$work/log" 2>&1 || fail "$program at $rate"
        cmp "$work/alone" "$work/log" || fail "$program at $rate says something else"
        for trace in "$work"/same.trace*; do
            "$HEAPSNAP" trace info "$trace" --json >"$work/info.json" || fail "$trace"
            python3 - "$work/info.json" <<'END' || fail "$program at $rate: $trace"
import json, sys
info = json.load(open(sys.argv[1]))
assert info["counts"]["allocations_minor"] > 10, info["counts"]
assert info["counts"]["unmatched"] == 0, info["counts"]
assert not any(info["gaps"].values()), info["gaps"]
END
        done
    done
}

# told TEXT PROGRAM ARGUMENT...: one line says why OCaml's heap was not sampled.
told()
{
    local text=$1
    shift
    "$HEAPSNAP" record -o "$work/told.trace" -- "$@" >"$work/out" 2>"$work/log" </dev/null ||
        fail "$2 did not end well"
    [ "$(grep -c "OCaml's own heap .*$text" "$work/log")" = 1 ] || fail "not told: $text"
}
