#!/usr/bin/env bash
# Runs a command under a hard limit of memory, page cache and all: over it, it is killed.
#
#     bench/limited.sh BYTES COMMAND...
#
# Exit: the command's own; 137 when it was killed; 77 when this system gives no such limit (it takes
# root and the memory controller of cgroup version 2 or 1). With LIMITED_REPORT=FILE the peak in
# bytes, and how often the kernel had to take pages back, are written there.
#
# Drop the caches of input files first (dd of=FILE oflag=nocache conv=notrunc,fdatasync count=0):
# pages that others have brought into memory are charged to them.
set -euo pipefail
bytes=${1:?usage: bench/limited.sh BYTES COMMAND...}
shift
[ $# -gt 0 ] || { echo "usage: bench/limited.sh BYTES COMMAND..." >&2; exit 2; }

root=/sys/fs/cgroup
if [ -w "$root/cgroup.subtree_control" ] && grep -qw memory "$root/cgroup.controllers" &&
    echo +memory >"$root/cgroup.subtree_control" 2>/dev/null; then
    group=$root/heapsnap.$$ limit=memory.max peak=memory.peak fails=memory.events
elif [ -w "$root/memory/memory.limit_in_bytes" ] || [ -w "$root/memory/cgroup.procs" ]; then
    group=$root/memory/heapsnap.$$ limit=memory.limit_in_bytes peak=memory.max_usage_in_bytes
    fails=memory.failcnt
else
    echo "limited.sh: no memory controller here, or not root" >&2
    exit 77
fi
mkdir "$group" || { echo "limited.sh: cannot make '$group'" >&2; exit 77; }

finish()
{
    for _ in 1 2 3 4 5; do
        rmdir "$group" 2>/dev/null && return
        sleep 0.1
    done
}
trap finish EXIT

echo "$bytes" >"$group/$limit"
[ ! -e "$group/memory.swap.max" ] || echo 0 >"$group/memory.swap.max"
set +e
# shellcheck disable=SC2016
bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$@"
status=$?
set -e
if [ -n "${LIMITED_REPORT:-}" ]; then
    {
        echo "peak_bytes $(cat "$group/$peak" 2>/dev/null || echo 0)"
        echo "reclaims $(awk '$1 == "max" { print $2; found = 1 } NF == 1 { print $1; found = 1 }
            END { if (!found) print 0 }' "$group/$fails" 2>/dev/null)"
    } >"$LIMITED_REPORT"
fi
exit "$status"
