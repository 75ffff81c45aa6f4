#!/usr/bin/env bash
# C's lists, tables and trees are linked by a member of what they hold: what holds it has its type,
# as many of each as the program made, and what cannot be told has none. And classes of C++ that
# are held by pointers to a base: which heir it is, or that it is one.
. "$(dirname "$0")/_native.sh"
need gcc

compare()
{
    rm -f "$work"/heap.snap.idx
    "$HEAPSNAP" types "$work/heap.snap" --json -n 0 >"$work/types.json" || fail "types"
    python3 - "$work/log" "$work/types.json" "$1" <<'PYTHON' || fail "$1"
import json, sys
log, types, what = sys.argv[1:]
found = {r["type"]: r["objects"] for r in json.load(open(types))["types"]}
wrong = 0
for line in open(log):
    word, *rest = line.split(None, 2)
    if word == "TYPE" and rest[1].strip() == "char[]": # and standard output's buffer
        wrong += int(rest[0]) > found.get("char[]", 0)
    elif word == "TYPE" and found.get(rest[1].strip(), 0) != int(rest[0]):
        print(f"{what}: {found.get(rest[1].strip(), 0)} of {rest[1].strip()}, there are {rest[0]}")
        wrong += 1
    elif word == "NEVER" and " ".join(rest).strip() in found:
        print(f"{what}: {' '.join(rest).strip()} was told")
        wrong += 1
print(f"{what}: {', '.join(f'{n} {name}' for name, n in sorted(found.items())[:12])}")
sys.exit(wrong != 0)
PYTHON
}

for options in "-O0 -gdwarf-5" "-O2 -gdwarf-4" "-O2 -gdwarf-5 -fdebug-types-section"; do
    # shellcheck disable=SC2086
    gcc $options -o "$work/enclosing" "$fixtures/enclosing.c" || fail "building $options"
    start "$work/enclosing" 3000
    dump
    compare "$options"
    leave
done

# Classes of C++ by a base or a member of theirs.
for compiler in "g++ -O0 -gdwarf-5" "g++ -O2 -gdwarf-4" "clang++ -O1 -gdwarf-5"; do
    command -v "${compiler%% *}" >"$work/said" || continue
    # shellcheck disable=SC2086
    $compiler -std=c++17 -o "$work/heirs" "$fixtures/types_heirs.cpp" || fail "building $compiler"
    start "$work/heirs" 1000
    dump
    compare "$compiler"
    leave
done

# The path to one reads like source.
start "$work/enclosing" 3000
dump
to=$("$HEAPSNAP" paths "$work/heap.snap" --to 'type:struct file' --json |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["target"]["id"])') || fail "paths"
"$HEAPSNAP" paths "$work/heap.snap" --to "$to" --limit 1 >"$work/paths" || fail "paths"
leave
grep -q 'files' "$work/paths" || { cat "$work/paths"; fail "no path from files"; }
cat "$work/paths"
