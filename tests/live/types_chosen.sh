#!/usr/bin/env bash
# Where the value tells what a pointer leads to: as many objects of each type as the program made,
# and none without a type, whatever the compiler, its optimisation and its debug information. So it
# is with std::variant, std::function, std::any; with enumerations of Rust and its dyn.
. "$(dirname "$0")/_native.sh"
need g++
n=${HS_CHOSEN_OBJECTS:-600}

# compare WHAT SHARE: at most so many in a thousand of all words have no type.
compare()
{
    rm -f "$work"/heap.snap.idx
    "$HEAPSNAP" types "$work/heap.snap" --json -n 0 >"$work/types.json" || fail "types"
    python3 - "$work/log" "$work/types.json" "$1" "$2" <<'PYTHON' || fail "$1"
import json, sys
log, types, what, share = sys.argv[1:]
rows = json.load(open(types))["types"]
wrong, found = 0, {}
for row in rows:
    found[row["type"]] = found.get(row["type"], 0) + row["objects"]
for line in open(log):
    word, *rest = line.split(None, 2)
    if word != "TYPE":
        continue
    there, names = int(rest[0]), rest[1].strip().split(" or ")
    n = sum(found.get(name, 0) for name in names)
    # A vector's reserve, or stdio's buffer, may be one more; of a type that is met everywhere.
    more = 8 if names[0] in ("char[]", "u8[]") else 0
    if not there <= n <= there + more:
        print(f"{what}: {n} of {rest[1].strip()}, there are {there}")
        wrong += 1
rows = [r for r in rows if r["type"] != "block of 72712 bytes"] # libstdc++'s, for exceptions
unknown = sum(r["words"] for r in rows if r["type"].startswith("block of"))
words = sum(r["words"] for r in rows)
print(f"{what}: {unknown} of {words} words without a type")
sys.exit(wrong != 0 or unknown * 1000 > int(share) * words)
PYTHON
}

cp "$fixtures"/types_chosen.* "$work/"
for options in "-O0 -gdwarf-5" "-O2 -gdwarf-4" "-O2 -gdwarf-5 -fdebug-types-section"; do
    # shellcheck disable=SC2086
    g++ -std=c++17 $options -o "$work/chosen" "$work/types_chosen.cpp" || fail "building"
    start "$work/chosen" "$n"
    dump
    compare "g++ $options" 10
    leave
done

tried=""
for rustc in $(type -a -p rustc | sort -u); do
    for options in "-Copt-level=0" "-Copt-level=3"; do
        "$rustc" --edition=2021 -g "$options" -o "$work/chosen_rs" "$work/types_chosen.rs" \
            2>"$work/said" || { cat "$work/said"; fail "building with $rustc"; }
        start "$work/chosen_rs" "$n"
        dump
        compare "$("$rustc" --version) $options" 10
        leave
        tried=yes
    done
done
[ -n "$tried" ] || echo "NOT TESTED: Rust: there is no rustc"
