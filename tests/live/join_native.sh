#!/usr/bin/env bash
# parts: record
# A leaking C++ program, once under `heapsnap record` and once under jemalloc's profiler: the cross
# table names the call that leaks and the variable that keeps it, the estimate covers what the
# program says it asked for, and every sample of the recorder is in its trace.
. "$SOURCE_DIR/tests/live/_target.sh"
need g++ python3
g++ -g -O1 -o "$work/join_leak" "$fixtures/join_leak.cpp" || fail "building join_leak"

# The process that has said READY; `start` knows what it was started by.
look()
{
    local how=$1 process=$2
    "$HEAPSNAP" dump "$process" -o "$work/$how.snap" 2>/dev/null || fail "dump of $how"
    python3 "$SOURCE_DIR/tests/live/_join_native.py" "$HEAPSNAP" "$work" "$how" || fail "$how"
}

start "$HEAPSNAP" record --rate 16KiB -o "$work/app.trace" -- "$work/join_leak"
process=$(cat "/proc/$pid/task/$pid/children")
look record "${process%% *}"
leave
grep -q ENDED "$work/log" || fail "the program did not end"
python3 "$SOURCE_DIR/tests/live/_join_native.py" "$HEAPSNAP" "$work" trace || fail "trace"

jemalloc=$(jemalloc_library)
if [ -z "$jemalloc" ]; then
    echo "no libjemalloc.so.2: that half is left out"
    exit 0
fi
start env "LD_PRELOAD=$jemalloc" MALLOC_CONF=prof:true,lg_prof_sample:14 "$work/join_leak"
if grep -q "Invalid conf pair" "$work/log"; then
    echo "libjemalloc.so.2 has no profiler: that half is left out"
    exit 0
fi
look jemalloc "$pid"
leave
