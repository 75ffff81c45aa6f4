#!/usr/bin/env bash
# parts: ocaml record
# A program traced by the standard library's Gc.Memprof: every id of the process is joined with its
# event as the program itself counts them, the estimate covers the exact heap, and the cross table
# names who allocated and who keeps.
. "$SOURCE_DIR/tests/live/_roots.sh"
build traced unix traced.ml

for program in "$work/traced" "$work/traced.stripped"; do
    start "$program" "$work/app.ctf"
    "$HEAPSNAP" dump "$pid" -o "$work/heap.snap" || fail "dump"
    cp "$work/app.ctf" "$work/live.ctf"
    echo >&9
    for _ in $(seq 600); do
        grep -q '^FLUSHED' "$work/log" && break
        sleep 0.1
    done
    grep -q '^FLUSHED' "$work/log" || fail "$program did not flush"
    python3 "$SOURCE_DIR/tests/live/_traced_compare.py" "$HEAPSNAP" "$work" || fail "$program"
    leave
done
