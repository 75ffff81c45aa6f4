#!/usr/bin/env bash
# Blocks whose only pointer is in an unusual place (mappings of all kinds, what the kernel holds,
# pointers in disguise, places of threads): none of them is a certain leak, and every true leak is
# one. What cannot be read makes leaks possible, and the row says why.
. "$(dirname "$0")/_hidden.sh"
need gcc gcore

gcc -O1 -g -msse4.1 -pthread -o "$work/hidden" "$fixtures"/hidden.c \
    "$fixtures"/hidden_{memory,disguise,kernel,threads}.c || fail "building"
gcc -shared -fPIC -o "$work/hidden.so" "$fixtures/hidden_library.c" || fail "the library"

start "$work/hidden" -io_uring -packet-socket
for stop in copy read; do
    dump --stop "$stop"
    compare "$stop" 100
    reason 'two words together'
done
"$HEAPSNAP" roots "$work/heap.snap" -n 0 >"$work/roots" 2>/dev/null || fail "roots"
for name in 'epoll [0-9]* data of file' 'timer [0-9]* value' 'signal [0-9]* value' \
    'eventfd [0-9]* count' 'in pipe or socket [0-9]' 'unaligned.* (in disguise)' \
    'result of an ended thread, not joined'; do
    grep -q "$name" "$work/roots" || fail "no root '$name'"
done
# A core lacks what the kernel holds: no leak is certain.
gcore -o "$work/core" "$pid" >/dev/null 2>&1 || fail "gcore"
"$HEAPSNAP" dump --core "$work/core.$pid" -o "$work/heap.snap" 2>"$work/talk" || fail "the core"
compare "core of all" 0
reason "a core does not hold what 'hidden'"
leave
"$HEAPSNAP" info "$work/heap.snap" >"$work/info" 2>&1 || fail "info"
grep -q '20[01] stacks of ended threads (.*which nobody has joined' "$work/info" || fail "unjoined"

# Of a program that gives nothing to the kernel it has all.
echo 'void hide_in_kernel(void) {}' >"$work/none.c"
gcc -O1 -g -msse4.1 -pthread -I "$fixtures" -o "$work/hidden" "$fixtures"/hidden.c \
    "$fixtures"/hidden_{memory,disguise,threads}.c "$work/none.c" || fail "building"
start "$work/hidden"
gcore -o "$work/core" "$pid" >/dev/null 2>&1 || fail "gcore"
"$HEAPSNAP" dump --core "$work/core.$pid" -o "$work/heap.snap" 2>"$work/talk" || fail "the core"
compare core 100
leave
gcc -O1 -g -msse4.1 -pthread -o "$work/hidden" "$fixtures"/hidden.c \
    "$fixtures"/hidden_{memory,disguise,kernel,threads}.c || fail "building"

# Packets behind the first one.
start "$work/hidden" packet-socket lost lost-list
dump
compare packets 0
reason 'waits in pipes, sockets or signals'
leave

start "$work/hidden" io_uring lost lost-list
dump
if grep -q 'HIDDEN io_uring' "$work/log"; then
    compare io_uring 0
    reason 'requests of io_uring'
fi
leave
