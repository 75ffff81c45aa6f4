# parts: export
# callgrind_annotate opens our files: totals, what a frame owns, lines.
. "$(dirname "$0")/_client.sh"
need callgrind_annotate

annotate()
{
    callgrind_annotate --threshold=100 "$@" >"$work/annotated" 2>"$work/annotated.err" ||
        fail "callgrind_annotate: $(cat "$work/annotated.err")"
    [ ! -s "$work/annotated.err" ] || fail "it complains: $(head -3 "$work/annotated.err")"
    tr -d , <"$work/annotated" >"$work/plain"
}

export_to callgrind
annotate "$work/heap.callgrind"
grep -qE "^ *$heap_bytes \(100.0%\) +$heap_objects \(100.0%\) +PROGRAM TOTALS" "$work/plain" ||
    fail "other totals than $heap_bytes and $heap_objects: $(grep TOTALS "$work/plain")"
annotate --inclusive=yes "$work/heap.callgrind"
# The table of 40 pointers, the sessions and the texts that no nearer root has.
own=$("$HEAPSNAP" export "$heap" --to folded | awk -F'[ ]' '/^root global sessions;/ { n += $NF }
    END { print n }')
grep -qE "^ *$own .*/src/shop.c:root global sessions" "$work/plain" ||
    fail "the root does not own $own: $(grep sessions "$work/plain")"

a_trace
trace_to callgrind
annotate "$work/trace.callgrind"
grep -qE "^ *$live_bytes .* $trace_bytes .*PROGRAM TOTALS" "$work/plain" ||
    fail "other totals than $live_bytes and $trace_bytes: $(grep TOTALS "$work/plain")"
