# Paths: shortest first, one from each root; a long run of alike steps is one line; disjoint ones
# share nothing; by brute force on random heaps.
. "$(dirname "$0")/lib.sh"

python <<'END'
from collections import deque
from snapcli import *


def list_of(n):
    snap = Snap()
    cons = snap.type("block tag 0, 2 fields")
    text = snap.type("string", 252, 2)
    for _ in range(n):
        snap.block(3, cons)
    for at in range(n - 1):
        snap.edge(at, at + 1, 1)
    last = snap.block(10, text)
    snap.edge(n - 1, last, 0)
    snap.root(0, "Stm.VCS", file="stm/stm.ml", line=318)
    snap.sample(7, last)
    return snap, last


def a_long_list():
    snap, last = list_of(400000)
    path = snap.write()
    lines = run("paths", path, "--to", "7").lines()
    check(len(lines) <= 20, f"{len(lines)} lines")
    check(sum("399999" in line or "400000" in line for line in lines) == 1,
          "one line with the repeat count: " + "\n".join(lines))
    found = run("paths", path, "--to", "sample:7", "--json").json()
    equal(len(found["paths"]), 1, "paths")
    one = found["paths"][0]
    equal(one["length"], 400001, "length")
    equal([step["repeat"] for step in one["steps"]], [399999, 1, 1], "repeats")
    equal([step["field"] for step in one["steps"]], [1, 0, None], "fields")
    equal(one["steps"][0]["words"], 3, "words of each")
    equal(found["complete"], True, "complete")


def a_long_path_of_unlike_steps():
    snap = Snap()
    kinds = [snap.type(f"t{at}") for at in range(3)]
    rng = random.Random(5)
    for at in range(5000):
        snap.block(4, rng.choice(kinds))
        if at > 0:
            snap.edge(at - 1, at, rng.randrange(3))
    snap.root(0, "A.a")
    path = snap.write()
    target = f"#{len(snap.tree()) + 4999}"
    lines = run("paths", path, "--to", target).lines()
    check(len(lines) <= 25, f"{len(lines)} lines")
    check(any("left out" in line for line in lines), "the gap is said")
    one = run("paths", path, "--to", target, "--json").json()["paths"][0]
    equal(one["length"], 5000, "length")
    equal(sum(step["repeat"] for step in one["steps"]), 5000, "no object is lost in the folding")
    check(len(one["steps"]) <= 19, f"{len(one['steps'])} steps")


def distances(graph, target):
    """Steps from each root leaf to the target, in objects, by breadth-first search backwards."""
    sources = [[] for _ in graph.words]
    for node, targets in enumerate(graph.retaining):
        for t in targets:
            sources[t].append(node)
    seen, queue, found = {target: 1}, deque([target]), {}
    while queue:
        node = queue.popleft()
        for source in sources[node]:
            if source < graph.n_tree:
                found[source] = min(found.get(source, 1 << 60), seen[node])
            elif source not in seen:
                seen[source] = seen[node] + 1
                queue.append(source)
    return found


def by_brute_force():
    for seed in range(rounds(60)):
        snap = random_snap(3000 + seed)
        if not snap.blocks:
            continue
        path = snap.write()
        graph = snap.graph()
        live = reach(graph.retaining, 0)
        for target in range(graph.n_tree, len(graph.words), 3):
            found = run("paths", path, "--to", f"#{target}", "--json", "--limit", "0").json()
            expected = distances(graph, target)
            got = {int(p["root"]["id"][1:]): p["length"] for p in found["paths"]}
            equal(got, expected, f"seed {seed}: roots and lengths to #{target}")
            equal([p["length"] for p in found["paths"]], sorted(expected.values()), "the order")
            equal(found["complete"], True, "complete")
            equal(found["target"]["reached"], target in live, "reached")
            for p in found["paths"]:
                walk(graph, snap, p, target)
            if len(expected) > 1:
                few = run("paths", path, "--to", f"#{target}", "--json", "--limit", "1").json()
                equal(len(few["paths"]), 1, "--limit 1")
                equal(few["paths"][0], found["paths"][0], "--limit 1 keeps the shortest")
                equal(few["complete"], False, "--limit 1 is not all")


