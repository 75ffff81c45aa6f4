# paths --cut: what has to go for an object to be freed, near the roots and near the object, with
# names; of what cannot be cut, or need not be, that is said.
. "$(dirname "$0")/lib.sh"

python <<'END'
from snapcli import *


def shop():
    """g_shop and g_log hold one table by a member each; the table's 17th element holds the item,
    an index block holds the table by another way."""
    snap = Snap()
    a, b = snap.type("struct A", 0, 12), snap.type("struct B", 0, 12)
    item = snap.type("struct item", 0, 12)
    snap.record("member", a, 8, "x", "struct item *")
    snap.record("member", b, 0, "table", "struct item *[32]")
    snap.record("member", b, 136, "table[17]", "struct item *")
    blocks = [snap.block(2, a), snap.block(32, b), snap.block(5, item), snap.block(6, item)]
    snap.edge(blocks[0], blocks[2], 1)
    snap.edge(blocks[1], blocks[2], 17)
    snap.edge(blocks[2], blocks[3], 0)
    snap.root(blocks[0], "g_shop", "global", "shop", "shop.c")
    snap.root(blocks[1], "g_log", "global", "shop", "log.c")
    return snap, [len(snap.tree()) + block for block in blocks]


def fields_have_names():
    snap, (_, _, item, _) = shop()
    path = snap.write()
    out = run("paths", path, "--to", f"#{item}", "--cut").out
    for line in ["two fields keep all of it: `struct A.x` and `struct B.table[17]`\n",
                 "nearest to the roots: `g_shop` and `g_log`\n",
                 "without them 11 words in 2 objects are freed\n"]:
        check(line in out, f"no '{line}' in: {out}")
    found = run("paths", path, "--to", f"#{item}", "--cut", "--json").json()
    equal(found["schema"], "heapsnap.paths/1", "schema")
    equal(found["target"]["id"], f"#{item}", "target")
    cut = found["cut"]
    equal([cut[key] for key in ("size", "at_least", "complete", "freed_words", "freed_objects")],
          [2, 2, True, 11, 2], "the cut")
    equal([p["name"] for p in cut["near_roots"]], ["g_shop", "g_log"], "near the roots")
    equal([p["kind"] for p in cut["near_roots"]], ["root"] * 2, "kinds near the roots")
    equal([(p["kind"], p["type"], p["place"], p["offset"], p["field"])
           for p in cut["near_object"]],
          [("field", "struct A", "x", 8, 1), ("field", "struct B", "table[17]", 136, 17)],
          "near the object")
    equal([p["expression"] for p in cut["near_object"]], ["g_shop->x", "g_log->table[17]"],
          "how they are come to")
    rows = run("paths", path, "--to", f"#{item}", "--cut", "--format", "tsv").out.splitlines()
    equal([row.split("\t")[:2] for row in rows],
          [["near", "kind"], ["roots", "root"], ["roots", "root"], ["object", "field"],
           ["object", "field"]], "TSV")
    one = run("paths", path, "--to", f"#{item}", "--cut", "--format", "ndjson").out.splitlines()
    equal(json.loads(one[0]), found, "NDJSON")


def one_keeper():
    snap, (_, _, item, under) = shop()
    path = snap.write()
    out = run("paths", path, "--to", f"#{under}", "--cut").out
    check("one field keeps all of it: `struct item+0`\n" in out, out)
    cut = run("paths", path, "--to", f"#{under}", "--cut", "--json").json()["cut"]
    equal([p["id"] for p in cut["near_roots"]], [f"#{item}"], "what several roots share")
    out = run("paths", path, "--to", "root:g_shop", "--cut").out # a root: what it points to
    check("one root keeps all of it: `g_shop`\n" in out, out)
    check("nearest to the roots" not in out, out)


def kept_by_many():
    snap = Snap()
    snap.type("t")
    only = snap.block(3)
    for at in range(5):
        snap.root(only, f"A.v{at}")
    path = snap.write()
    target = f"#{len(snap.tree())}"
    out = run("paths", path, "--to", target, "--cut").out
    check("more than 4 ways that share nothing keep it" in out, out)
    check("it would take letting go of: A.v0, A.v1, A.v2, A.v3, A.v4\n" in out, out)
    cut = run("paths", path, "--to", target, "--cut", "--json").json()["cut"]
    equal([cut[key] for key in ("size", "at_least", "complete", "near_roots", "near_object")],
          [None, 5, False, [], []], "the cut")


def kept_by_very_many():
    """No more than ten places are told: sources, or binaries where these are more."""
    for n_files, told in [(2, "variables of f0.c in app (6), variables of f1.c in app (6), "
                              "calls of thread 7 (1)"),
                          (12, "variables of app (12), calls of thread 7 (1)")]:
        snap = Snap()
        snap.type("t")
        only = snap.block(3)
        for at in range(12):
            snap.root(only, f"v{at}", binary="app", module="app", unit=f"f{at % n_files}.c",
                      file=f"f{at % n_files}.c", symbol=f"v{at}")
        snap.root(only, "poll slot sp+0", kind="stack", binary="thread 7", unit="#1 poll", thread=7,
                  frame=1, module="libc.so.6")
        path = snap.write(f"many{n_files}.snap")
        for what in ("set:1", f"#{len(snap.tree())}"):
            out = run("paths", path, "--to", what, "--cut").out
            check(f"it would take letting go of: {told}\n" in out, out)


def not_to_be_cut():
    snap = a_snap()
    path = snap.write()
    lost = f"#{len(snap.tree()) + 11}"
    out = run("paths", path, "--to", lost, "--cut").out
    check("nothing keeps it\n" in out, out)
    cut = run("paths", path, "--to", lost, "--cut", "--json").json()["cut"]
    equal([cut["size"], cut["complete"], cut["freed_words"]], [0, True, 0], "of a lost block")
    found = run("paths", path, "--to", "#0", "--cut", code=2)
    check("is a group of roots" in found.err, found.err)
    found = run("paths", path, "--to", "site:a", "--cut", code=2)
    check("--cut frees one object" in found.err, found.err)


def one_is_the_dominator():
    """A cut of one is the immediate dominator; there is none where that is a group of roots."""
    n_one = 0
    for seed in range(40):
        snap = random_snap(7000 + seed)
        path = snap.write()
        graph = snap.graph()
        idom, _ = dominators(graph.retaining)
        levels = [node[1] for node in snap.tree()]
        for target in range(graph.n_tree, len(graph.words), 4):
            cut = run("paths", path, "--to", f"#{target}", "--cut", "--json").json()["cut"]
            equal(cut["size"] == 0, target not in idom, f"seed {seed}: #{target} is lost")
            if target not in idom:
                continue
            is_one = idom[target] >= graph.n_tree or levels[idom[target]] >= 4
            equal(cut["size"] == 1, is_one, f"seed {seed}: one keeps #{target}")
            if is_one:
                n_one += 1
                equal(cut["near_object"][0]["id"], f"#{idom[target]}", "it is the dominator")
    check(n_one > 20, "too few cuts of one")


main(fields_have_names, one_keeper, kept_by_many, kept_by_very_many, not_to_be_cut,
     one_is_the_dominator)
END
