#!/usr/bin/env bash
# parts: python
# Python programs at bad moments: while the interpreter begins and ends, in the middle of a
# collection, while tables grow, a child after a fork, threads of C without the lock, 100,000 frames
# deep, 3,000 modules, a namespace whose keys are no strings, greenlets that wait, an address left
# in memory of C. Each is dumped as it stands, sound, and goes on; names are there wherever the
# interpreter has its modules.
. "$(dirname "$0")/_native.sh"
. "$(dirname "$0")/_python.sh"

cat >"$work/rest.py" <<'PYTHON'
import sys

def rest():
    print("READY", flush=True)
    sys.stdin.readline()
PYTHON

# Begins: site has been asked for its customisation, and __main__ is empty.
mkdir "$work/begins"
cat >"$work/begins/sitecustomize.py" <<'PYTHON'
from rest import rest
begun = ["begun %d" % i for i in range(3000)]
rest()
PYTHON

# Ends: modules are being taken apart.
cat >"$work/ends.py" <<'PYTHON'
from rest import rest
class Last:
    def __init__(self, rest, rows):
        self.rest, self.rows = rest, rows
    def __del__(self):
        self.rest()
last = Last(rest, ["last %d" % i for i in range(3000)])
PYTHON

# Collects: a cycle is being taken apart, its neighbours wait.
cat >"$work/collects.py" <<'PYTHON'
import gc
from rest import rest
class Node:
    def __init__(self, calls):
        self.me, self.calls, self.rows = self, calls, ["row %d" % i for i in range(30)]
    def __del__(self):
        if self.calls:
            rest()
kept = ["kept %d" % i for i in range(3000)]
nodes = [Node(i == 50) for i in range(100)]
del nodes
gc.collect()
PYTHON

cat >"$work/deep.py" <<'PYTHON'
import sys
from rest import rest
sys.setrecursionlimit(10**6)
def down(n, rows):
    if n == 0:
        return rest()
    return down(n - 1, rows)
kept = ["kept %d" % i for i in range(3000)]
down(100000, ["deep %d" % i for i in range(3000)])
PYTHON

cat >"$work/modules.py" <<'PYTHON'
import sys, types
from rest import rest
kept = ["kept %d" % i for i in range(3000)]
for i in range(3000):
    sys.modules["made%d" % i] = types.ModuleType("made%d" % i)
sys.modules["made1"].__dict__.update({1: ["odd"], None: ["odd"], "esc\033[2J": ["odd"]})
sys.modules[7] = sys.modules["made2"]
rest()
PYTHON

# Memory of C in which an address in the items of a list has been left.
cat >"$work/left.py" <<'PYTHON'
import ctypes
from rest import rest
kept = ["kept %d" % i for i in range(3000)]
ITEMS = 24
items = ctypes.c_size_t.from_address(id(kept) + ITEMS).value
left = (ctypes.c_size_t * 100)(*[items + 8 * i for i in range(100)])
rest()
PYTHON

# Without rest: tables grow and shrink, collections run, a child is made now and then, threads of C
# run without the lock.
cat >"$work/busy.py" <<'PYTHON'
import gc, hashlib, os, threading
kept = ["kept %d" % i for i in range(3000)]
def without_lock():
    data = bytes(1 << 20)
    while True:
        hashlib.sha256(data).digest()
for _ in range(2):
    threading.Thread(target=without_lock, daemon=True).start()
print("READY", flush=True)
while os.getppid() != 1:
    table = {}
    for i in range(20000):
        table[i] = [table]
    table.clear()
    if (child := os.fork()) == 0:
        os._exit(len([str(i) for i in range(1000)]) % 2)
    assert os.waitpid(child, 0)[1] == 0
    gc.collect()
PYTHON

moment()
{
    rm -f "$work/heap.snap.idx"
    start "$python" "$@"
    dump
}

cat >"$work/green.py" <<'PYTHON'
import greenlet
from rest import rest
class Job:
    pass
def work(jobs):
    job = jobs.pop()
    greenlet.getcurrent().parent.switch()
    return job
kept, jobs = [greenlet.greenlet(work) for _ in range(20)], [Job() for _ in range(20)]
for one in kept:
    one.switch(jobs)
rest()
PYTHON

# has ROOT WORDS: it owns at least so many.
has()
{
    rm -f "$work/heap.snap.idx"
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" 2>"$work/talk" ||
        fail "$python: roots"
    python3 - "$work/roots.json" "$1" "$2" <<'PYTHON' || fail "$python: $1 owns less than $2 words"
import json, sys
listing = json.load(open(sys.argv[1]))
found = [r for r in listing["roots"] if r["name"] == sys.argv[2]]
if max((r["retained_words"] for r in found), default=0) < int(sys.argv[3]):
    print(found, listing["sets"][:3])
    sys.exit(1)
PYTHON
}

check()
{
    export PYTHONPATH=$work
    PYTHONPATH=$work/begins:$work moment -c pass
    has sitecustomize.begun 20000
    leave
    moment "$work/ends.py"
    leave
    moment "$work/collects.py"
    has __main__.kept 20000
    leave
    moment "$work/left.py"
    has __main__.kept 20000
    leave
    moment "$work/modules.py"
    has __main__.kept 20000
    ! LC_ALL=C grep -q "$(printf '\033')" "$work/roots.json" || fail "$python: an escape in a name"
    leave
    if [ "$(minor "$python")" -ge 11 ]; then # before, each call takes stack of C
        moment "$work/deep.py"
        has __main__.kept 20000
        has "down() local rows" 20000
        leave
    fi
    if "$python" -c 'import greenlet' 2>"$work/talk"; then
        moment "$work/green.py"
        "$HEAPSNAP" paths "$work/heap.snap" --to type:__main__.Job >"$work/paths" \
            2>"$work/talk" || fail "paths to what greenlets hold"
        grep -q "20 objects that roots reach" "$work/paths" || fail "$(cat "$work/paths")"
        leave
    fi
    moment "$work/busy.py"
    for _ in 1 2; do
        dump
    done
    has __main__.kept 20000
    stop_target
    unset PYTHONPATH
}

n_checked=0
for python in $(pythons 3.14); do
    case $python in *3.1[023].* | *3.11.7*) continue ;; esac # like their neighbours
    check
    n_checked=$((n_checked + 1))
done
[ "$n_checked" -gt 0 ] || { echo "skipped: no python3"; exit 77; }
