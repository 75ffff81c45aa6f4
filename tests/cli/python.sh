# The Python module over libheapsnap: the figures of the commands, errors as exceptions, and no
# crash of the interpreter whatever the file is; the example that reads like a notebook.
. "$(dirname "$0")/lib.sh"

export HEAPSNAP_LIBRARY=$BUILD_DIR/bin/libheapsnap.so
[ -e "$HEAPSNAP_LIBRARY" ] || skip "no library in this build"
export PYTHONPATH=$SOURCE_DIR/python:$PYTHONPATH

python <<'END' || fail "the module"
import gc
import threading
import heapsnap
from snapcli import *

def opened(path):
    return heapsnap.open(path, n_threads=1)

def raises(kind, call, *arguments):
    try:
        call(*arguments)
    except heapsnap.Error as error:
        check(isinstance(error, kind) and error.message, f"{error!r} is no {kind}")
        return error
    check(False, f"{call} {arguments} raised nothing")

def figures():
    path = a_snap().write()
    info, roots = (run(name, path, "--json").json() for name in ("info", "roots"))
    with opened(path) as snap:
        whole = snap.summary
        equal((whole.pid, whole.heap_words), (4242, roots["heap"]["words"]), "summary")
        equal([(r.name, r.retained_words, r.reachable_words) for r in snap.roots()],
              [(r["name"], r["retained_words"], r["reachable_words"]) for r in roots["roots"]],
              "roots")
        equal(snap.shared_words(), roots["shared"]["retained_words"], "shared")
        equal([(s.n_roots, s.retained_words) for s in snap.sets()],
              [(s["n_roots"], s["retained_words"]) for s in roots["sets"]], "sets")
        for found, known in zip(snap.sets(), roots["sets"]):
            equal([f"#{n}" for n in snap.set_roots(found.id)], known["roots"], "roots of a set")
        types = run("types", path, "--json").json()["types"]
        equal([(t.name, t.words) for t in snap.types()],
              [(t["type"], t["words"]) for t in types], "types")
        leaks = run("leaks", path, "--json").json()["groups"]
        equal([(g.certainty, g.type, g.words, g.held_words) for g in snap.leak_groups()],
              [(g["certainty"], g["type"], g["words"], g["held_words"]) for g in leaks], "leaks")
        equal(snap.leaks().certain_words,
              sum(g["words"] for g in leaks if g["certainty"] == "certain"), "sums of leaks")
        keys = snap.keys()
        equal(sum(key.words for key in keys), whole.heap_words, "keys")
        equal(keys[0].all_words, whole.heap_words, "the first key")
        equal([key.key for key in keys], [key.key for key in snap.keys()], "asked again")
        blocks = list(snap.blocks())
        equal(len(blocks), whole.n_blocks, "blocks")
        equal(sum(b.words for b in blocks if not b.is_static), whole.heap_words, "words of blocks")
        for block in blocks:
            node = snap.node(block.node)
            equal((node.address, node.words, node.name, node.dominator, node.retained_words),
                  (block.address, block.words, block.type, block.dominator, block.retained_words),
                  "a block as a node")
            for edge in snap.targets(block.node):
                check(block.node in [e.other for e in snap.sources(edge.other)] or
                      edge.edge_class not in ("exact", "interior"), "an edge there and back")
        vcs = snap.find("root:Stm.VCS")
        equal(snap.node("root:Stm.VCS"), snap.node(vcs), "by name")
        check(snap.dominated(vcs), "nothing below Stm.VCS")
        check(len(snap.path(blocks[5].node)) > 2, "a path")

def slips():
    path = a_snap().write()
    snap = opened(path)
    raises(heapsnap.UsageError, snap.node, snap.summary.n_nodes)
    raises(heapsnap.UsageError, snap.node, -1)
    raises(heapsnap.UsageError, snap.node, 2**64)
    raises(heapsnap.UsageError, snap.set_roots, 0)
    raises(heapsnap.UsageError, snap.set_roots, 2**32 + 1)
    raises(heapsnap.UsageError, snap.sources, 0)
    check(raises(heapsnap.UsageError, snap.find, "root:Stm.VCT").hint, "no hint")
    raises(heapsnap.UsageError, snap.find, "a\0b")
    raises(heapsnap.UsageError, snap.find, "\udcff\n'; --")
    for wrong in (None, 1.5, [], b"x"):
        try:
            snap.node(wrong)
            check(False, f"{wrong!r} is no node")
        except (AttributeError, TypeError):
            pass
    blocks = snap.blocks()
    next(blocks)
    snap.close()
    snap.close()
    for call in (snap.roots, snap.keys, lambda: snap.summary, lambda: snap.node(1), snap.sets):
        raises(heapsnap.UsageError, call)
    os.remove(path + ".idx")
    def impatient(phase, done, total):
        raise KeyError("enough")
    try:
        heapsnap.open(path, progress=impatient)
        check(False, "what progress raises is lost")
    except KeyError:
        pass
    os.remove(path + ".idx") if os.path.exists(path + ".idx") else None
    raises(heapsnap.LimitError, lambda: heapsnap.open(path, progress=lambda *told: True))
    check(isinstance(raises(heapsnap.Error, opened, "/nowhere"), OSError), "no OSError")

