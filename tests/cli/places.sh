# Places as the source calls them: paths as one expression, the places of their steps and of the
# links of an object; in every format, and absent where no type says anything.
. "$(dirname "$0")/lib.sh"

python <<'END'
from snapcli import *


def a_server():
    """server.db -> redisDb[2] -> dict -> entry *[8] -> 4 entries in a row -> a text"""
    snap, at = Snap(), {}
    types = {}
    for name, form, stride, members in [
            ("struct redisDb[]", 12, 24, [(0, "expires"), (8, "dict")]),
            ("struct dict", 12, 0, [(16, "ht_table[0]"), (24, "ht_table[1]")]),
            ("struct entry *[]", 13, 8, []),
            ("struct entry", 12, 0, [(0, "key"), (8, "v.val"), (16, "next")]),
            ("block of 48 bytes", 15, 0, [])]:
        types[name] = snap.type(name, 0, form, stride)
        for offset, member in members:
            snap.record("member", types[name], offset, member, "void *")
    for name, words, type_ in [
            ("db", 6, "struct redisDb[]"), ("dict", 5, "struct dict"),
            ("table", 8, "struct entry *[]"), ("entry 0", 3, "struct entry"),
            ("entry 1", 3, "struct entry"), ("entry 2", 3, "struct entry"),
            ("entry 3", 3, "struct entry"), ("text", 6, "block of 48 bytes"),
            ("raw", 4, "block of 48 bytes"), ("end", 2, "block of 48 bytes")]:
        at[name] = snap.block(words, types[type_])
    for source, target, offset in [
            ("db", "dict", 4), ("dict", "table", 3), ("table", "entry 0", 5),
            ("entry 0", "entry 1", 2), ("entry 1", "entry 2", 2), ("entry 2", "entry 3", 2),
            ("entry 3", "text", 1), ("raw", "end", 2)]:
        snap.edge(at[source], at[target], offset)
    snap.root(at["db"], "server.db", unit="server.c", variable="server", offset=16)
    snap.root(at["raw"], "server.raw", unit="server.c", variable="server", offset=24)
    snap.root(at["end"], "last", unit="server.c", file="/usr/src/redis/src/server.c", line=7)
    return snap, at


snap, at = a_server()
path = snap.write()
n_tree = len(snap.tree())
node = {name: f"#{n_tree + number}" for name, number in at.items()}
EXPRESSION = "server.db[1].dict->ht_table[1][5]->next{x3}->v.val"


def of_paths():
    found = run("paths", path, "--to", node["text"], "--json").json()["paths"]
    equal([one["expression"] for one in found], [EXPRESSION], "the expression")
    equal([(step["type"], step["place"], step["repeat"]) for step in found[0]["steps"]],
          [("struct redisDb[]", "[1].dict", 1), ("struct dict", "ht_table[1]", 1),
           ("struct entry *[]", "[5]", 1), ("struct entry", "next", 3),
           ("struct entry", "v.val", 1), ("block of 48 bytes", None, 1)], "places")
    lines = run("paths", path, "--to", node["text"]).lines()
    equal(lines[-1].split()[-2:], ["=", EXPRESSION], "the last line")
    for text in ["struct redisDb[]  [1].dict", "struct dict  ->ht_table[1]",
                 "struct entry *[]  [5]", "struct entry  ->next", "struct entry  ->v.val"]:
        check(any(line.endswith("  " + text) for line in lines), f"no '{text}'")


def of_nothing_known():
    found = run("paths", path, "--to", node["end"], "--json").json()["paths"]
    equal([(one["expression"], one["steps"][0]["place"]) for one in found], [(None, None)] * 2,
          "nothing is made up")
    lines = run("paths", path, "--to", node["end"]).lines()
    check(not any(" = " in line for line in lines), "no expression")
    check(any(line.endswith("  global last (src/server.c:7)") for line in lines),
          "a table shows the last folder of a path")
    check("/usr/src/redis/src/server.c" in run("roots", path, "--format", "tsv").out,
          "the TSV has all of it")
    check("  src/server.c:7" in run("roots", path).out, "the listing of roots")


def of_objects():
    found = run("object", path, node["entry 1"], "--json").json()
    equal([(link["place"], link["id"]) for link in found["fields"]], [("next", node["entry 2"])],
          "its fields")
    equal([(link["place"], link["id"]) for link in found["referrers"]],
          [("next", node["entry 0"])], "the place in the one that holds it")
    found = run("object", path, node["dict"], "--json").json()
    equal([link["place"] for link in found["referrers"]], ["[1].dict"], "in an array")
    found = run("object", path, node["db"], "--json").json()
    equal([(link["place"], link["name"]) for link in found["referrers"]],
          [(None, "server.db")], "of a root there is no place")
    lines = run("object", path, node["entry 0"]).lines()
    check(any(line.startswith("points to") and line.endswith("  next: struct entry")
              for line in lines), "a field in the table")
    check(any(line.startswith("held by") and line.endswith("  struct entry *[]  [5]")
              for line in lines), "a holder in the table")
    found = run("object", path, node["raw"], "--json").json()
    equal([(link["place"], link["offset"]) for link in found["fields"]], [(None, 16)], "no member")


def what_to_ask_next():
    """Only when more than half has no few named owners, and only beside a table."""
    equal(run("roots", path).err, "", "one root keeps most")
    for n_roots, name, hint in [
            (8, "v{}", ""), (9, "v{}", "hint: most of the heap is kept by more than 8 roots "
                            "together: 'heapsnap paths "),
            (2, ".bss+{}", "hint: most of the heap is kept by roots without a name: debug "
                           "information would give them one")]:
        shared, big = Snap(), 100
        block = shared.block(big)
        for n in range(n_roots):
            shared.root(block, name.format(n), unit="a.c")
        shared.root(shared.block(big), "alone", unit="b.c")
        half = shared.write(f"half{n_roots}.snap")
        equal(run("roots", half).err, "", "half of the heap is not most")
        shared.blocks[block] = (big + 1, *shared.blocks[block][1:])
        path_of = shared.write(f"most{n_roots}.snap")
        err = run("roots", path_of).err
        check(err.startswith(hint) if hint else err == "", err)
        for format in ["json", "ndjson", "tsv"]:
            equal(run("roots", path_of, "--format", format).err, "", format)
        equal(run("roots", path_of, "--group-by", "unit").err, "", "grouped, nothing is shared")


main(of_paths, of_nothing_known, of_objects, what_to_ask_next)
END