def walk(graph, snap, path, target):
    """A path without folding must be a walk along edges, by the fields it names."""
    if any(step["repeat"] != 1 for step in path["steps"]):
        return
    at = int(path["root"]["id"][1:])
    for step in path["steps"]:
        node = int(step["id"][1:])
        check(node in graph.retaining[at], f"{at} does not point to {node}")
        at = node
    equal(at, target, "the end of the path")
    for step, after in zip(path["steps"], path["steps"][1:]):
        block, to = int(step["id"][1:]) - graph.n_tree, int(after["id"][1:]) - graph.n_tree
        check((to, step["field"]) in {(t, o) for t, o, c in snap.edges[block] if c <= EPHEMERON},
              f"field {step['field']} of block {block} does not hold {to}")
        equal(step["offset"], 8 * step["field"], "offset")


def disjoint():
    for seed in range(rounds(40)):
        snap = random_snap(4000 + seed)
        if not snap.blocks:
            continue
        path = snap.write()
        n_tree = len(snap.tree())
        target = n_tree + len(snap.blocks) - 1
        plain = run("paths", path, "--to", f"#{target}", "--json", "--limit", "0").json()["paths"]
        found = run("paths", path, "--to", f"#{target}", "--json", "--disjoint",
                    "--limit", "0").json()["paths"]
        equal(bool(found), bool(plain), f"seed {seed}: some path or none")
        used = set()
        for p in found:
            if any(step["repeat"] != 1 for step in p["steps"]):
                continue
            here = {p["root"]["id"]} | {step["id"] for step in p["steps"][:-1]}
            check(not (here & used), f"seed {seed}: two paths share {here & used}")
            used |= here
        if found:
            equal(found[0]["length"], plain[0]["length"], "the first is a shortest one")


def default_limit():
    snap = Snap()
    snap.type("t")
    only = snap.block(3)
    for at in range(25):
        snap.root(only, f"A.v{at}")
    path = snap.write()
    found = run("paths", path, "--to", f"#{len(snap.tree())}", "--json").json()
    equal(len(found["paths"]), 10, "the default limit")
    equal(found["complete"], False, "there are more")
    found = run("paths", path, "--to", f"#{len(snap.tree())}", "--json", "--limit", "25").json()
    equal(len(found["paths"]), 25, "--limit 25")


