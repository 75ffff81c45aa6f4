#!/usr/bin/env bash
# Debian's coqtop, stripped, with a large library loaded: two dumps of the stopped process are the
# same bytes; the roots that reach most equal the runtime's own caml_obj_reachable_words, called in
# the same stopped process; the sums close; the target lives on.
set -euo pipefail

command -v coqtop >/dev/null || { echo "skipped: coqtop is not installed"; exit 77; }
command -v gdb >/dev/null || { echo "skipped: gdb is not installed"; exit 77; }

work=$(mktemp -d)
pid=""
finish()
{
    [ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT
fail()
{
    echo "FAILED: $1"
    exit 1
}

mkfifo "$work/input"
coqtop -q <"$work/input" >"$work/log" 2>&1 &
pid=$!
exec 9>"$work/input"
cat >&9 <<'EOF'
From Coq Require Import Reals Lia Lra MSets ssreflect.
Definition loaded := tt.
EOF
for _ in $(seq 1200); do
    grep -q "loaded is defined" "$work/log" && break
    kill -0 "$pid" || fail "coqtop ended: $(tail -3 "$work/log")"
    sleep 0.2
done
sleep 0.5

# One dump while it waits for input, then the rest while it is stopped.
# What a search for names finds within its time is not the same at any load: here it may take as
# long as it needs.
"$HEAPSNAP" dump "$pid" --names-timeout 600s -o "$work/live.snap" ||
    fail "the dump of the waiting process"
kill -0 "$pid" || fail "coqtop did not survive the dump"
kill -STOP "$pid"
for _ in $(seq 600); do # until it is stopped
    grep -q '^State:.*T' "/proc/$pid/status" && break
    sleep 0.1
done
"$HEAPSNAP" dump "$pid" --names-timeout 600s -o "$work/one.snap" ||
    fail "the first dump of the stopped process"
"$HEAPSNAP" dump "$pid" --names-timeout 600s -o "$work/two.snap" ||
    fail "the second dump of the stopped process"
python3 "$(dirname "$0")/_same_graph.py" "$work/one.snap" "$work/two.snap" ||
    fail "two dumps of one stopped process differ"
grep -q '^State:.*T' "/proc/$pid/status" || fail "the stopped process did not stay stopped"
"$HEAPSNAP" check "$work/one.snap" || fail "check"
"$HEAPSNAP" info "$work/one.snap"
"$HEAPSNAP" roots "$work/one.snap" --json >"$work/roots.json"
"$HEAPSNAP" roots "$work/one.snap" --min-words 100000 -n 15

# The runtime's own count, for the global roots that reach most and some in between.
python3 - "$work" <<'EOF'
import json, sys
work = sys.argv[1]
roots = json.load(open(work + "/roots.json"))
heap = roots["heap"]
total = sum(r["retained_words"] for r in roots["roots"])
total += roots["shared"]["retained_words"] + roots["others"]["retained_words"]
total += roots["unreached"]["words"]
assert total == heap["words"], (total, heap["words"])
assert heap["words"] == heap["reachable_words"] + heap["unreached_words"]
named = [r for r in roots["roots"] if r["file"] and r["line"]]
assert len(named) > 1000, "only %d roots have a source line" % len(named)
known = [r for r in roots["roots"] if r["name"] == "Stm.VCS"]
print("roots: %d, named with a line: %d, Stm.VCS: %s" % (
    len(roots["roots"]), len(named), [(r["file"], r["line"]) for r in known]))
assert known and known[0]["file"].endswith("stm.ml")
slots = [r for r in roots["roots"] if r["kind"] in ("global", "dynamic_global") and r["address"]]
slots.sort(key=lambda r: -r["reachable_words"])
chosen = slots[:12] + slots[20:200:20] + slots[500:5000:500]
with open(work + "/gdb.txt", "w") as out:
    out.write("set pagination off\nset confirm off\nset print frame-arguments none\n"
              "handle SIGSTOP SIGCONT nostop noprint nopass\n")
    for r in chosen:
        out.write('printf "COUNT %s %%ld\\n", ((long(*)(long))caml_obj_reachable_words)'
                  "(*(long*)%s)\n" % (r["id"], r["address"]))
    out.write("detach\nquit\n")
json.dump(chosen, open(work + "/chosen.json", "w"))
EOF
timeout 300 gdb -nx -q -batch -p "$pid" -x "$work/gdb.txt" >"$work/gdb.log" 2>&1 || true
python3 - "$work" <<'EOF'
import json, re, sys
work = sys.argv[1]
log = open(work + "/gdb.log").read()
counts = {m[0]: int(m[1]) >> 1 for m in re.findall(r"COUNT (#\d+) (-?\d+)", log)}
chosen = json.load(open(work + "/chosen.json"))
equal = 0
for r in chosen:
    runtime = counts.get(r["id"])
    same = runtime == r["reachable_words"]
    equal += same
    if not same or r["reachable_words"] > 1000000:
        print("%-40s heapsnap %10d runtime %s" % (r["name"], r["reachable_words"], runtime))
print("%d of %d roots equal the runtime's own count" % (equal, len(chosen)))
if len(counts) < 10:
    sys.stdout.write(log[-2000:])
    sys.exit("gdb counted only %d roots" % len(counts))
if equal != len(chosen):
    sys.exit("they must all be equal")
EOF
kill -CONT "$pid"
echo 'Definition again := loaded.' >&9
for _ in $(seq 1200); do
    grep -q "again is defined" "$work/log" && break
    sleep 0.1
done
grep -q "again is defined" "$work/log" || fail "coqtop does not work on"
echo "coqtop: all well"
