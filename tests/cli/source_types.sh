# Source types of OCaml: listed by head, instance or constructor, named in all three ways; paths
# read like source; variables have types. Types of other programs are not taken apart.
. "$(dirname "$0")/lib.sh"

python <<'END'
from snapcli import *

NAMES = ["Constr.t.App", "Constr.t.Lambda", "int Map.Make(Int).t", "string Map.Make(String).t",
         "(Names.Id.t * Constr.t)", "(int * (int * int)) list", "Constr.t array", "Stm.vcs ref",
         "Stm.vcs", "[ `A of int | `B ]", "module Stm", "block tag 0, 2 fields", "Dyn.Make(_).t",
         "< x : int; .. >", "Hashtbl.t.::", "string Stm.Map.t", "(A.t, B.u) M.t.Node"]


def world(is_ocaml):
    snap = Snap()
    kinds = [snap.type(name, 0, 0, 8 if name.endswith("array") else 0) for name in NAMES]
    kinds.append(snap.type("string", 252, 2))
    blocks = [snap.block(3 + at, kind) for at, kind in enumerate(kinds)]
    ref, vcs, map_, app, array = blocks[7], blocks[8], blocks[2], blocks[0], blocks[6]
    snap.edge(ref, vcs, 0)
    snap.edge(vcs, map_, 1)
    snap.edge(map_, array, 3)
    snap.edge(array, app, 2)
    snap.edge(app, blocks[17], 0)
    snap.record("member", kinds[0], 0, "0", "string")
    snap.record("member", kinds[2], 24, "r", "int Map.Make(Int).t")
    snap.record("member", kinds[7], 0, "contents", "Stm.vcs")
    snap.record("member", kinds[8], 8, "nodes", "int Map.Make(Int).t")
    snap.root(ref, "Stm.VCS", symbol="camlStm", field=63)
    for at, block in enumerate(blocks):
        if block not in (vcs, map_, app, array, ref, blocks[17]):
            snap.root(block, f"Other.x{at}", symbol="camlOther", field=at)
    if is_ocaml:
        snap.record("runtime", "ocaml", "4.14", 0)
    return snap.write("ocaml.snap" if is_ocaml else "other.snap")


path, other = world(True), world(False)


def listed(where, *options):
    found = run("types", where, "--json", *options).json()
    return {row["type"]: row["objects"] for row in found["types"]}


def groups():
    heads = listed(path)
    equal(heads["Constr.t"], 2, "both constructors")
    equal(heads["Map.Make(_).t"], 2, "both maps")
    for name in ["(_ * _)", "list", "array", "ref", "Stm.vcs", "[ `A of int | `B ]", "module Stm",
                 "block tag 0, 2 fields", "string", "Dyn.Make(_).t", "< x : int; .. >", "Hashtbl.t",
                 "Stm.Map.t", "M.t"]:
        equal(heads.get(name), 1, name)
    instances = listed(path, "--group-by", "instance")
    equal(instances["Constr.t"], 2, "constructors of an instance")
    equal(instances["int Map.Make(Int).t"], 1, "an instance")
    equal(instances["(A.t, B.u) M.t"], 1, "an instance with arguments")
    equal(sorted(listed(path, "--group-by", "constructor")), sorted(NAMES + ["string"]), "all")
    found = run("types", path, "--json", "--sort", "words").json()["types"]
    tags = {row["type"]: row["tag"] for row in found}
    equal((tags["Constr.t"], tags["string"]), (None, 252), "the tag of many is unknown")
    equal(sum(listed(path).values()), len(NAMES) + 1, "no block is lost")


def retained_of_a_group():
    """What both constructors retain, where one is above the other, counts once."""
    snap = Snap()
    a, b = snap.type("M.t.A"), snap.type("M.t.B")
    snap.block(5, a), snap.block(7, b)
    snap.edge(0, 1, 0)
    snap.root(0, "M.x")
    snap.record("runtime", "ocaml", "4.14", 0)
    rows = run("types", snap.write("group.snap"), "--json").json()["types"]
    equal([(row["type"], row["objects"], row["words"], row["retained_words"]) for row in rows],
          [("M.t", 2, 12, 12)], "one row")


def others_stay():
    equal(sorted(listed(other)), sorted(NAMES + ["string"]), "another program's types")
    run("types", other, "--of", "type:Constr.t", code=2)


def names():
    for name, n in [("Constr.t", 2), ("Constr.t.App", 1), ("Map.Make(_).t", 2), ("list", 1),
                    ("string Map.Make(String).t", 1)]:
        found = run("paths", path, "--to", "type:" + name, "--json").json()
        equal(found["instances"]["type"], name, "the name")
        equal(found["instances"]["objects"], n, "blocks of " + name)
        run("object", path, "type:" + name)
        run("types", path, "--of", "type:" + name)
    run("paths", path, "--to", "type:Constr.u", code=2)


def paths():
    found = run("paths", path, "--to", "type:string", "--json").json()["paths"][0]
    equal(found["expression"], "Stm.VCS.contents.nodes.r[2].0", "as source has it")
    table = run("paths", path, "--to", "#%d" % int(found["steps"][-1]["id"][1:])).out
    check("= Stm.VCS.contents.nodes.r[2].0" in table, table)
    check("Stm.vcs  .nodes" in table and "->" not in table, table)


def roots():
    found = run("roots", path, "--json").json()["roots"]
    types = {row["name"]: row["type"] for row in found}
    equal(types["Stm.VCS"], "Stm.vcs ref", "the variable's type")
    equal(types["Other.x1"], "Constr.t", "without its constructor")
    equal(types["Other.x11"], None, "unknown")
    check("TYPE" in run("roots", path).out, "a column")
    check("TYPE" not in run("roots", other).out, "no column without source types")


main(groups, retained_of_a_group, others_stay, names, paths, roots)
END
