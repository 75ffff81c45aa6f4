# The sum closes in every mode: roots' retained + shared + others + unreached = the heap, to the
# word; and each row is what it says, by brute force.
. "$(dirname "$0")/lib.sh"

python <<'END'
import itertools
from snapcli import *

MODES = [list(itertools.chain(*mode)) for mode in itertools.product(
    [[], ["-n", "1"], ["-n", "3"], ["-n", "0"]],
    [[], ["--min-words", "1"], ["--min-words", "10"], ["--min-words", "18446744073709551615"]],
    [[], ["--kind", "global"], ["--kind", "stack,local,register"]],
    [[], ["--sort", "reachable"], ["--sort", "name"]])]
GROUPS = ["root", "kind", "module", "unit", "thread", "frame"]


def total(found):
    return (sum(row["retained_words"] for row in found["roots"]) +
            found["shared"]["retained_words"] + found["others"]["retained_words"] +
            found["unreached"]["words"])


def closes(path, *mode):
    found = run("roots", path, "--json", *mode).json()
    heap = found["heap"]
    equal(total(found), heap["words"], f"the sum of roots {' '.join(mode)}")
    equal(heap["reachable_words"] + heap["unreached_words"], heap["words"], "the heap's own sum")
    equal(heap["reachable_objects"] + heap["unreached_objects"], heap["objects"], "objects")
    return found


def every_mode():
    path = random_snap(77, 40).write()
    for at, mode in enumerate(MODES):
        closes(path, "--group-by", GROUPS[at % len(GROUPS)], *mode)
    for group in GROUPS:
        found = closes(path, "--group-by", group)
        check(found["roots"] or group in ("thread", "frame"), f"--group-by {group}: no rows")
        closes(path, "--group-by", group, "-n", "1")


def rows_by_brute_force():
    for seed in range(rounds(25)):
        snap = random_snap(1000 + seed)
        path = snap.write()
        graph = snap.graph()
        live = reach(graph.retaining, 0)
        _, kept = dominators(graph.retaining)
        tree = snap.tree()
        for group, level in [("root", 5), ("unit", 3), ("module", 2), ("kind", 1)]:
            found = closes(path, "--group-by", group)
            for row in found["roots"]:
                node = int(row["id"][1:])
                equal(tree[node][1], level, f"seed {seed}: the level of {row['id']}")
                equal(row["name"], tree[node][5], "the name")
                reached = reach(graph.strong, node)
                equal(row["reachable_words"], graph.heap_words(reached),
                      f"seed {seed}: reachable of {row['id']}")
                equal(row["static_reachable_words"], graph.static_words(reached),
                      f"seed {seed}: static reachable of {row['id']}")
                equal(row["reachable_objects"],
                      sum(n >= graph.n_tree and not graph.static[n] for n in reached),
                      f"seed {seed}: reachable objects of {row['id']}")
                equal(row["retained_words"], graph.heap_words(kept[node]),
                      f"seed {seed}: retained of {row['id']}")
                equal(row["static_retained_words"], graph.static_words(kept[node]),
                      f"seed {seed}: static retained of {row['id']}")
        equal(found["unreached"]["words"], graph.heap_words(set(range(len(graph.words))) - live),
              f"seed {seed}: unreached")
        leaves = [n for n, node in enumerate(tree) if node[1] == 5 and not node[4]]
        found = closes(path)
        equal(len(found["roots"]), len(leaves), f"seed {seed}: rows")
        equal(found["shared"]["retained_words"],
              graph.heap_words(live) - sum(graph.heap_words(kept[n]) for n in leaves),
              f"seed {seed}: shared")


def thresholds():
    path = random_snap(78, 60).write()
    everything = run("roots", path, "--json").json()["roots"]
    for least in [1, 20, 60]:
        found = closes(path, "--min-words", str(least))
        equal([r["id"] for r in found["roots"]],
              [r["id"] for r in everything if r["reachable_words"] >= least],
              f"--min-words {least} is about what a root reaches")
        equal(found["others"]["count"], len(everything) - len(found["roots"]), "others")
    found = closes(path, "--kind", "stack,global")
    equal({r["id"] for r in found["roots"]},
          {r["id"] for r in everything if r["kind"] in ("stack", "global")}, "--kind")
    names = [r["name"] for r in closes(path, "--sort", "name")["roots"]]
    equal(names, sorted(names), "--sort name")
    reachable = [r["reachable_words"] for r in closes(path, "--sort", "reachable")["roots"]]
    equal(reachable, sorted(reachable, reverse=True), "--sort reachable")
    equal([r["id"] for r in closes(path, "-n", "2")["roots"]], [r["id"] for r in everything[:2]],
          "-n keeps the first")


def tables_close():
    path = random_snap(79, 50).write()
    for mode in [[], ["-n", "1"], ["--group-by", "kind"], ["--min-words", "9"]]:
        lines = run("roots", path, *mode).lines()
        if "--group-by" not in mode: # shares by single roots
            check(lines[-1].startswith("of what is reached: owned "), f"{lines}")
            del lines[-1]
        words = [int(line.split()[0]) for line in lines[1:]]
        check("TOTAL" in lines[-1], lines[-1])
        equal(sum(words[:-1]), words[-1], f"the table of roots {mode}")
        equal(lines[-1].split()[1], "100.0%", "the percentage of TOTAL")
    lines = run("types", path).lines()
    objects = [int(line.split()[0]) for line in lines[1:]]
    equal(sum(objects[:-1]), objects[-1], "the table of types")
    heap = run("roots", path, "--json").json()["heap"]
    found = run("types", path, "--json").json()
    equal(sum(row["words"] for row in found["types"]) + found["unreached"]["words"], heap["words"],
          "the sum of types")
    found = run("types", path, "--json", "-n", "1").json()
    equal(sum(row["words"] for row in found["types"]) + found["unreached"]["words"] +
          found["others"]["words"], heap["words"], "the sum of types -n 1")


def types_by_brute_force():
    for seed in range(rounds(25)):
        snap = random_snap(2000 + seed)
        path = snap.write()
        graph = snap.graph()
        live = reach(graph.retaining, 0)
        for row in run("types", path, "--json").json()["types"]:
            wanted = [t[0] for t in snap.types].index(row["type"])
            mine = {graph.n_tree + b for b, block in enumerate(snap.blocks) if block[1] == wanted}
            cleared = [[] if n in mine else [t for t in targets if t not in mine]
                       for n, targets in enumerate(graph.retaining)]
            freed = live - reach(cleared, 0)
            equal(row["words"], graph.heap_words(mine & live), f"seed {seed}: words")
            at_least = graph.heap_words(mine & live)
            check(at_least <= row["retained_words"] <= graph.heap_words(freed),
                  f"seed {seed}: what {row['type']} retains is out of bounds")


main(every_mode, rows_by_brute_force, thresholds, tables_close, types_by_brute_force)
END
