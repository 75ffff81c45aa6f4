#!/usr/bin/env bash
# parts: ocaml python
# A leak of 2 or 3 % of the heap among a cache, a queue and a configuration that is loaded once, of
# C, C++, OCaml and Python: named first after five dumps, with the command that shows one block of
# it. Without the leak nothing is said to grow steadily. The key files alone say the same.
. "$(dirname "$0")/_native.sh"
need gcc g++

# round N: one more, and a dump of it.
round()
{
    local n=$1
    echo >&9
    for _ in $(seq 600); do
        grep -q "^round $n\$" "$work/log" && break
        sleep 0.1
    done
    grep -q "^round $n\$" "$work/log" || fail "no round $n"
    sleep 0.1
    "$HEAPSNAP" dump "$pid" -o "$work/$n.snap" 2>"$work/talk" || { cat "$work/talk"; fail dump; }
}

# five COMMAND...: five rounds of a program, compared in $work/diff.json.
five()
{
    rm -f "$work"/*.snap "$work"/*.idx "$work"/*.keys
    start "$@"
    for n in 0 1 2 3 4; do
        round "$n"
    done
    leave
    "$HEAPSNAP" diff "$work"/[0-4].snap --json >"$work/diff.json" || fail "diff"
}

# leaks LANGUAGE PATTERN TYPE: what must grow first, and by the number of which class.
leaks()
{
    python3 - "$work/diff.json" "$1" "$2" "$3" <<'PYTHON' || fail "$1"
import json, re, subprocess, os, shlex, sys
diff = json.load(open(sys.argv[1]))
print(sys.argv[2], diff["verdict"])
assert diff["growth"] == "steady", diff["growth"]
assert re.search(sys.argv[3], diff["growing"]), diff["growing"]
first = diff["keys"][0]
assert first["key"] == diff["growing"] and first["steps_up"] == 4, first
share = (first["words"][-1] - first["words"][0]) / diff["snapshots"][-1]["heap_words"]
assert 0.005 < share < 0.06, share
of = diff["population"]
assert re.search(sys.argv[4], of["type"]) and of["objects"] == sorted(of["objects"]), of
assert f"from {of['objects'][0]} to {of['objects'][-1]} " in diff["verdict"], of
assert (diff["place"] or "").startswith(diff["growing"].split(" > ")[0][:8]), diff["place"]
if sys.argv[2] == "C++":
    then, now = diff["entries"]
    ends = now // of["objects"][-1] # of a list that both ends lead to each has the half next to it
    assert [then, now] == [ends * of["objects"][0], ends * of["objects"][-1]], (then, now, of)
words = shlex.split(diff["command"])
assert words[0] == "heapsnap" and words[1] == "paths", words
subprocess.run([os.environ["HEAPSNAP"]] + words[1:], check=True, stdout=subprocess.DEVNULL)
if sys.argv[2] in ("C", "C++"):
    assert diff["command_is_of_new"], "a new block"
PYTHON
    rm "$work"/*.snap "$work"/*.idx
    "$HEAPSNAP" diff "$work"/[0-4].snap.keys --json >"$work/keys.json" || fail "diff of keys"
    python3 - "$work/diff.json" "$work/keys.json" <<'PYTHON' || fail "$1: keys alone"
import json, sys
one, other = (json.load(open(path)) for path in sys.argv[1:])
for part in ("verdict", "growing", "keys", "roots", "sets", "types", "leaks"):
    assert one[part] == other[part], part
assert other["command"] is None
PYTHON
}

rests()
{
    python3 - "$work/diff.json" "$1" <<'PYTHON' || fail "$1 without a leak"
import json, sys
diff = json.load(open(sys.argv[1]))
print(sys.argv[2], "at rest:", diff["verdict"])
assert diff["growth"] in ("none", "unsure"), diff["growth"]
PYTHON
}

cp "$fixtures/diff_leak.c" "$fixtures/diff_leak.cpp" "$fixtures/diff_leak.ml" "$work/"
gcc -O1 -g -o "$work/server_c" "$work/diff_leak.c" || fail "building"
g++ -O1 -g -o "$work/server_cpp" "$work/diff_leak.cpp" || fail "building"
five "$work/server_c" leak
leaks C '^server\.sessions > struct session$' '^struct session$'
five "$work/server_c"
rests C
five "$work/server_cpp" leak
leaks C++ 'sessions' '[Ss]ession'
five "$work/server_cpp"
rests C++
five python3 "$fixtures/diff_leak.py" leak
leaks Python 'Session' 'Session'
five python3 "$fixtures/diff_leak.py"
rests Python
if command -v ocamlfind >/dev/null; then
    (cd "$work" && ocamlfind ocamlopt -g -o server_ml diff_leak.ml 2>/dev/null) || fail "building"
    five "$work/server_ml" leak
    leaks OCaml '^Diff_leak(\.sessions| field 3)' '.'
    five "$work/server_ml"
    rests OCaml
fi
