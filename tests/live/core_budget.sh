#!/usr/bin/env bash
# A core larger than the memory we may use gives the same as with enough, and neither its dump nor
# the unpacking of it takes more.
. "$(dirname "$0")/_core.sh"
need gcc
megabytes=${HS_CORE_MEGABYTES:-200}

head -c 20000 /dev/urandom | base64 >"$work/file"
gcc -O1 -pthread -o "$work/world" "$fixtures/core_world.c" || fail "building"
start_at_home "$work/world" "$work/file" "$megabytes"
stop_by_user
take_kernel_core core || take_gcore core
stop_target

# measured MEGABYTES CORE [OPTIONS...]: dumps it; $peak is the most that was resident, in KiB.
measured()
{
    python3 - "$HEAPSNAP" "$work/other/heap.snap" "$@" <<'PYTHON' >"$work/peak" || fail "$*"
import resource, subprocess, sys
heapsnap, out, megabytes, *rest = sys.argv[1:]
subprocess.run([heapsnap, "dump", "--core", *rest, "--memory", megabytes + "MiB", "-o", out],
               check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
PYTHON
    peak=$(cat "$work/peak")
}

export TMPDIR=$work
measured 4000 "$work/core"
mv "$work/other/heap.snap" "$work/live/heap.snap"
echo "core of $(($(stat -c %s "$work/core") >> 20)) MiB in memory: $((peak >> 10)) MiB"
measured 96 "$work/core"
"$HEAPSNAP" info "$work/other/heap.snap" | grep "through a temporary file" >/dev/null ||
    fail "no note"
python3 -B "$SOURCE_DIR/tests/live/_same_graph.py" "$work/live/heap.snap" \
    "$work/other/heap.snap" || fail "with little memory it differs"
[ "$peak" -lt $((100 << 10)) ] || fail "$peak KiB resident with 96 MiB"
echo "with --memory 96MiB: $((peak >> 10)) MiB"
zstd -q "$work/core" -o "$work/core.zst"
measured 96 "$work/core.zst"
python3 -B "$SOURCE_DIR/tests/live/_same_graph.py" "$work/live/heap.snap" \
    "$work/other/heap.snap" || fail "packed it differs"
[ "$peak" -lt $((104 << 10)) ] || fail "$peak KiB resident with 96 MiB, packed"
echo "with --memory 96MiB, packed: $((peak >> 10)) MiB"
