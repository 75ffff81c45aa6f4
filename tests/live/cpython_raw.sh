#!/usr/bin/env bash
# parts: python
# What is no object in Python's pools, though its words are types: what it holds is no certain leak.
# Neither is what the states of the interpreter's own modules hold, nor anything in a bare Python.
. "$(dirname "$0")/_native.sh"
[ -x /usr/bin/python3 ] || { echo "skipped: no python3"; exit 77; }

# no_int_is_lost: neither ours nor the one in the state of the module `posix`.
no_int_is_lost()
{
    "$HEAPSNAP" leaks "$work/heap.snap" --json -n 0 >"$work/leaks.json" 2>"$work/talk" ||
        fail "leaks"
    python3 - "$work/leaks.json" <<'PYTHON' || fail "$1"
import json, sys
lost = [(g["type"], g["count"]) for g in json.load(open(sys.argv[1]))["groups"]
        if g["certainty"] == "certain" and g["type"] == "int"]
print(lost)
sys.exit(lost != [])
PYTHON
}

start /usr/bin/python3 "$fixtures/cpython_raw.py"
dump
no_int_is_lost "raw blocks"
leave

start /usr/bin/python3 -c 'import sys; print("READY", flush=True); sys.stdin.read()'
dump
no_int_is_lost "a bare Python"
leave

# And with extension modules, where there are some.
if /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
    start /usr/bin/python3 -c 'import numpy, sys; print("READY", flush=True); sys.stdin.read()'
    dump
    no_int_is_lost "numpy"
    leave
fi
