#!/usr/bin/env bash
# Dumps native_target at several sizes and prints what it costs: user CPU and peak memory of dump,
# index and roots, the snapshot's size, the pause against a plain read of the same memory.
#
#     bench/native_bench.sh BUILD_DIR [BLOCKS...]        default: 1000000 5000000
set -euo pipefail
build=${1:?usage: bench/native_bench.sh BUILD_DIR [BLOCKS...]}
shift
[ $# -gt 0 ] || set -- 1000000 5000000
work=$(mktemp -d)
pid=""
trap '[ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null; rm -rf "$work"' EXIT
heapsnap=$build/bin/heapsnap

# cost NAME COMMAND...: appends "NAME user-seconds peak-KiB"
cost()
{
    local name=$1
    shift
    python3 - "$name" "$@" <<'PYTHON'
import os, resource, subprocess, sys
child = subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
if status != 0:
    sys.exit(f"{sys.argv[2:]} failed")
print(f"{sys.argv[1]:10} {usage.ru_utime:6.2f} s user {usage.ru_stime:6.2f} s system "
      f"{usage.ru_maxrss / 1024:8.1f} MiB peak")
PYTHON
}

for blocks in "$@"; do
    mkfifo "$work/input.$blocks"
    "$build/bin/native_target" "$blocks" <"$work/input.$blocks" >"$work/log" &
    pid=$!
    exec 9>"$work/input.$blocks"
    until grep -q READY "$work/log"; do sleep 0.1; done
    resident=$(awk '/VmRSS/ { print $2 / 1024 " MiB" }' "/proc/$pid/status")
    echo "== $(head -1 "$work/log"); resident $resident"
    cost dump "$heapsnap" dump "$pid" -o "$work/heap.snap"
    cost index "$heapsnap" index "$work/heap.snap"
    cost roots "$heapsnap" roots "$work/heap.snap"
    cost leaks "$heapsnap" leaks "$work/heap.snap"
    "$heapsnap" info "$work/heap.snap" --json | python3 -c '
import json, sys
info = json.load(sys.stdin)
print("pause", info["pause_ns"] / 1e6, "ms; snapshot", info["file_bytes"] / 1e6, "MB;",
      info["objects"], "blocks,", info["edges"], "edges")'
    "$heapsnap" leaks "$work/heap.snap" --json | python3 -c '
import json, sys
leaks = json.load(sys.stdin)
print("leaks:", leaks["certain"]["count"], "certain,", leaks["possible"]["count"], "possible")'
    # Last: it fills holes in the process's page tables with zero pages, which a dump would copy.
    echo "plain read: $("$build/bin/plain_read" "$pid") $("$build/bin/plain_read" "$pid")"
    exec 9>&-
    wait "$pid"
    pid=""
    rm -f "$work/heap.snap" "$work/heap.snap.idx"
done
