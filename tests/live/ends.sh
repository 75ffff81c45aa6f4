#!/usr/bin/env bash
# The end of a full buffer is no reference to the block behind it, where an allocator puts nothing
# between blocks: jemalloc, mimalloc, tcmalloc; libstdc++, libc++, C, Rust; by the names of members,
# and by words that agree where there is no debug information. Pointers to blocks in a row are.
. "$(dirname "$0")/_native.sh"
need g++

# owned WHAT [BUT]: what the program said each of its variables, but one, keeps by itself
owned()
{
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "$1: roots"
    python3 - "$work/roots.json" "$work/log" "$@" <<'PYTHON' || fail "$1"
import json, sys
roots, log, what, *but = sys.argv[1:]
keeps = {}
for root in json.load(open(roots))["roots"]:
    name = root["name"].split()[-1]
    keeps[name] = keeps.get(name, 0) + root["retained_words"]
said = [line.split() for line in open(log) if line.startswith("OWNS")]
said = [line for line in said if line[2] not in but]
bad = [f"{name} keeps {keeps.get(name, 0)} words, not {words}"
       for _, words, name in said if keeps.get(name, 0) != int(words)]
print(f"{what}: {len(said)} variables")
print("\n".join("FAILED: " + text for text in bad))
sys.exit(bad != [] or not said)
PYTHON
}

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
# A pair of words alone does not tell: it may be two blocks in a row.
under jemalloc.so.2 ends "g++ -O2, without debug information" of_piece
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
