# A dump with little memory finds the same as one with enough, and every refusal and failure leaves
# the target as it was. HS_LONG: a larger one under the hard limit.
. "$(dirname "$0")/_target.sh"
need g++ python3 zstd
here=$SOURCE_DIR/tests/live
size=660
[ -z "${HS_LONG:-}" ] || size=800

g++ -O1 -g -o "$work/budget" "$fixtures/budget.cpp" || fail "building"
objcopy --strip-debug "$work/budget" "$work/budget_bare"

# told NAME: a figure of the last dump.
told() { awk -v name="$1" '$1 == name { print $2 }' "$work/told"; }

# try CODE BYTES [SPILL_DIR]: a dump that must end with this exit code.
try()
{
    local code=0
    rm -f "$work/heap.snap"
    "$BUDGET_DUMP" "$pid" "$work/heap.snap" "${@:2}" >"$work/told" 2>"$work/talk" || code=$?
    [ "$code" = "$1" ] || { cat "$work/talk"; fail "exit $code with budget $2, not $1"; }
    if [ "$code" != 0 ]; then
        [ -z "$(find "$work" -maxdepth 1 -name '*heap.snap*')" ] || fail "a half snapshot is left"
    fi
    kill -0 "$pid" || fail "the target did not survive"
}
# least LIMIT_MIB: the least that is accepted, from the refusal of so much.
least()
{
    try 6 $(($1 << 20))
    sed -nE 's/.*needs at least ([0-9.]+) MiB of memory, ([0-9.]+) MiB are left.*/\1 \2/p' \
        "$work/talk" | awk -v limit="$1" '{ print int((limit + $1 - $2 + 0.1) * 1024 * 1024) }'
}
is_stopped() { grep -q '^State:.*[Tt]' "/proc/$pid/status"; }

# One moment, two ways. Without debug information containers are looked for as far as the disk lets
# us: there the types may differ, and a note says so.
for program in budget budget_bare; do
    start "$work/$program" 120
    kill -STOP "$pid"
    sleep 0.1
    try 0 0
    mv "$work/heap.snap" "$work/all.snap"
    in_memory=$(told peak_rss_mib)
    try 0 $((80 << 20))
    spilled=$(told peak_rss_mib)
    "$HEAPSNAP" check "$work/heap.snap" >/dev/null || fail "check"
    "$HEAPSNAP" info "$work/heap.snap" >"$work/info" || fail "info"
    grep -q "through a temporary file" "$work/info" || fail "no note"
    but=()
    grep -q "in a part of the heap only" "$work/info" && but+=(but-types)
    python3 -B "$here/_same_graph.py" "$work/all.snap" "$work/heap.snap" "${but[@]}" ||
        fail "$program differs"
    try 0 $((2 << 30)) # enough
    python3 -B "$here/_same_graph.py" "$work/all.snap" "$work/heap.snap" || fail "$program differs"
    is_stopped || fail "a process that its user stopped was let go"
    kill -CONT "$pid"
    echo "$program: the same in $spilled MiB as in $in_memory MiB"
done

# Never stopped: too little for anything; no such directory.
try 6 $((16 << 20))
grep -q "needs at least" "$work/talk" || fail "no figures"
try 5 $((96 << 20)) "$work/nowhere"
# A full disk in the middle of the stop.
(
    trap '' XFSZ
    ulimit -f $((30 << 10))
    try 5 $((96 << 20))
) || exit 1
grep -q "spill-dir" "$work/talk" || { cat "$work/talk"; fail "no hint"; }
is_stopped && fail "the target stays stopped"
try 0 $((96 << 20))
leave

# One array is all there is: its pointers, described, are 4 times the process, and do not fit. What
# is accepted works: the least that is, and a copy in memory beside which nothing is left.
gcc -O1 -g -o "$work/one_array" "$fixtures/one_array.c" || fail "building"
start "$work/one_array" 2500000
try 0 0
mv "$work/heap.snap" "$work/all.snap"
for limit in "$(least 32)" $((92 << 20)); do
    try 0 "$limit"
    "$HEAPSNAP" check "$work/heap.snap" >/dev/null || fail "check"
    python3 -B "$here/_same_graph.py" "$work/all.snap" "$work/heap.snap" || fail "one array differs"
    echo "one array of $(told edges) pointers in $((limit >> 20)) MiB: the same," \
        "$(told peak_rss_mib) MiB resident"
done
leave

# A large heap under a hard limit, of which the least is left that is accepted: lists of vectors get
# what is left, and it is said when that is not enough.
start "$work/budget" "$size"
resident=$(awk '/VmRSS/ { print $2 }' "/proc/$pid/status")
limit=$(least 48)
[ "$limit" -lt $((resident * 1024 / 3)) ] || fail "$limit bytes are no little memory"
group=/sys/fs/cgroup/memory/heapsnap-test-$$
if mkdir "$group" 2>/dev/null; then
    echo $((limit / 7 * 8 + 8192)) >"$group/memory.limit_in_bytes" # an eighth is for others
    code=0
    bash -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' - "$group" "$BUDGET_DUMP" "$pid" \
        "$work/heap.snap" "$limit" >"$work/told" 2>"$work/talk" || code=$?
    peak=$(cat "$group/memory.max_usage_in_bytes")
    for _ in $(seq 600); do
        rmdir "$group" 2>/dev/null && break
        sleep 0.1
    done
    [ "$code" = 0 ] || { cat "$work/talk"; fail "exit $code under a hard limit"; }
    echo "with page cache $((peak >> 20)) MiB"
else
    echo "NOT TESTED: no memory controller that we may use"
    try 0 "$limit"
fi
"$HEAPSNAP" check "$work/heap.snap" >/dev/null || fail "check"
echo "$(told edges) pointers of $((resident >> 10)) MiB in the least that is accepted," \
    "$((limit >> 20)) MiB: peak resident $(told peak_rss_mib) MiB, pause $(told pause_ms) ms," \
    "$(told seconds) s"
leave
