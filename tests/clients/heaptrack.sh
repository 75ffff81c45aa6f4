# parts: export
# heaptrack_print opens our files: what it calls leaked is what is alive, with stacks and lines.
. "$(dirname "$0")/_client.sh"
need heaptrack_print

# leaked FILE: the sum of the stacks that heaptrack writes; its report to $work/report.
leaked()
{
    heaptrack_print -F "$work/stacks" --flamegraph-cost-type leaked "$1" \
        >"$work/report" 2>"$work/report.err" || fail "heaptrack_print: $(cat "$work/report.err")"
    awk '{ sum += $NF } END { print sum + 0 }' "$work/stacks"
}

export_to heaptrack
same "bytes" "$(leaked "$work/heap.heaptrack")" "$heap_bytes"
grep -q 'at /src/shop.c:318' "$work/report" || fail "no line of a root"
grep -qF 'root global sessions (shop.c);struct session *[];struct session' "$work/stacks" ||
    fail "another stack: $(cut -c1-200 "$work/stacks")"
[ "$(wc -l <"$work/stacks")" -ge 20 ] || fail "stacks are missing: $(cut -c1-200 "$work/stacks")"
gzip -c "$work/heap.heaptrack" >"$work/heap.gz"
same "gzipped" "$(leaked "$work/heap.gz")" "$heap_bytes"

a_trace
trace_to heaptrack
same "alive" "$(leaked "$work/trace.heaptrack")" "$live_bytes"
heaptrack_print -F "$work/stacks" --flamegraph-cost-type peak "$work/trace.heaptrack" \
    >"$work/report"
same "allocated" "$(awk '{ sum += $NF } END { print sum }' "$work/stacks")" "$trace_bytes"
