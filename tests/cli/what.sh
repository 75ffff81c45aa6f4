# WHAT: every spelling finds its object in every command that takes one, and what names nothing is
# exit 2 with a message that says what there is.
. "$(dirname "$0")/lib.sh"

python <<'END'
import re
import subprocess
from snapcli import *

snap = a_snap()
again = snap.block(11)
snap.root(again, "Vernac.VCS", unit="Vernac")
same = snap.block(12)
snap.root(same, "Twice.v", unit="Twice", binary="a")
snap.root(same, "Twice.v", unit="Twice", binary="b")
path = snap.write()
n_tree = len(snap.tree())
tail, lost = 5, 11 # blocks of a_snap
addresses = snap.addresses()
COMMANDS = [lambda what, **o: run("object", path, what, **o),
            lambda what, **o: run("paths", path, "--to", what, **o),
            lambda what, **o: run("dominators", path, "--from", what, **o)]


def names(what, node, leads_to=None):
    found = run("dominators", path, "--from", what, "--json").json()
    equal(found["nodes"][0]["id"], f"#{node}", what)
    found = run("object", path, what, "--json").json()
    equal(found["object"]["id"], f"#{node}", what)
    if leads_to != "nothing":
        found = run("paths", path, "--to", what, "--json").json()
        equal(found["target"]["id"], f"#{node if leads_to is None else leads_to}", what)


def refused(what, message, hint=""):
    for command in COMMANDS:
        found = command(what, code=2)
        lines = found.err.splitlines()
        check(lines[0].startswith("heapsnap: "), found.err)
        check(message in lines[0], f"no '{message}' in: {lines[0]}")
        check(hint in found.err, f"no '{hint}' in: {found.err}")
        equal(found.out, "", "standard output of a failure")


def found():
    tree = [node[5] for node in snap.tree()]
    names("1234", n_tree + tail)
    names("sample:1234", n_tree + tail)
    names("01234", n_tree + tail)
    for inside in [0, 1, 8, 799]:
        names(hex(addresses[tail] + inside), n_tree + tail)
    names(f"#{n_tree + tail}", n_tree + tail)
    names("#0", 0, "nothing")
    names("root:Stm.VCS", tree.index("Stm.VCS"), n_tree) # a root stands for what it points to
    names("root:Vernac.VCS", tree.index("Vernac.VCS"), n_tree + again)
    names("root:tables", tree.index("Summary.tables"), n_tree + 10) # one suffix
    names("root:Summary", tree.index("Summary"), "nothing") # a group
    names("type:ephemeron", n_tree + 10)
    found = run("paths", path, "--to", "type:string", "--json")
    check(found.json()["paths"], "paths to the largest instances of a type")


def printed_is_accepted():
    for row in run("roots", path, "--json").json()["roots"]:
        run("object", path, row["id"])
    for row in run("samples", path, "--json").json()["samples"]:
        if row["id"] is not None:
            run("object", path, row["sample"])
            run("object", path, row["id"])
            run("object", path, row["address"])
    for row in run("types", path, "--json").json()["types"]:
        run("object", path, "type:" + row["type"])


def unknown():
    refused("999", "no sampled allocation '999'", "hint: 'heapsnap samples")
    refused("sample:999", "no sampled allocation '999'")
    refused("1237", "is not in the heap")
    refused("99999999999999999999", "too large")
    refused("12x", "'12x' is not a count")
    refused("sample:", "is not a count")
    refused("sample:-1", "is not a count")
    refused(f"#{n_tree + len(snap.blocks)}", "there is no node", "hint: nodes are #0 to #")
    refused("#", "is not a count")
    refused("#-1", "is not a count")
    refused("0x10", "no block holds the address '0x10'")
    refused("0xffffffffffffffff", "no block holds the address")
    refused(hex(addresses[-1] + 8 * 12), "no block holds the address") # one past the last
    refused("0x", "")
    refused("0xzz", "")
    refused("root:Nobody.knows", "there is no root 'Nobody.knows'", "hint: 'heapsnap roots")
    refused("root:", "there is no root ''")
    refused("type:nothing", "there is no type 'nothing'", "hint: 'heapsnap types")
    refused("", "'' names no object", "hint: write N or sample:N")
    refused("\x1b[31m", "no root and no type is called")


