#!/usr/bin/env bash
# What coredump_filter (core(5)) leaves out of a core comes from the files that were mapped, which
# are proven by other means when their first pages are missing. Without private memory there is no
# heap: that is said.
. "$(dirname "$0")/_core.sh"
need gcc

head -c 20000 /dev/urandom | base64 >"$work/file"
gcc -O1 -g -pthread -o "$work/world" "$fixtures/core_world.c" || fail "building"

# by_filter FILTER: $work/by_gcore and, where the kernel writes them, $work/by_kernel.
by_filter()
{
    start_at_home sh -c 'echo "$1" >/proc/self/coredump_filter; shift; exec "$@"' - "$1" \
        "$work/world" "$work/file"
    [ "$(cat "/proc/$pid/coredump_filter")" = "$(printf %08x "$1")" ] || fail "filter $1"
    stop_by_user
    dump_live
    take_gcore by_gcore
    cores=by_gcore
    if take_kernel_core by_kernel; then
        cores="by_gcore by_kernel"
    fi
    stop_target
}

# 0x33 is the default; 0x13: smaller; 0x23, 0x03: without the first pages of files; 0x7f: with all
# pages of files.
for filter in 0x33 0x13 0x23 0x03 0x7f; do
    by_filter "$filter"
    for core in $cores; do
        dump_core "$work/$core"
        size=$(stat -c %b "$work/$core")
        same "filter $filter, $core, $((size / 2048)) MiB" reserved "shared memory" "mapped files"
    done
done

# Without shared memory, which may hold what it likes, no leak is certain.
by_filter 0x01
for core in $cores; do
    dump_core "$work/$core"
    "$HEAPSNAP" info "$work/other/heap.snap" >"$work/said" 2>&1 || fail "info"
    grep -q "shared memory were not read .*possibly leaked" "$work/said" ||
        { cat "$work/said"; fail "the shared memory that $core lacks"; }
done

# Without the first pages nothing stands for a program that was moved away; the user's word does.
by_filter 0x03
mv "$work/world" "$work/moved"
for core in $cores; do
    code=0
    "$HEAPSNAP" dump --core "$work/$core" -o "$work/x.snap" 2>"$work/talk" || code=$?
    [ "$code" = 3 ] || fail "exit $code without a program"
    grep -q "^hint: name the program by --exe FILE" "$work/talk" ||
        { cat "$work/talk"; fail "no hint"; }
    dump_core "$work/$core" --exe "$work/moved"
    same "--exe without first pages, $core" reserved "shared memory" "mapped files"
done
mv "$work/moved" "$work/world"

# Only shared memory and the like.
by_filter 0x12
for core in $cores; do
    code=0
    "$HEAPSNAP" dump --core "$work/$core" -o "$work/x.snap" 2>"$work/talk" || code=$?
    [ "$code" = 3 ] || { cat "$work/talk"; fail "exit $code without private memory"; }
    grep -q "without private memory (coredump_filter)" "$work/talk" ||
        { cat "$work/talk"; fail "not told"; }
done
echo "without private memory: refused with the reason"