def one_tree_for_a_type():
    """All blocks of a type in one tree: by root, then by type and member; elements are one."""
    snap = Snap()
    item, shop = snap.type("struct item", 0, 12), snap.type("struct shop", 0, 12)
    table = snap.type("struct item *[]", 0, 13, 8)
    snap.record("member", shop, 0, "items", "struct item **")
    snap.record("member", shop, 8, "last", "struct item *")
    holder, array = snap.block(2, shop), snap.block(50, table)
    snap.edge(holder, array, 0)
    items = [snap.block(4, item) for _ in range(40)]
    for at, block in enumerate(items[:38]):
        snap.edge(array, block, at)
    snap.edge(holder, items[38], 1)
    other = snap.block(5, item)
    snap.root(holder, "g_shop", file="shop.c", line=3)
    snap.root(other, "g_spare")
    path = snap.write()
    lines = run("paths", path, "--to", "type:struct item").lines()
    equal(lines[0], "struct item: 40 objects that roots reach, 161 words", "heading")
    equal([line.split(None, 3)[0::3] for line in lines[2:]],
          [["39", "global g_shop (shop.c:3)"],
           ["38", "struct shop.items > struct item *[][*] > struct item"],
           ["1", "struct shop.last > struct item"],
           ["1", "global g_spare > struct item"],
           ["1", "[unreached]"]], "the tree")
    lines = run("paths", path, "--to", "type:struct item", "-n", "2").lines()
    equal([line.split(None, 3)[3] for line in lines[4:]],
          ["struct shop.last > struct item", "global g_spare > struct item", "[unreached]"],
          "a single other one is shown")
    lines = run("paths", path, "--to", "type:struct item", "-n", "1").lines()
    equal([line.split(None, 3)[3] for line in lines[3:]],
          ["[2 others]", "global g_spare > struct item", "[unreached]"], "-n 1")
    found = run("paths", path, "--to", "type:struct item", "--json").json()
    equal(found["schema"], "heapsnap.paths/1", "schema")
    equal(found["instances"], {"type": "struct item", "objects": 40, "words": 161,
                               "followed_objects": 40, "unreached_objects": 1,
                               "unreached_words": 4}, "instances")
    equal([(top["root"]["name"], top["objects"], top["words"]) for top in found["tree"]],
          [("g_shop", 39, 156), ("g_spare", 1, 5)], "roots")
    step = found["tree"][0]["children"][0]
    equal((step["step"]["type"], step["step"]["place"], step["step"]["field"], step["objects"]),
          ("struct shop", "items", 0, 38), "a step")
    step = step["children"][0]
    equal((step["step"]["place"], step["step"]["any_element"]), ("[*]", True), "an element")
    few = run("paths", path, "--to", "type:struct item", "--json", "-n", "1").json()
    equal((len(few["tree"]), few["tree_others"]),
          (1, {"count": 1, "objects": 1, "words": 5}), "-n 1 of nodes")
    rows = run("paths", path, "--to", "type:struct item", "--format", "tsv").lines()
    equal(rows[0].split("\t"), ["node", "parent", "objects", "words", "what"], "TSV")
    lines = run("paths", path, "--to", "type:struct item", "--format", "ndjson").lines()
    equal(len(lines), len(rows) - 1, "a line for each node")
    equal(json.loads(lines[0])["root"]["name"], "g_shop", "NDJSON")


def small_rows_fold():
    """Of a tree a table has the ten largest lines, and others of a hundredth and more."""
    snap = Snap()
    item, table = snap.type("struct item", 0, 12), snap.type("struct item *[]", 0, 13, 8)
    for name, n in [("large", 2000), ("middle", 30)] + [(f"small{at}", 1) for at in range(30)]:
        array = snap.block(n, table)
        for at in range(n):
            snap.edge(array, snap.block(4, item), at)
        snap.root(array, name)
    path = snap.write()

    def rows(*more):
        lines = run("paths", path, "--to", "type:struct item", *more).lines()[2:]
        return [line.split(None, 3)[0::3] for line in lines]

    found = rows()
    equal(len(found), 11, "ten lines and [n others]")
    equal(found[-1], ["22", "[22 others]"], "the last of them")
    equal(sum(int(row[0]) for row in found), 2060, "the rows add up")
    equal(len(rows("-n", "40")), 32, "-n asks for them")
    whole = run("paths", path, "--to", "type:struct item", "--json").json()
    equal(len(whole["tree"]), 32, "JSON has all")


def doubt_is_marked():
    """Steps by words in doubt are marked, and whoever points in doubt is listed apart."""
    snap = Snap()
    snap.type("t")
    first, second, third, firm = (snap.block(3) for _ in range(4))
    snap.edge(first, second, 0, 3)  # guessed
    snap.edge(second, third, 1)
    snap.edge(first, firm, 1, 3)
    snap.root(first, "A.a")
    snap.root(firm, "B.b", unit="B")
    path = snap.write()
    n_tree = len(snap.tree())
    steps = run("paths", path, "--to", f"#{n_tree + third}", "--json").json()["paths"][0]["steps"]
    equal([(step["class"], step["tier"]) for step in steps],
          [("guessed", "doubtful"), ("exact", "doubtful"), (None, None)], "tiers of steps")
    out = run("paths", path, "--to", f"#{n_tree + second}").out
    check("t  [doubtful]" in out, out)
    found = run("paths", path, "--to", f"#{n_tree + firm}", "--json").json()["paths"]
    equal([p["root"]["name"] for p in found], ["B.b"], "what takes no part is on no path")
    found = run("paths", path, "--to", f"#{n_tree + firm}", "--json", "--policy",
                "conservative").json()["paths"]
    equal(len(found), 2, "unless all words count alike")
    out = run("object", path, f"#{n_tree + firm}").out
    rows = [line.rstrip() for line in out.splitlines() if line.startswith("held ")]
    check(len(rows) == 2 and rows[0].startswith("held by ") and rows[0].endswith("B.b") and
          rows[1].startswith("held in doubt "), out)
    found = run("object", path, f"#{n_tree + firm}", "--json").json()["referrers"]
    equal(sorted((r["class"], r["tier"]) for r in found),
          [("exact", "firm"), ("guessed", "doubtful")], "tiers of referrers")


