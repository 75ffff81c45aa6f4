#!/usr/bin/env bash
# A block gets no type that it has not earned: one node at its beginning makes it no array of nodes,
# and text in a large buffer no string of C++; nor the type that one pointer of a hundred says.
. "$(dirname "$0")/_native.sh"
need gcc g++

gcc -O1 -g -o "$work/earned" "$fixtures/types_earned.c" || fail "building"
start "$work/earned"
dump
"$HEAPSNAP" types "$work/heap.snap" -n 0 >"$work/types" 2>/dev/null || fail "types"
if grep -e 'node\[\]' -e 'string text' "$work/types"; then
    fail "types that nobody said"
fi
grep -q 'struct node$' "$work/types" || fail "nodes have lost their type"
grep -q 'struct owner$' "$work/types" || fail "the many did not win: $(cat "$work/types")"
if grep 'struct another$' "$work/types"; then
    fail "what one variable says"
fi
leave

# Nor one of what it only has as a member, where the C library alone has debug information.
g++ -O2 -std=c++17 -pthread -o "$work/lent" "$fixtures/types_lent.cpp" || fail "building"
start "$work/lent" 3000
rm -f "$work"/heap.snap.idx
dump
"$HEAPSNAP" types "$work/heap.snap" -n 0 >"$work/types" 2>/dev/null || fail "types"
if grep -e 'pthread_mutex_t\[\]' -e '__pthread_internal_list' "$work/types"; then
    fail "a program's blocks have types of the C library"
fi
leave

# header_types WHAT MOMENT: what the list of all objects has is of the types that they have, never
# more of one than there are, or of their header; and all of it is known.
header_types()
{
    rm -f "$work"/heap.snap.idx
    dump
    "$HEAPSNAP" types "$work/heap.snap" --json -n 0 >"$work/types.json" || fail "types"
    python3 - "$work/log" "$work/types.json" "$1" "$2" <<'PYTHON' || fail "$1"
import json, sys
log, types, what, moment = sys.argv[1:]
found = {r["type"]: r["objects"] for r in json.load(open(types))["types"]}
said = open(log).read().split("READY")[int(moment)].split("\n")
there = {line.split(None, 2)[2]: int(line.split()[1]) for line in said if line.startswith("TYPE")}
word = {line.split()[0]: int(line.split()[1]) for line in said if line.strip()}
n = {name: found.get(name, 0) for name in there}
known = sum(n.values()) + found.get("struct gc_object", 0)
wrong = [f"{n[name]} of {name}, there are {there[name]}" for name in n if n[name] > there[name]]
wrong += [f"{found[name]} of {name}" for name in found if name.startswith("struct gc_object[")]
wrong += [f"{known} objects of {word['ALL']}"] * (known != word["ALL"])
wrong += [f"{n[name]} of {name}, whose words tell it: {there[name]}"
          for name in ("struct box", "struct closure") if n[name] != there[name]]
wrong += [f"{found.get('struct item', 0)} of struct item"] * (
    found.get("struct item", 0) != word["ITEMS"])
print(f"{what}: {', '.join(f'{n[name]} of {there[name]} {name}' for name in n)}")
print("\n".join(wrong))
sys.exit(wrong != [])
PYTHON
}

# Nor what the header of an interpreter's objects is a part of, by the size of the block.
for options in "-O0 -gdwarf-5" "-O2 -gdwarf-4 -DHEADER_BY_MACRO"; do
    # shellcheck disable=SC2086
    gcc $options -o "$work/header" "$fixtures/types_header.c" || fail "building $options"
    start "$work/header" 2000
    for moment in 0 1 2; do
        header_types "a list of all objects, $options" "$moment"
        echo >&9
        for _ in $(seq 100); do
            [ "$(grep -c '^READY' "$work/log")" -le $((moment + 1)) ] || break
            sleep 0.1
        done
    done
    leave
done
