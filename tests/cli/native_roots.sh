# What programs of C have and those of OCaml have not: variables of several slots are one root,
# threads and frames one row each, and info says where the memory was.
. "$(dirname "$0")/lib.sh"

python <<'END'
from snapcli import *

GLIBC = {"live": (0, 800, 700, 5), "cached": (1, 64, 64, 2), "free": (2, 4096, 0, 1)}


def a_server():
    """server has the slots db (to a table of 10 + 20 words) and last (to its entry); count is a
    variable of one slot. Thread 8 has a stack, a register and a thread-local variable."""
    snap = Snap()
    snap.facts["resident_bytes"] = 1000
    table = snap.type("struct entry[]", 0, 12, 24)
    text = snap.type("block of 160 bytes", 0, 15)
    snap.record("member", table, 0, "key", "char *")
    snap.block(10, table)
    snap.block(20, text)
    snap.block(5, text)
    snap.edge(0, 1, 3, 1)
    place = {"module": "server", "symbol": "server", "file": "server.c", "line": 70}
    snap.root(0, "server.db", unit="server.c", variable="server", offset=16,
              address=0x5500001010, **place)
    snap.root(1, "server.last", unit="server.c", variable="server", offset=32,
              address=0x5500001020, **{"class": 1}, **place)
    snap.root(2, "count", unit="server.c", symbol="count", module="server")
    here = {"thread": 8, "frame": 1}
    for words, kind, unit, name, more in [
            (2, "register", "#1 main", "rax", here), (3, "stack", "#1 main", "sp+8", here),
            (4, "tls", "tls.c", "errors", {"thread": 8}),
            (6, "stack", "#2 start", "sp+64", {"thread": 8, "frame": 2})]:
        snap.root(snap.block(words, text), name, kind, "thread 8", unit, **more)
    both = snap.block(7, text)  # of the register and the first stack slot
    snap.edge(3, both, 0)
    snap.edge(4, both, 0)
    snap.record("binary", "/usr/bin/server", "a1b2c3", 0x5500000000, 1, 0)
    snap.record("binary", "/usr/lib/libold.so", "", 0x5600000000, 1, 0)
    snap.record("binary", "/usr/lib/libc.so.6", "00ff", 0x7f0000000000, 1, 1,
                "/usr/lib/debug/.build-id/00/ff.debug")
    for state, size, resident, n in GLIBC.values():
        snap.record("memory", "glibc", state, size, resident, n)
    for name, version in [("glibc", "2.36"), ("jemalloc", "5.3"), ("cpython", "3.11")]:
        snap.record("runtime", name, version, 1)
    return snap


snap = a_server()
path = snap.write()
tree = snap.tree()
node = {name: at for at, (_, _, _, _, _, name, _) in enumerate(tree)}


def variables_are_roots():
    found = run("roots", path, "--json").json()
    equal([(r["name"], r["retained_words"]) for r in found["roots"]],
          [("server", 30), ("sp+64", 6), ("count", 5), ("errors", 4), ("sp+8", 3), ("rax", 2)],
          "the rows")
    server = found["roots"][0]
    for key, value in {"id": "#4", "kind": "global",
                       "group": ["globals", "coqtop", "server.c"], "symbol": "server",
                       "offset": None, "field": None, "file": "server.c", "line": 70}.items():
        equal(server[key], value, f"server: {key}")
    equal(run("info", path, "--json").json()["roots"], 6, "roots")
    equal(found["shared"]["retained_words"], 7, "shared")


def paths_tell_the_slot():
    text = f"#{len(tree) + 1}"
    found = run("paths", path, "--to", text, "--json").json()
    equal(found["target"]["retaining_root"]["name"], "server", "who retains it")
    equal(len(found["paths"]), 1, "one path for each root")
    one = found["paths"][0]
    equal((one["root"]["name"], one["length"]), ("server", 1), "the root")
    equal(one["slot"], {"id": f"#{node['server.last']}", "name": "server.last", "offset": 32,
                        "field": None, "address": "0x5500001020", "class": "interior",
                        "rule": None}, "the slot")
    found = run("paths", path, "--to", "root:count", "--json").json()
    check("slot" not in found["paths"][0], "a leaf is its own slot")
    check(any("server.last" in line for line in run("paths", path, "--to", text).lines()),
          "the table names the slot")


def names_of_roots():
    found = run("object", path, "root:server", "--json").json()
    equal(found["object"]["id"], "#4", "root:server is the variable")
    found = run("paths", path, "--to", "root:server.db", "--json").json()
    equal(found["target"]["id"], f"#{len(tree)}", "a slot leads to its block")
    targets = [run("paths", path, "--to", f"#{node[slot]}", "--json").json()["target"]
               for slot in ("server.db", "server.last")]
    largest = max(targets, key=lambda target: target["retained_words"])
    found = run("paths", path, "--to", "root:server", "--json").json()
    equal(found["target"]["retained_words"], largest["retained_words"], "what retains most of it")
    equal(found["paths"][0]["root"]["name"], "server", "the root of what root:server leads to")
    said = run("paths", path, "--to", "root:server").out
    check("server is a variable of several slots" in said and "server.db" in said and
          "server.last" in said, said)