def bare_names():
    tree = [node[5] for node in snap.tree()]
    names("Stm.VCS", tree.index("Stm.VCS"), n_tree)
    names("tables", tree.index("Summary.tables"), n_tree + 10)  # the end of a root's name
    found = run("object", path, "ephemeron", "--json").json()
    equal(found["object"]["type"], "ephemeron", "a type")
    refused("VCS", "2 roots are called 'VCS'", "Vernac.VCS")
    refused("Stm.VSC", "no root and no type is called 'Stm.VSC'", "did you mean root:Stm.VCS")
    refused("stm.vcs", "no root and no type is called", "did you mean root:Stm.VCS")
    refused("ephemern", "no root and no type is called", "did you mean type:ephemeron")
    refused("root:Stm.VC", "there is no root", "did you mean root:Stm.VCS")
    refused("type:strng", "there is no type", "did you mean type:string")
    check("did you mean" not in run("object", path, "Nobody.knows", code=2).err, "nothing is near")


def sites_by_name():
    again = Snap()
    again.sampler("memprof", 100)
    site = again.site(("Cache.add", "cache.ml", 12))
    block = again.block(3)
    again.root(block, "A.a")
    again.sample(7, block, site=site)
    where = again.write("sites.snap")
    out = run("paths", where, "--to", "Cache.add").out
    check(out.startswith("Cache.add: 1 samples"), out)
    check("no root and no type" in run("paths", where, "--to", "Cache.ad-", code=2).err, "no site")


def proposed_commands_work():
    """What any screen proposes does what it says when it is copied into a shell, as it stands."""
    snap = Snap()
    kind = snap.type("std::map<int, app::Job *>::node", 0, 12)
    nodes = [snap.block(10, kind) for _ in range(300)]
    shared = snap.block(9000, snap.type("block of 72000 bytes", 0, 15))
    for one, after in zip(nodes, nodes[1:] + [shared]):
        snap.edge(one, after)
    other = snap.block(500, kind)
    snap.edge(other, shared)
    snap.root(nodes[0], "app's jobs (all)", file="a.c", line=1)
    snap.root(other, ".bss+0x40", module="app", symbol=".bss", offset=64)
    for _ in range(50):
        snap.block(700, kind)
    snap.sample(12, nodes[3])
    folder = os.path.join(WORK, "a folder; #1 $HOME's")
    os.mkdir(folder)
    snap.facts["taken_ns"] = 10**18
    old = snap.write(os.path.join(folder, "old one.snap"))
    for _ in range(20):
        snap.root(snap.block(300, kind), "more", file="b.c", line=2)
    snap.facts["taken_ns"] = 2 * 10**18
    path = snap.write(os.path.join(folder, "a 'heap'.snap"))
    bin_folder = os.path.join(WORK, "bin")
    os.mkdir(bin_folder)
    os.symlink(HEAPSNAP, os.path.join(bin_folder, "heapsnap"))
    shell = dict(os.environ, PATH=bin_folder + ":" + os.environ["PATH"])
    screens = [(["suspects", path], 3), (["info", path], 1), (["leaks", path], 0),
               (["roots", path], 1), (["diff", old, path], 1),
               (["suspects", path, "--baseline", old], 3), (["paths", path, "--to", "no such"], 1),
               (["roots", path, "--without", "no such"], 1),
               (["paths", path, "--to", "job"], 1), (["roots", path, "--without", "set:99"], 1),
               (["samples", path, "--group-by", "site"], 0), (["paths", path, "--to", "12"], 0),
               (["paths", path, "--to", "#4"], 0), (["paths", path, "--to", "sample:77"], 1),
               (["paths", path, "--to", "site:none"], 0), (["object", path, "set:1"], 0)]
    for arguments, least in screens:
        done = subprocess.run([HEAPSNAP, *arguments], capture_output=True, text=True)
        said = done.stdout + done.stderr
        found = re.findall(r"^(?: +|[A-Z][\w ]+: )(heapsnap .*)$", said, re.M)
        found += re.findall(r"\((?:more: )(heapsnap suspects .*)\)$", said, re.M)
        found += re.findall(r"'(heapsnap (?:[^'\\]|\\.)*)'", said)
        check(len(found) >= least, f"{arguments} proposes {found}: {said}")
        for command in found:
            done = subprocess.run(["bash", "-c", command], env=shell, capture_output=True)
            equal(done.returncode, 0, f"exit code of {command}: {done.stderr}")


