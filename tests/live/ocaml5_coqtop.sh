#!/usr/bin/env bash
# Debian 13's coqtop (OCaml 5.3, stripped) in its scratch root, with a large library loaded: two
# dumps of the stopped process say the same; the roots that reach most equal the runtime's own
# caml_obj_reachable_words, called in the same stopped process; names come from the .cmt files; the
# target lives on.
OCAML5_WITH=--coq
. "$(dirname "$0")/_ocaml5.sh"
need gdb chroot
[ "$(id -u)" -eq 0 ] || { echo "skipped: chroot needs root"; exit 77; }
[ -n "${ocaml5_root:-}" ] || { echo "skipped: OCAML5 names a compiler, not a root"; exit 77; }

with_names

mkfifo "$work/input"
chroot "$ocaml5_root" coqtop -q <"$work/input" >"$work/log" 2>&1 &
pid=$!
exec 9>"$work/input"
cat >&9 <<'END'
From Coq Require Import Reals Lia Lra MSets ssreflect.
Definition loaded := tt.
END
for _ in $(seq 1200); do
    grep -q "loaded is defined" "$work/log" && break
    kill -0 "$pid" || fail "coqtop ended: $(tail -3 "$work/log")"
    sleep 0.2
done
sleep 0.5

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
python3 -B "$SOURCE_DIR/tests/live/_same_graph.py" "$work/one.snap" "$work/two.snap" ||
    fail "two dumps of one stopped process differ"
"$HEAPSNAP" check "$work/one.snap" || fail "check"
"$HEAPSNAP" info "$work/one.snap"
"$HEAPSNAP" roots "$work/one.snap" --json -n 0 >"$work/roots.json"
"$HEAPSNAP" roots "$work/one.snap" --min-words 100000 -n 15

# The runtime's own count. It needs the domain lock, which a waiting thread has released.
python3 - "$work" <<'END' || fail "what the snapshot says"
import json, sys
work = sys.argv[1]
roots = json.load(open(work + "/roots.json"))
heap = roots["heap"]
total = sum(r["retained_words"] for r in roots["roots"])
total += roots["shared"]["retained_words"] + roots["others"]["retained_words"]
total += roots["unreached"]["words"]
assert total == heap["words"], (total, heap["words"])
named = [r for r in roots["roots"] if r["file"] and r["line"]]
known = [r for r in roots["roots"] if r["name"] == "Stm.VCS"]
print("roots: %d, named with a line: %d, Stm.VCS: %s" % (
    len(roots["roots"]), len(named), [(r["file"], r["line"]) for r in known]))
assert len(named) > 1000, "only %d roots have a source line" % len(named)
assert known and known[0]["file"].endswith("stm.ml")
slots = [r for r in roots["roots"] if r["kind"] in ("global", "dynamic_global") and r["address"]]
slots.sort(key=lambda r: -r["reachable_words"])
chosen = slots[:8] + slots[20:200:20] + slots[500:5000:500]
with open(work + "/gdb.txt", "w") as out:
    out.write("set pagination off\nset confirm off\nset print frame-arguments none\n"
              "handle SIGSTOP SIGCONT nostop noprint nopass\n"
              "call (void)caml_acquire_domain_lock()\n")
    for r in chosen:
        out.write('printf "COUNT %s %%ld\\n", ((long(*)(long))caml_obj_reachable_words)'
                  "(*(long*)%s)\n" % (r["id"], r["address"]))
    out.write("call (void)caml_release_domain_lock()\ndetach\nquit\n")
json.dump(chosen, open(work + "/chosen.json", "w"))
END
timeout 300 gdb -nx -q -batch "$(readlink "/proc/$pid/exe")" -p "$pid" -x "$work/gdb.txt" \
    >"$work/gdb.log" 2>&1 || true
python3 - "$work" <<'END' || fail "the runtime's own count"
import json, re, sys
work = sys.argv[1]
log = open(work + "/gdb.log").read()
counts = {m[0]: int(m[1]) >> 1 for m in re.findall(r"COUNT (#\d+) (-?\d+)", log)}
chosen = json.load(open(work + "/chosen.json"))
equal = 0
for r in chosen:
    runtime = counts.get(r["id"])
    ours = r["reachable_words"] + r["static_reachable_words"]
    equal += runtime == ours
    if runtime != ours or ours > 1000000:
        print("%-40s heapsnap %10d runtime %s" % (r["name"], ours, runtime))
print("%d of %d roots equal the runtime's own count" % (equal, len(chosen)))
if len(counts) < 10:
    sys.stdout.write(log[-2000:])
    sys.exit("gdb counted only %d roots" % len(counts))
if equal != len(chosen):
    sys.exit("they must all be equal")
END
kill -CONT "$pid"
echo 'Definition again := loaded.' >&9
for _ in $(seq 1200); do
    grep -q "again is defined" "$work/log" && break
    sleep 0.1
done
grep -q "again is defined" "$work/log" || fail "coqtop does not work on"
echo "coqtop: all well"