def threads_and_frames():
    found = run("roots", path, "--json", "--group-by", "thread").json()
    equal([(r["name"], r["kind"], r["thread"], r["retained_words"]) for r in found["roots"]],
          [("thread 8", "stack", 8, 22)], "threads")
    equal(found["shared"]["retained_words"], 0, "what parts keep together is the thread's")
    found = run("roots", path, "--json", "--group-by", "frame").json()
    equal([(r["name"], r["frame"], r["retained_words"]) for r in found["roots"]],
          [("#1 main", 1, 12), ("#2 start", 2, 6)], "frames")
    found = run("roots", path, "--json", "--group-by", "unit").json()
    equal([(r["name"], r["retained_words"]) for r in found["roots"]], [("server.c", 35)], "units")
    found = run("roots", path, "--json", "--group-by", "module").json()
    equal([(r["name"], r["retained_words"]) for r in found["roots"]], [("coqtop", 35)], "modules")


def where_the_memory_was():
    found = run("info", path, "--json").json()
    equal(found["format_version"], 5, "format")
    equal(found["resident_bytes"], 1000, "resident")
    equal(found["memory"], [{"owner": "glibc", "state": name, "bytes": size,
                             "resident_bytes": resident, "blocks": n}
                            for name, (_, size, resident, n) in GLIBC.items()], "memory")
    equal([r["name"] for r in found["runtimes"]], ["glibc", "jemalloc", "cpython"], "runtimes")
    equal([b["debug_file"] for b in found["build_ids"]],
          [None, None, "/usr/lib/debug/.build-id/00/ff.debug"], "debug files")
    check("unclaimed_words" not in found, "nothing is unclaimed")
    lines = run("info", path).lines()
    total = next(line for line in lines if line.startswith("TOTAL"))
    equal(total.split()[1:3], ["1000", "100.0%"], "the total is the resident size")
    check(any(line.startswith("[not accounted for]") and "236" in line for line in lines),
          "what no row has")
    hints = [line for line in lines if line.startswith("hint ")]
    equal(len(hints), 2, "hints")
    check("'/usr/bin/server'" in hints[0] and "/usr/lib/debug/.build-id/a1/b2c3.debug" in hints[0],
          hints[0])
    check("no build-id" in hints[1], hints[1])
    rows = [line.split("\t") for line in run("info", path, "--format", "tsv").lines()]
    check(["memory", "glibc cached: 64 bytes, 64 resident, 2 blocks"] in rows, "memory in TSV")


def rows_of_one_owner_together():
    snap = a_server()
    for owner, state in [("cpython", 0), ("glibc", 3), ("cpython", 1)]:
        snap.record("memory", owner, state, 8, 8, 0)
    lines = run("info", snap.write("owners.snap")).out.split("MEMORY OF")[1].splitlines()[1:]
    equal([line.split()[:2] for line in lines[:6]],
          [["glibc", "live"], ["glibc", "cached"], ["glibc", "free"], ["glibc", "dirty"],
           ["cpython", "live"], ["cpython", "cached"]], "owners")
    many = a_server()
    for n in range(300):  # more than are put in order
        many.record("memory", f"owner {n % 7}", n % 2, 1, 1, 0)
    lines = run("info", many.write("owners.snap")).lines()
    equal(sum(line.startswith("owner ") for line in lines), 300, "none is left out")


def what_nobody_claims():
    snap = a_server()
    kept = snap.block(9, 1)
    mapping = snap.block(512, 1, STATIC | 4)
    snap.edge(mapping, kept, 7)
    snap.root(mapping, "0x7f00aa000000", "unclaimed", "mappings", "anonymous")
    path = snap.write("unclaimed.snap")
    check("unclaimed_words" not in run("info", path, "--json").json(), "there is no index yet")
    run("index", path)
    equal(run("info", path, "--json").json()["unclaimed_words"], 9, "unclaimed")
    words = run("info", path, "--json").json()["words"]

    def share():
        return next(line.split("words ")[1] for line in run("info", path).lines()
                    if line.startswith("kept by unclaimed"))
    equal(share(), f"(72 B, {100 * 9 / words:.1f}%)", "the line of the table")
    snap.record("memory", "unclaimed", 6, 8 << 20, 8 << 20, 1)
    snap.write("unclaimed.snap")
    run("index", path)
    equal(share(), f"(72 B, {100 * 9 / (words + (1 << 20)):.1f}%)", "of what is not read, too")


def symbols_have_their_binary():
    """A symbol without a file: many libraries may have one of that name."""
    lines = run("roots", path, "--format", "tsv", "-n", "0").out.splitlines()
    at = lines[0].split("\t")
    place = {row[at.index("name")]: row[at.index("place")]
             for row in (line.split("\t") for line in lines[1:])}
    equal(place["count"], "server", "the symbol's binary")


main(variables_are_roots, paths_tell_the_slot, names_of_roots, threads_and_frames,
     where_the_memory_was, rows_of_one_owner_together, what_nobody_claims,
     symbols_have_their_binary)
END