def hostile():
    s = a_snap()
    for name in [b"\xff\xfe", "x" * 50000, "\u202e", "%s%n", "NULL", "'; --"]:
        s.root(s.block(3, s.type(name)), name if isinstance(name, str) else "odd", unit="Odd")
    path = s.write()
    def all_of(snap):
        for call in (snap.roots, snap.sets, snap.keys, snap.types, snap.leaks, snap.leak_groups):
            call()
        for at, block in enumerate(snap.blocks()):
            if at < 20: # a path is a search
                snap.path(block.node)
                snap.targets(block.node)
    with opened(path) as snap:
        all_of(snap)
        check("\ufffd\ufffd" in [t.name for t in snap.types()], "a name that is no UTF-8")
    whole = open(path, "rb").read()
    index = open(path + ".idx", "rb").read()
    bad = os.path.join(WORK, "bad.snap")
    n_refused = 0
    for at in range(0, len(whole), max(1, len(whole) // 60)):
        for data in (whole[:at], whole[:at] + bytes([whole[at] ^ 0xff]) + whole[at + 1:]):
            open(bad, "wb").write(data)
            open(bad + ".idx", "wb").write(index)
            try:
                with opened(bad) as snap:
                    all_of(snap)
            except heapsnap.FormatError:
                n_refused += 1
    check(n_refused > 80, f"only {n_refused} damaged files were refused")
    golden = os.path.join(os.environ["SOURCE_DIR"], "tests/golden")
    for name in sorted(os.listdir(golden)):
        if name.endswith(".snap") and os.path.getsize(os.path.join(golden, name)) < 20000:
            open(bad, "wb").write(open(os.path.join(golden, name), "rb").read())
            try:
                with opened(bad) as snap:
                    all_of(snap)
            except heapsnap.Error as error:
                check(error.message, f"{name}: nothing is said")

def together():
    """One snapshot, four threads, closed under their feet; and forgotten ones are freed."""
    path = a_snap().write()
    snap = opened(path)
    begun = threading.Barrier(5)
    failures = []
    def work():
        begun.wait()
        try:
            for _ in range(10):
                snap.roots(), snap.keys(), list(snap.blocks()), snap.sets()
        except heapsnap.UsageError:
            pass # closed
        except BaseException as failure:
            failures.append(failure)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    begun.wait()
    snap.close()
    for thread in threads:
        thread.join()
    equal(failures, [], "failures")
    n_open = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        opened(path)
    gc.collect()
    equal(len(os.listdir("/proc/self/fd")), n_open, "open files")

main(figures, slips, hostile, together)
END

# The example runs to its end without pandas, and with it where it is installed.
python3 -B -c 'from snapcli import *; a_snap().write()'
example=$SOURCE_DIR/docs/examples/who_keeps_it.py
python3 -B "$example" "$work/heap.snap" >"$work/out" || fail "the example"
grep -q "global 'Stm.VCS'" "$work/out" || fail "the example: $(cat "$work/out")"
python3 -B "$example" /dev/null >"$work/out" 2>"$work/err" && fail "the example of nothing"
grep -q '^hint: ' "$work/err" || fail "no hint: $(cat "$work/err")"
if ! /usr/bin/python3 -c 'import pandas' 2>/dev/null; then
    skip "data frames: python3-pandas is not installed (scripts/deps test); the rest has passed"
fi
/usr/bin/python3 -B "$example" "$work/heap.snap" >"$work/out" || fail "the example with pandas"
grep -q 'count *sum' "$work/out" || fail "no data frame: $(cat "$work/out")"
exit 0