def why_an_edge_counts_for_less():
    snap = Snap()
    owner, finder, kept, only, later = (snap.block(4) for _ in range(5))
    snap.record("note", "rule 65 is weak-pointer by rules.d/std.rules:12", 0)
    snap.record("note", "rule 250 is no-such-rule by x.rules:1", 0)
    snap.edge(owner, kept)
    snap.edge(finder, kept, 0, edge_class=3, reason=10)
    snap.edge(finder, only, 1, edge_class=3, reason=16)
    snap.edge(finder, later, 2, edge_class=3, reason=250)
    snap.edge(finder, later, 3, edge_class=3, reason=65)
    snap.root(owner, "A.a")
    snap.root(finder, "B.b")
    path, n_tree = snap.write(), snap.graph().n_tree
    at = [f"#{n_tree + block}" for block in (finder, kept, only)]
    plain, why = run("object", path, at[0]).out, run("object", path, at[0], "--why").out
    check("by rule" not in plain, plain)
    for text in ("[not counted: non-owning by rule weak-pointer]",
                 "[in doubt: non-owning by rule weak-pointer (rules.d/std.rules:12)]",
                 "[in doubt: left in the last word of the block by rule slack-word]",
                 "[in doubt: by rule 250 of a later heapsnap]"):
        check(text in why, why)
    fields = run("object", path, at[0], "--json").json()["fields"]
    equal([field["rule"] for field in fields],
          ["weak-pointer", "slack-word", "rule 250", "weak-pointer"], "rules")
    found = run("object", path, at[1], "--json").json()["referrers"]
    equal(sorted(str(one["rule"]) for one in found), ["None", "weak-pointer"], "of referrers")
    steps = run("paths", path, "--to", at[2], "--json").json()["paths"][0]["steps"]
    equal([step["rule"] for step in steps], ["slack-word", None], "rules of steps")
    out = run("paths", path, "--to", at[2], "--why").out
    check("[in doubt: left in the last word of the block by rule slack-word]" in out, out)
    if has_part("sql"):
        rows = run("sql", path, "select rule from edges where rule is not null order by offset",
                   "--format", "tsv").out.split()[1:]
        equal(rows, ["weak-pointer", "slack-word", "weak-pointer"], "rules in SQL")


def trees_close():
    """The objects of all roots of a tree are those that any root reaches."""
    for seed in range(rounds(30)):
        snap = random_snap(9000 + seed)
        path = snap.write()
        graph = snap.graph()
        live = reach(graph.retaining, 0)
        for number, (name, _, _, _) in enumerate(snap.types):
            of_type = [graph.n_tree + at for at, block in enumerate(snap.blocks)
                       if block[1] == number and graph.n_tree + at in live]
            if not of_type:
                continue
            found = run("paths", path, "--to", f"type:{name}", "--json").json()
            equal(found["instances"]["objects"], len(of_type), "reached ones")
            equal(sum(top["objects"] for top in found["tree"]), len(of_type), "in the tree")
            equal(sum(top["words"] for top in found["tree"]),
                  sum(graph.words[node] for node in of_type), "words")


main(doubt_is_marked, why_an_edge_counts_for_less, one_tree_for_a_type, small_rows_fold,
     trees_close, a_long_list, a_long_path_of_unlike_steps, by_brute_force, disjoint, default_limit)
END
