#!/usr/bin/env bash
# The same stopped process dumped live, from gcore's core and from the kernel's: the same graph, the
# same answers, byte for byte; C and C++ with glibc, jemalloc, Python. gcore leaves memory without
# any permission out, and no core tells which read-only maps are shared: these are rows of the table
# of memory that may differ.
. "$(dirname "$0")/_core.sh"
need gcc g++

but=()
compare()
{
    local what=$1
    shift
    start_at_home "$@"
    stop_by_user
    dump_live
    take_gcore by_gcore
    dump_core "$work/by_gcore"
    same "$what by gcore" reserved "shared memory" "mapped files" "${but[@]}"
    if take_kernel_core by_kernel; then
        dump_core "$work/by_kernel"
        same "$what by the kernel" "shared memory" "mapped files"
    fi
    stop_target
    rm -f "$work/by_gcore" "$work/by_kernel"
}

head -c 20000 /dev/urandom | base64 >"$work/file"
gcc -O1 -g -pthread -o "$work/world" "$fixtures/core_world.c" || fail "building"
compare "C" "$work/world" "$work/file"
g++ -O1 -g -o "$work/shapes" "$fixtures/shapes_cpp.cpp" || fail "building"
compare "C++" "$work/shapes" 1000
gcc -O1 -g -pthread -o "$work/world_je" "$fixtures/core_world.c" -Wl,--no-as-needed -ljemalloc ||
    fail "building with jemalloc"
compare "jemalloc" "$work/world_je" "$work/file"
gcc -O1 -g -pthread -static -o "$work/world_static" "$fixtures/core_world.c" || fail "building"
compare "static" "$work/world_static" "$work/file"
# ld.so moves its words about on the stack, and gcore's note has the first alone.
linker=/lib64/ld-linux-x86-64.so.2
but=("$linker" "$linker $work/world $work/file")
compare "run by ld.so" "$linker" "$work/world" "$work/file"
but=()
compare "without ASLR" setarch -R "$work/world" "$work/file"
compare "Python" python3 "$fixtures/cpython_graph.py"
