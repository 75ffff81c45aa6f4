#!/usr/bin/env bash
# The end of a full buffer is no reference to the block behind it, where an allocator puts nothing
# between blocks: jemalloc, mimalloc, tcmalloc; libstdc++, libc++, C, Rust; by the names of members,
# and by words that agree where there is no debug information. Pointers to blocks in a row are.
. "$(dirname "$0")/_native.sh"
need g++

# under ALLOCATOR PROGRAM WHAT [BUT]
under()
{
    local path
    path=$(gcc -print-file-name="lib$1")
    [ -e "$path" ] || { echo "NOT TESTED: no lib$1"; return 0; }
    start env LD_PRELOAD="$path" "$work/$2"
    rm -f "$work"/heap.snap.idx
    dump
    owned "$3, $1" "${@:4}"
    leave
}

g++ -std=c++17 -g -O2 -o "$work/ends" "$fixtures/ends.cpp" || fail "building"
for allocator in jemalloc.so.2 mimalloc.so.2 tcmalloc_minimal.so.4; do
    under "$allocator" ends "g++ -O2"
done
g++ -std=c++17 -g -O0 -o "$work/ends" "$fixtures/ends.cpp" || fail "building"
under jemalloc.so.2 ends "g++ -O0"
g++ -std=c++17 -O2 -o "$work/ends" "$fixtures/ends.cpp" || fail "building"
# A pair of words alone does not tell: it may be two blocks in a row. What nobody wrote of a buffer
# has the links of mimalloc and tcmalloc between free blocks, which are like those of a list.
under jemalloc.so.2 ends "g++ -O2, without debug information" of_piece
for allocator in mimalloc.so.2 tcmalloc_minimal.so.4; do
    under "$allocator" ends "g++ -O2, without debug information" of_piece of_emptied of_deque
done
if command -v clang++ >/dev/null &&
    echo '#include <deque>' | clang++ -stdlib=libc++ -x c++ -fsyntax-only - 2>/dev/null; then
    clang++ -stdlib=libc++ -std=c++17 -g -fstandalone-debug -O1 -o "$work/ends" \
        "$fixtures/ends.cpp" || fail "building"
    under jemalloc.so.2 ends "clang++, libc++"
else
    echo "NOT TESTED: libc++: not installed"
fi
for rustc in $(rust_compilers); do
    "$rustc" -g -O -o "$work/ends" "$fixtures/ends.rs" 2>"$work/said" ||
        { cat "$work/said"; fail "building"; }
    under jemalloc.so.2 ends "$("$rustc" --version)"
done
