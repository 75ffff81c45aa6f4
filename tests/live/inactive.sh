#!/usr/bin/env bash
# What memory still has of values that are gone keeps nothing that a variable has: an emptied
# std::function, std::any, std::optional, another alternative of a std::variant, of libstdc++ and
# libc++; the other alternatives of unions of C; what arrays of C have beyond what another member
# counts; the last word of blocks of glibc that were not asked for it; pointers to other records in
# arrays; virtual tables; and variables of calls that are not written yet.
. "$(dirname "$0")/_native.sh"
need g++ gcc

possible()
{
    "$HEAPSNAP" leaks "$work/heap.snap" --json -n 0 |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["possible"]["count"])'
}

# shared WHAT: what the target says that two have, neither of them has alone.
shared()
{
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "$1: roots"
    python3 - "$work/roots.json" "$(grep "^SHARED" "$work/log")" <<'PYTHON' || fail "$1: shared"
import json, sys
d = json.load(open(sys.argv[1]))
_, words, *names = sys.argv[2].split()
words = int(words)
roots = {r["id"]: r["name"].split()[-1].split(".")[0] for r in d["roots"]}
alone = {r["name"]: r["retained_words"] for r in d["roots"]
         if r["name"].split()[-1].split(".")[0] in names and r["retained_words"] > words // 2}
sets = [s["retained_words"] for s in d["sets"]
        if sorted(roots.get(i, "") for i in s["roots"]) == sorted(names)]
print(f"{names}: {sets} together, alone {alone}")
sys.exit(alone != {} or not any(abs(n - words) < words // 10 for n in sets))
PYTHON
}

# try WHAT FIXTURE BUT COMPILER [OPTION]...
try()
{
    "${@:4}" -o "$work/inactive" "$fixtures/$2" || fail "building: $1"
    start "$work/inactive"
    rm -f "$work"/heap.snap.idx
    dump
    # shellcheck disable=SC2086
    owned "$1" $3
    [ "$1" != "gcc -g" ] || { types_are "$1"; shared "$1"; }
    [ "$2" != slack.c ] || [ "$(possible)" -lt 100 ] ||
        fail "$1: $(possible) blocks that a variable has are possible leaks"
    leave
}

try "g++ -O0" inactive.cpp "" g++ -std=c++17 -g -O0
try "g++ -O2" inactive.cpp "" g++ -std=c++17 -g -O2
if command -v clang++ >/dev/null &&
    echo '#include <any>' | clang++ -stdlib=libc++ -x c++ -fsyntax-only - 2>/dev/null; then
    # What a small function of libc++ has is in characters, and found by nothing.
    try "clang++, libc++" inactive.cpp kept_callback \
        clang++ -stdlib=libc++ -std=c++17 -g -fstandalone-debug -O1
else
    echo "NOT TESTED: libc++: not installed"
fi
try "gcc -g" slack.c "" gcc -g -DTYPED -O1
try "gcc" slack.c "" gcc -O1
try "counted, gcc -O0" counted.c "" gcc -g -O0
try "counted, gcc -O2" counted.c "" gcc -g -O2
try "unions, gcc -O1" unions.c "" gcc -g -O1
try "unions, gcc -O0, DWARF 4" unions.c "" gcc -g -gdwarf-4 -O0

# stale_arrays: of each array the pointers in use are exact, and those left to other records are
# guessed, wherever the blocks lie: also where those are written long before the array.
stale_arrays()
{
    gcc -g -O1 -o "$work/inactive" "$fixtures/stale_arrays.c" || fail "building: arrays"
    start "$work/inactive" 300000
    rm -f "$work"/heap.snap.idx
    dump
    leave
    "$ORACLE" "$work/heap.snap" graph | awk '
        FNR == NR { if ($1 == "ARRAY") { used[$2] = $3; left[$2] = $4 } next }
        $2 in used { address[$1] = $2 }
        $2 == ">" && $1 in address { n[address[$1] " " $5]++ }
        END {
            for (at in used) {
                print "array: " n[at " 0"] + 0 " exact, " n[at " 3"] + 0 " guessed"
                n_right += n[at " 0"] == used[at] && n[at " 3"] == left[at]
            }
            exit n_right != 2
        }' "$work/log" - || fail "what is left in arrays"
}
stale_arrays

# stale_variables COMPILER: variables of calls that are not written yet say and have nothing.
stale_variables()
{
    "$1" -std=c++17 -g -O0 -o "$work/inactive" "$fixtures/stale_variables.cpp" ||
        fail "building: variables, $1"
    start "$work/inactive"
    rm -f "$work"/heap.snap.idx
    dump
    owned "variables, $1"
    types_are "variables, $1"
    leave
}
stale_variables g++
command -v clang++ >/dev/null && stale_variables clang++

# stale_tables COMPILER [OPTION]...: where an allocator leaves what it frees.
stale_tables()
{
    "$@" -o "$work/inactive" "$fixtures/stale_tables.cpp" || fail "building: $1"
    start env LD_PRELOAD="$jemalloc" "$work/inactive"
    rm -f "$work"/heap.snap.idx
    dump
    owned "tables, $1"
    types_are "tables, $1"
    leave
}

jemalloc=$(gcc -print-file-name=libjemalloc.so.2)
[ -e "$jemalloc" ] || { echo "NOT TESTED: no libjemalloc.so.2"; exit 0; }
stale_tables g++ -std=c++17 -g -O1
command -v clang++ >/dev/null && stale_tables clang++ -std=c++17 -g -fstandalone-debug -O1
exit 0