def one_spelling():
    """A root is called the same by all commands: by itself with its place, among others without."""
    snap = Snap()
    kind = snap.type("t", 0, 12)
    names = {  # name: by itself, among others, how it was made
        "server": ("server (src/server.c:86)", "server",
                   dict(file="/build/app/src/server.c", line=86, module="app", symbol="server")),
        "__main__.Feed.all": ("__main__.Feed.all (feed.py)", "__main__.Feed.all",
                              dict(file="feed.py", module="__main__")),
        "work() local backlog": ("work() local backlog (feed.py:44, thread 7)",
                                 "work() local backlog",
                                 dict(kind="stack", file="feed.py", line=44, thread=7, frame=1,
                                      function="work")),
        "poll saved r12": ("poll saved r12 (on the stack, thread 7)", "poll saved r12",
                           dict(kind="stack", thread=7, frame=2, function="poll")),
        ".bss+0x40": (".bss+0x40 (libx.so, used by x_open)", ".bss+0x40 used by x_open",
                      dict(module="libx.so", symbol=".bss", offset=64, function="x_open")),
        ".bss+0x48": (".bss+0x48 (liby.so)", ".bss+0x48 of liby.so",
                      dict(module="liby.so", symbol=".bss", offset=72)),
        "lctx+0x8": ("lctx+0x8 (app)", "lctx+0x8", dict(module="app", symbol="lctx", offset=8)),
    }
    blocks = {}
    for number, (name, (_, _, made)) in enumerate(names.items()):
        blocks[name] = snap.block(500 + number, kind)
        thread = f"thread {made['thread']}" if "thread" in made else made["module"]
        snap.root(blocks[name], name, binary=thread, unit=f"#1 u{number}", **made)
    shared = snap.block(2000, kind)
    for block in blocks.values():
        snap.edge(block, shared)
    path = snap.write("spelling.snap")
    said = " ".join(run("suspects", path, "-n", "0", "--threshold", "1").out.split())
    info = " ".join(run("info", path).out.split())
    ids = {r["name"]: r["id"] for r in run("roots", path, "--json").json()["roots"]}
    for name, (alone, _, made) in names.items():
        check(f". {alone} alone keeps " in said, f"suspects: {alone}: {said}")
        to = f"#{len(snap.tree()) + blocks[name]}"
        line = f" {made.get('kind', 'global')} {alone}\n"
        check(line in run("paths", path, "--to", to).out, f"paths: {alone}")
        check(f"retained by {ids[name]} {name}\n" in run("paths", path, "--to", to).out, name)
        check(f"  {name}" in run("object", path, ids[name]).out, f"object: {name}")
    for name, (alone, _, made) in names.items():
        text = run("paths", path, "--to", "type:t").out
        check(f"{made.get('kind', 'global')} {alone}" in text, f"merged paths: {alone}: {text}")
    for name in ("lctx+0x8", ".bss+0x48"):
        check(f" of the heap: {names[name][0]}" in info, f"info: {info}")
    order = ["server", "lctx+0x8", "__main__.Feed.all", "work() local backlog", "poll saved r12",
             ".bss+0x40", ".bss+0x48"]
    several = [names[name][1] for name in order]
    row, = [line for line in run("roots", path).lines() if "set:1" in line]
    check(", ".join(several) in row, f"roots: {row}")
    check(f"(set:1: {', '.join(several[:3])}, ...) keep" in said, f"suspects: {said}")
    label = f"set:1: 7 roots: {', '.join(several)}"
    check(label in run("paths", path, "--to", "set:1").out, "paths --to set:1")
    check(label in run("dominators", path, "--from", "set:1").out, "dominators --from set:1")


