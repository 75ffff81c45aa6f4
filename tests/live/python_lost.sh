#!/usr/bin/env bash
# parts: python
# Objects of Python that an extension loses are certain leaks, each of them, and what hangs on them;
# cycles that the collector has yet to find are none.
. "$(dirname "$0")/_native.sh"
. "$(dirname "$0")/_python.sh"

# leaks_are lost|garbage: of each type all that the program lost are certain leaks, but for a few
# whose addresses are still on the thread's stack, or in what the interpreter keeps for later. Of
# garbage none is certain.
leaks_are()
{
    "$HEAPSNAP" leaks "$work/heap.snap" --json -n 0 >"$work/leaks.json" 2>"$work/talk" ||
        fail "leaks"
    python3 - "$work/log" "$work/leaks.json" "$1" <<'PYTHON' || fail "$python: $1"
import json, sys
lost = [line.split() for line in open(sys.argv[1]) if line.startswith("LOST ")]
certain = {}
for group in json.load(open(sys.argv[2]))["groups"]:
    if group["certainty"] == "certain":
        certain[group["type"]] = certain.get(group["type"], 0) + group["count"]
print("  certain:", certain)
if sys.argv[3] == "garbage":
    sys.exit(certain != {})
bad = ["%s of %s %s" % (certain.get(name, 0), n, name) for _, n, name in lost
       if certain.get(name, 0) < int(n) * 9 // 10]
print("\n".join("FAILED: " + text for text in bad))
sys.exit(bad != [] or lost == [])
PYTHON
}

n_checked=0
for python in $(pythons 3.14); do
    "$python" -c 'import ctypes' 2>/dev/null || continue
    echo "$python:"
    for kind in lost garbage; do
        start "$python" "$fixtures/python_$kind.py"
        dump
        leaks_are "$kind"
        leave
    done
    n_checked=$((n_checked + 1))
done
[ "$n_checked" -gt 0 ] || { echo "skipped: no python3"; exit 77; }
