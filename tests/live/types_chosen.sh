#!/usr/bin/env bash
# Where the value tells what a pointer leads to: as many objects of each type as the program made,
# and hardly any without a type, whatever the compiler, its optimisation and its debug information;
# and what an alternative that is gone has left behind takes nothing from its owner. So it is with
# std::variant, std::optional, std::function, std::any; with enumerations of Rust and its dyn. And
# nodes of containers are told by their values.
. "$(dirname "$0")/_native.sh"
need g++
n=${HS_CHOSEN_OBJECTS:-600}

# compare WHAT [TYPES]: only these are compared, and others may have none.
compare()
{
    "$HEAPSNAP" types "$work/heap.snap" --json -n 0 >"$work/types.json" || fail "types"
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "roots"
    python3 - "$work/log" "$work/types.json" "$work/roots.json" "$@" <<'PYTHON' || fail "$1"
import json, sys
log, types, roots, what, *only = sys.argv[1:]
rows = json.load(open(types))["types"]
wrong, found = 0, {}
for row in rows:
    name = row["type"]
    if name.startswith(("std::map<", "std::vector<nl")) and name.endswith(">"):
        name = name[: name.index("<")] # of JSON's values
    found[name] = found.get(name, 0) + row["objects"]
for line in open(log):
    word, *rest = line.split(None, 2)
    if word != "TYPE":
        continue
    there, names = int(rest[0]), rest[1].strip().split(" or ")
    if only and names[0] not in only:
        continue
    n = sum(found.get(name, 0) for name in names)
    # A vector's reserve, or stdio's buffer, may be one more; of a type that is met everywhere.
    more = 8 if names[0] in ("char[]", "u8[]") else 0
    if not there <= n <= there + more:
        print(f"{what}: {n} of {rest[1].strip()}, there are {there}")
        wrong += 1
# libstdc++'s, as gcc 12 and 14 have it
pools = ("block of 72712 bytes", "block of 73736 bytes")
pool = sum(r["words"] for r in rows if r["type"] in pools)
unknown = sum(r["words"] for r in rows if r["type"].startswith("block of")) - pool
words = sum(r["words"] for r in rows) - pool
heap, roots, sets = (json.load(open(roots))[key] for key in ("heap", "roots", "sets"))
# The buffer of stdin, which libc's stdin has and, with debug information, its read that waits.
libcs = {r["id"] for r in roots if (r["module"] or "").startswith("libc.so")}
buffer = sum(s["retained_words"] for s in sets if libcs.issuperset(s["roots"]))
shared = heap["reachable_words"] - sum(r["retained_words"] for r in roots) - pool - buffer
print(f"{what}: of {words} words {unknown} without a type, {shared} with several owners")
if not only and unknown * 500 > words:
    print("more than two in a thousand have none")
    wrong += 1
# What stands where another alternative was keeps nothing.
if shared * 1000 > words:
    print("more than one in a thousand have")
    wrong += 1
sys.exit(wrong != 0)
PYTHON
}

cp "$fixtures"/types_chosen.* "$work/"
for options in "-O0 -gdwarf-5" "-O2 -gdwarf-4" "-O2 -gdwarf-5 -fdebug-types-section"; do
    # shellcheck disable=SC2086
    g++ -std=c++17 $options -o "$work/chosen" "$work/types_chosen.cpp" || fail "building"
    start "$work/chosen" "$n"
    rm -f "$work"/heap.snap.idx
    dump
    compare "g++ $options"
    leave
done

g++ -std=c++17 -O1 -g -o "$work/nodes" "$fixtures/types_nodes.cpp" || fail "building nodes"
start "$work/nodes" "$n"
rm -f "$work"/heap.snap.idx
dump
compare "nodes of libstdc++"
leave

# Its std::function calls a closure otherwise than debug information does.
if clang++ -stdlib=libc++ -std=c++17 -O1 -gdwarf-5 -fstandalone-debug -o "$work/chosen" \
    "$work/types_chosen.cpp" 2>"$work/said"; then
    start "$work/chosen" "$n"
    rm -f "$work"/heap.snap.idx
    dump
    compare "clang++ libc++" "char[]" "Leaf[]" Named
    leave
    for options in "-O1 -gdwarf-5" "-O0 -gdwarf-4"; do
        # shellcheck disable=SC2086
        clang++ -stdlib=libc++ -std=c++17 $options -o "$work/nodes" "$fixtures/types_nodes.cpp" ||
            fail "building nodes"
        start "$work/nodes" "$n"
        rm -f "$work"/heap.snap.idx
        dump
        compare "nodes of libc++ $options"
        leave
    done
else
    echo "NOT TESTED: libc++: $(head -1 "$work/said")"
fi

# A union whose tag is known.
if g++ -std=c++17 -O1 -g -o "$work/json" "$fixtures/types_json.cpp" 2>"$work/said"; then
    start "$work/json" "$n"
    rm -f "$work"/heap.snap.idx
    dump
    compare "nlohmann's JSON"
    leave
else
    echo "NOT TESTED: nlohmann's JSON: $(head -1 "$work/said")"
fi

# Raw storage, and a chain of bases.
g++ -O1 -g -o "$work/boost" "$fixtures/types_boost.cpp" || fail "building with Boost"
start "$work/boost" "$n"
rm -f "$work"/heap.snap.idx
dump
compare "Boost's optional"
grep -q "damaged" "$work/talk" && fail "Boost: $(cat "$work/talk")"
leave

tried=""
for rustc in $(rust_compilers); do
    tried=yes
    version=$("$rustc" --version)
    for options in "-Copt-level=0" "-Copt-level=3"; do
        "$rustc" --edition=2021 -g "$options" -o "$work/chosen_rs" "$work/types_chosen.rs" \
            2>"$work/said" || { cat "$work/said"; fail "building with $rustc"; }
        start "$work/chosen_rs" "$n"
        rm -f "$work"/heap.snap.idx
        dump
        compare "$version $options"
        leave
    done
done
[ -n "$tried" ] || echo "NOT TESTED: Rust: there is no rustc"