def sets():
    """What two roots hold together is set:1 here."""
    both = Snap()
    both.type("t")
    held, under = both.block(5), both.block(7)
    both.edge(held, under)
    both.root(held, "A.a")
    both.root(held, "B.b", unit="B")
    where = both.write("sets.snap")
    top = f"#{len(both.tree())}"
    found = run("object", where, "set:1", "--json").json()
    one = found["set"]
    equal((one["id"], one["n_roots"], one["n_tops"], one["retained_words"]), ("set:1", 2, 1, 12),
          "the set")
    equal([root["name"] for root in one["roots"]], ["A.a", "B.b"], "its roots")
    equal([(t["id"], t["retained_words"]) for t in found["tops"]], [(top, 12)], "its top unit")
    lines = run("object", where, "set:1").lines()
    equal(lines[0], "set:1: 2 roots keep 12 words in 2 objects together", "in a sentence")
    kept = run("object", where, f"#{len(both.tree()) + 1}", "--json").json()["object"]
    equal((kept["root"], kept["set"]["id"]), (None, "set:1"), "who keeps a block below")
    check("kept by set:1" in run("object", where, top).out, "in the table")
    found = run("paths", where, "--to", "set:1", "--json").json()
    equal([(t["root"]["name"], t["objects"], t["words"]) for t in found["tree"]],
          [("A.a", 2, 12)], "one tree")
    equal((found["set"]["id"], found["target"]["set"]["id"]), ("set:1", "set:1"), "of paths")
    check("several share it\nset:1: 2 roots: A.a, B.b\n" in run("paths", where, "--to", top).out,
          "who shares it")
    cut = run("paths", where, "--to", "set:1", "--cut", "--json").json()["cut"]
    equal([p["name"] for p in cut["near_object"]], ["A.a", "B.b"], "what keeps all of it")
    rows = run("dominators", where, "--from", "set:1", "--json").json()["nodes"]
    equal([(r["id"], r["depth"], r["retained_words"]) for r in rows],
          [(None, 0, 12), (top, 1, 12), (f"#{len(both.tree()) + 1}", 2, 7)], "dominators")
    equal(rows[0]["name"], "set:1: 2 roots: A.a, B.b", "the first row")
    types = run("types", where, "--of", "set:1", "--json").json()["types"]
    equal([(t["type"], t["objects"], t["words"]) for t in types], [("t", 2, 12)], "types --of")
    for command in (["paths", where, "--to", "set:2"], ["dominators", where, "--from", "set:2"],
                    ["types", where, "--of", "set:2"]):
        found = run(*command, code=2)
        check("there are 1: set:1 to set:1" in found.err, found.err)
    for what, message in [("set:2", "there is no owner set 'set:2'"), ("set:0", "no owner set"),
                          ("set:x", "not a count"), ("set:", "not a count")]:
        found = run("object", where, what, code=2)
        check(message in found.err, found.err)
    check("there are 1: set:1 to set:1" in run("object", where, "set:9", code=2).err, "how many")
    alone = Snap()
    alone.root(alone.block(3), "A.a")
    found = run("object", alone.write("alone.snap"), "set:1", code=2)
    check("no blocks are kept by several roots together" in found.err, found.err)


def groups_have_no_paths():
    for what in ["#0", "root:Summary", "root:globals"]:
        found = run("paths", path, "--to", what, code=2)
        check("is a group of roots" in found.err and "\nhint: " in found.err, found.err)
    found = run("paths", path, "--to", "root:Stm.empty", code=2)
    check("points to no block" in found.err, found.err)
    found = run("paths", path, code=2)
    check("'paths' needs --to WHAT" in found.err and "\nhint: " in found.err, found.err)


def ambiguous():
    refused("root:VCS", "2 roots are called 'VCS'", "Stm.VCS")
    refused("root:VCS", "2 roots are called 'VCS'", "Vernac.VCS")
    refused("root:Twice.v", "2 roots are called 'Twice.v'", "hint: name one of them: #")


def of_a_heap_without_samples():
    bare = Snap()
    bare.root(bare.block(3), "A.a")
    found = run("paths", bare.write("bare.snap"), "--to", "5", code=2)
    check("the program was not sampling" in found.err, found.err)
    check("hint: " in found.err, found.err)


def four_cases():
    """The four answers about a sampled allocation: one root keeps it, several do, none does, and
    it is not in the heap at all."""
    texts = [run("paths", path, "--to", id, code=None) for id in (1234, 1235, 1236, 1237)]
    equal([t.code for t in texts][:2], [0, 0], "kept by one root, by several")
    answers = {t.out + t.err for t in texts}
    equal(len(answers), 4, "distinct answers")
    check("Stm.VCS" in texts[0].out, texts[0].out)
    check("Stm.VCS" in texts[1].out and "Summary.tables" in texts[1].out, texts[1].out)
    check("no root reaches" in texts[2].out + texts[2].err, texts[2].out + texts[2].err)


main(proposed_commands_work, one_spelling, found, printed_is_accepted, unknown, bare_names,
     sites_by_name, sets, groups_have_no_paths, ambiguous, of_a_heap_without_samples, four_cases)
END
