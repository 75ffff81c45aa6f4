#!/usr/bin/env bash
# As hidden.sh: shared memory that another process has filled, pages that a userfaultfd handles, two
# allocators in one process, and cores that the kernel has written.
. "$(dirname "$0")/_hidden.sh"
need gcc

gcc -O1 -g -o "$work/hidden_shared" "$fixtures/hidden_shared.c" -ldl || fail "building"

# Shared memory that the process itself has not touched is read by its file; who may not open that
# says that no leak is certain.
start "$work/hidden_shared" child
parent=$pid
pid=$(awk '$1 == "CHILD" { print $2 }' "$work/log")
expected=100
for file in "/proc/$pid/map_files/"*; do
    head -c 1 "$file" >/dev/null 2>"$work/talk" || ! grep -q "not permitted" "$work/talk" ||
        expected=0
    break
done
for stop in copy read; do
    dump --stop "$stop"
    compare "child, $stop" "$expected"
    [ "$expected" = 100 ] || reason "could not be looked into"
done
kill "$pid"
pid=$parent
leave

start "$work/hidden_shared" faults
if grep -q NONE "$work/log"; then
    echo "userfaultfd lacks: $(grep NONE "$work/log" | tr '\n' ' ')"
fi
if grep -q 'HIDDEN missing ' "$work/log"; then
    dump --stop read
    compare faults "$expected"
    leave
    start "$work/hidden_shared" await
    dump
    compare await 0
    reason "userfaultfd has pages to bring"
fi
leave

jemalloc=$(jemalloc_library)
if [ -n "$jemalloc" ]; then
    start env GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384 "$work/hidden_shared" malloc \
        "$jemalloc"
    if grep -q '^HIDDEN' "$work/log"; then
        dump
        compare "two allocators" 100
    fi
    leave
fi

# The kernel writes cores where the program is, if the machine is set so; by default with shared
# memory, which bit 1 of the filter leaves out.
case $(cat /proc/sys/kernel/core_pattern) in
core | core.%p) ;;
*) echo "cores do not go to a file here: left out"; exit 0 ;;
esac
ulimit -c unlimited 2>/dev/null || { echo "no cores are allowed: left out"; exit 0; }
echo 'void hide_in_kernel(void) {}' >"$work/none.c"
gcc -O1 -g -msse4.1 -pthread -I "$fixtures" -o "$work/hidden" "$fixtures"/hidden.c \
    "$fixtures"/hidden_{memory,disguise,threads}.c "$work/none.c" || fail "building"
gcc -shared -fPIC -o "$work/hidden.so" "$fixtures/hidden_library.c" || fail "the library"
cd "$work"
# kernel_core FILTER [PLACE...]: what the program leaves when it dies, read into $work/heap.snap
kernel_core()
{
    local filter=$1
    shift
    start sh -c 'echo "$1" >/proc/self/coredump_filter; shift; exec "$@"' sh "$filter" \
        "$work/hidden" "$@"
    rm -f core core.*
    kill -ABRT "$pid"
    wait "$pid" 2>/dev/null || true
    pid=""
    for core in core core.*; do [ -f "$core" ] && break; done
    [ -f "$core" ] || fail "the kernel has written no core"
    "$HEAPSNAP" dump --core "$core" -o "$work/heap.snap" 2>"$work/talk" || fail "the core"
}

kernel_core 0x33 -protection-key
compare "core of the kernel" 100
kernel_core 0x33
if grep -q '^HIDDEN protection-key ' "$work/log"; then # the processor has them
    compare "core of the kernel, with keys" 0
    reason "closed by a protection key"
fi
kernel_core 0x31
compare "core without shared memory" 0
reason "shared memory were not read"
