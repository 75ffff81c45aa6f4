#!/usr/bin/env bash
# A weak pointer finds and does not keep, nor does an iterator that is kept: what a variable has by
# shared pointers, or in its lists and maps, is its own, whoever finds it. In C++ (libstdc++,
# libc++) and in Rust.
. "$(dirname "$0")/_native.sh"
need g++

# owner WHAT OWNER FINDER: OWNER keeps all that FINDER finds, alone.
owner()
{
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "roots"
    python3 - "$work/roots.json" "$@" <<'PYTHON' || fail "$1"
import json, sys
path, what, owner, finder = sys.argv[1:]
d = json.load(open(path))
roots = {r["id"]: r for r in d["roots"]}
def is_of(root, name):
    return root["name"].split(".")[0].endswith(name)
def words(name):
    return sum(r["retained_words"] for r in d["roots"] if is_of(r, name))
shared = sum(s["retained_words"] for s in d["sets"]
             if any(is_of(roots[i], owner) for i in s["roots"] if i in roots))
print(f"{what}: {owner} keeps {words(owner)} words alone, {shared} with others; "
      f"{finder} {words(finder)}")
sys.exit(words(owner) < 5 * words(finder) or shared != 0)
PYTHON
}

# found_alone TYPE VARIABLE: nearly all of 100 are possible leaks, to which only weak references
# lead, from there.
found_alone()
{
    "$HEAPSNAP" leaks "$work/heap.snap" --json -n 0 >"$work/leaks.json" || fail "leaks"
    python3 - "$work/leaks.json" "$@" <<'PYTHON' || fail "only weak references lead to $1"
import json, sys
path, kind, variable = sys.argv[1:]
groups = [g for g in json.load(open(path))["groups"] if g["type"].rstrip(">").endswith(kind)]
told = sum(g["count"] for g in groups if g["certainty"] == "possible"
           and g["why"].startswith("only weak references") and variable in g["why"])
print(f"{kind}: {told} of 100, {sorted({g['why'] for g in groups})}")
sys.exit(not 95 <= told <= 100 or any(g["certainty"] == "certain" for g in groups))
PYTHON
}

run()
{
    start "$work/weak" 2000
    rm -f "$work"/heap.snap.idx
    dump
    owner "$@"
    [ -z "${shelf:-}" ] || { owner "$1" shelf marks && owner "$1" shelf places; }
    leave
}

for options in "-O0 -gdwarf-5" "-O2 -gdwarf-4"; do
    # shellcheck disable=SC2086
    g++ -std=c++17 $options -o "$work/weak" "$fixtures/weak.cpp" || fail "building $options"
    shelf=yes run "g++ $options" sessions found
    found_alone Expired ended
    found_alone Lost left
    found_alone Apart aside
done
if clang++ -stdlib=libc++ -std=c++17 -O1 -g -o "$work/weak" "$fixtures/weak.cpp" \
    2>"$work/said"; then
    shelf=yes run "clang++ libc++" sessions found
else
    echo "NOT TESTED: libc++: $(head -1 "$work/said")"
fi
tried=""
for rustc in $(rust_compilers); do
    tried=yes
    "$rustc" --edition=2021 -g -O -o "$work/weak" "$fixtures/weak.rs" 2>"$work/said" ||
        { cat "$work/said"; fail "building with $rustc"; }
    run "$("$rustc" --version)" SESSIONS FOUND
    found_alone Expired ENDED
    found_alone Lost LEFT
done
[ -n "$tried" ] || echo "NOT TESTED: Rust: there is no rustc"
