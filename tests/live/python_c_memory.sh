#!/usr/bin/env bash
# parts: python
# In the program python, memory of C comes second below names as well: what a name reaches through
# objects that say what they are is that name's, though memory of which nobody knows what it is
# leads there, too; what only such memory leads to is kept by whose it is.
. "$(dirname "$0")/_native.sh"
. "$(dirname "$0")/_python.sh"
need g++

g++ -O1 -shared -fPIC -s -o "$work/c_memory.abi3.so" "$fixtures/c_memory.cpp" || fail "building"
cat >"$work/app.py" <<'PYTHON'
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])
for name in "new_model", "new_registry":
    getattr(lib, name).restype = ctypes.c_void_p
lib.new_registry.argtypes, lib.add_to_registry.argtypes = [ctypes.c_void_p], [ctypes.c_void_p] * 2
model = ctypes.c_void_p(lib.new_model())
registry = ctypes.c_void_p(lib.new_registry(model))
lib.add_to_registry(registry, model)

# A list that the interpreter had among its free ones, and that C alone has now.
lib.keep.argtypes = [ctypes.py_object]
def lend():
    free = [[] for _ in range(40)]
    del free
    rows = []
    rows.extend("row %d" % i for i in range(2000))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(rows))
    lib.keep(rows)
def scrub(depth):
    """Others work on the stack, where the list's address is left."""
    taken, others, further = depth, depth, depth
    return scrub(depth - 1) if depth > 0 else (taken, others, further)
lend()
scrub(60)
print("READY", flush=True)
sys.stdin.readline()
PYTHON

# check PYTHON: the variable of C alone keeps its 2000 texts, in a list; of 51 layers each has
# 100,000 bytes of values, and the registry one such block
check()
{
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "$1: roots"
    "$HEAPSNAP" leaks "$work/heap.snap" --json -n 0 >"$work/leaks.json" || fail "$1: leaks"
    python3 - "$work/roots.json" "$work/leaks.json" "$(minor "$1")" <<'PYTHON' || fail "$1"
import json, sys
roots, leaks = (json.load(open(path)) for path in sys.argv[1:3])
kept = {root["name"]: root["retained_words"] for root in roots["roots"]}
values, layer, slots = 12501, 5, 2001 # words, with what malloc rounds up
model = 51 * (values + layer) + 51 # and the storage of the vector
registry = slots + values + 3
bad = []
for name, least in ("__main__.model", model), ("__main__.registry", registry):
    found = kept.get(name, 0)
    print(f"  {name}: {found} words, at least {least}")
    if not least <= found <= least + 200: # an object of ctypes and its parts
        bad.append(name)
rows = kept.get("c_memory._rows", 0) if int(sys.argv[3]) >= 11 else 2000 * 8
print(f"  c_memory._rows: {rows} words, at least {2000 * 8}")
if rows < 2000 * 8:
    bad.append("c_memory._rows")
bad += [group for group in leaks["groups"] if group["certainty"] == "certain" and
        group["words"] > values]
print("\n".join(f"FAILED: {what}" for what in bad))
sys.exit(bad != [])
PYTHON
}

n_checked=0
for python in $(pythons 3.14); do
    "$python" -c 'import ctypes' 2>/dev/null || continue
    echo "$python:"
    start "$python" "$work/app.py" "$work/c_memory.abi3.so"
    dump
    check "$python"
    leave
    n_checked=$((n_checked + 1))
done
[ "$n_checked" -gt 0 ] || { echo "skipped: no python3"; exit 77; }
