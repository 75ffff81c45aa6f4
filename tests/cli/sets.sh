# parts: export
# Sets of owners, what would be freed without some roots, and how much has a named owner: against
# one search per root over the edges that take part, read from the exported tables.
. "$(dirname "$0")/lib.sh"

python <<'END'
import itertools
import re
from snapcli import *

N_GRAPHS = rounds(120)
GROUP_LEVELS = {"kind": 1, "module": 2, "unit": 3}
directory = os.path.join(WORK, "graph")


def doubtful(snap, seed):
    rng = random.Random(seed + 1)
    for outgoing in snap.edges:
        for at, (target, offset, edge_class) in enumerate(outgoing):
            if edge_class == EXACT and rng.random() < 0.2:
                outgoing[at] = (target, offset, rng.choice([INTERIOR, PAST_END, GUESSED]))
    for binaries in snap.kinds.values():
        for units in binaries.values():
            for leaves in units.values():
                for leaf in leaves:
                    leaf[4]["tier"] = rng.choice([0, 0, 0, 1, 2])
    return snap


class Truth:
    """The roots, and which of them reach each block."""
    def __init__(self, snap, path, *options):
        run("export", path, "--to", "graph", "-o", directory, *options)
        nodes = [line.split("\t") for line in open(os.path.join(directory, "nodes.tsv"))][1:]
        edges = [line.split("\t") for line in open(os.path.join(directory, "edges.tsv"))][1:]
        successors = [[] for _ in nodes]
        for row in edges:
            if row[6].strip() == "1":
                successors[int(row[0])].append(int(row[1]))
        self.tree = snap.tree()
        self.words = [0 if row[3] == "1" else int(row[2]) for row in nodes]
        self.roots = [n for n, row in enumerate(self.tree)
                      if row[1] == 4 or (row[1] == 5 and self.tree[row[0]][1] != 4)]
        reached = {root: reach(successors, root) for root in self.roots}
        self.kept = {} # frozenset of roots -> [words, objects]
        for node in range(len(self.tree), len(nodes)):
            by = frozenset(root for root in self.roots if node in reached[root])
            if by and nodes[node][3] == "0":
                sum_ = self.kept.setdefault(by, [0, 0])
                sum_[0] += self.words[node]
                sum_[1] += 1

    def group(self, root, level):
        """What has no row by this grouping is one group, of node 0."""
        if level > 1 and KINDS[self.tree[root][2]] in ("stack", "local", "register"):
            return 0
        while self.tree[root][1] > level:
            root = self.tree[root][0]
        return root

    def by_groups(self, level):
        sums = {}
        for by, (words, _) in self.kept.items():
            groups = frozenset(self.group(root, level) for root in by)
            sums[groups] = sums.get(groups, 0) + words
        return sums

    def freed(self, gone):
        return sum(words for by, (words, _) in self.kept.items() if by <= gone)


def ids(texts):
    return frozenset(int(text[1:]) for text in texts)


def found_sets(found, what):
    """As {roots: words}; ids, order and sums are checked."""
    sets, last = {}, None
    for at, row in enumerate(found["sets"]):
        equal(row["id"], f"set:{at + 1}", f"{what}: the id of a set")
        equal(row["n_roots"], len(row["roots"]), f"{what}: the roots of {row['id']}")
        check(last is None or row["retained_words"] <= last, f"{what}: the order of sets")
        last = row["retained_words"]
        sets[ids(row["roots"])] = [row["retained_words"], row["retained_objects"]]
    equal(len(sets), len(found["sets"]), f"{what}: sets are distinct")
    equal(sum(words for words, _ in sets.values()), found["shared"]["retained_words"],
          f"{what}: the sum of the sets")
    return sets


def sets_by_brute_force():
    n_sets = 0
    for seed in range(N_GRAPHS):
        snap = doubtful(random_snap(2000 + seed), seed)
        path = snap.write()
        for policy in ("firm", "conservative"):
            what = f"{policy} {seed}"
            truth = Truth(snap, path, "--policy", policy)
            found = run("roots", path, "--json", "--policy", policy).json()
            equal(found["policy"], policy, "the policy")
            sets = {by: sum_ for by, sum_ in found_sets(found, what).items() if sum_[1] != 0}
            expected = {by: sum_ for by, sum_ in truth.kept.items() if len(by) > 1}
            equal(sets, expected, f"{what}: sets")
            alone = {int(row["id"][1:]): row["retained_words"] for row in found["roots"]
                     if row["retained_words"] != 0}
            equal(alone, {next(iter(by)): words for by, (words, _) in truth.kept.items()
                          if len(by) == 1 and words != 0}, f"{what}: what one root keeps")
            n_sets += len(sets)
    check(n_sets > N_GRAPHS // 2, f"only {n_sets} sets in all")


def groups_by_brute_force():
    for seed in range(N_GRAPHS // 3):
        snap = doubtful(random_snap(3000 + seed), seed)
        path = snap.write()
        truth = Truth(snap, path)
        for group, level in GROUP_LEVELS.items():
            found = run("roots", path, "--json", "--group-by", group).json()
            sets = {}
            for row in found["sets"]:
                equal(row["id"], None, "a set of groups has no id")
                equal(row["n_groups"], len(row["groups"]), "its groups")
                sets[ids(row["groups"])] = row["retained_words"]
            expected = {by: words for by, words in truth.by_groups(level).items()
                        if len(by) > 1 and words != 0}
            equal({by: words for by, words in sets.items() if words != 0}, expected,
                  f"seed {seed}: sets of {group}")


def what_if_by_brute_force():
    for seed in range(N_GRAPHS // 3):
        snap = doubtful(random_snap(4000 + seed), seed)
        path = snap.write()
        truth = Truth(snap, path)
        rng = random.Random(seed)
        for _ in range(3):
            gone = frozenset(rng.sample(truth.roots, rng.randint(0, len(truth.roots))))
            if not gone:
                continue
            names = ",".join(f"#{root}" for root in sorted(gone))
            found = run("roots", path, "--json", "--without", names).json()["without"]
            equal(found["names"], [names], "the names")
            equal(found["freed_words"], truth.freed(gone), f"seed {seed}: without {names}")
        best = run("roots", path, "--json", "--best", "2").json()["best"]
        for n, answer in enumerate(best, 1):
            most = max((truth.freed(frozenset(some)) for k in range(n + 1)
                        for some in itertools.combinations(truth.roots, k)), default=0)
            equal(answer["freed_words"], most, f"seed {seed}: the best {n}")
            equal(truth.freed(ids(answer["roots"])), most, f"seed {seed}: what they free")
            check(answer["n_roots"] <= n, f"{answer}")


def sets_of_kinds():
    """--kind keeps the sets that a root of the kind is in."""
    path = a_known_heap()
    for kind, n in [("global", 1), ("register", 0)]:
        found = run("roots", path, "--json", "--kind", kind).json()
        equal(len(found["sets"]), n, f"sets with a {kind}")
        equal(found["shared"]["retained_words"], 20, "what is shared")
        equal(found["other_sets"]["retained_words"], 20 * (1 - n), "what is not listed")


def a_known_heap():
    """x and y share 20 words, x alone keeps 10; a register leads into both."""
    snap = Snap()
    snap.type("t")
    own, shared, nobody = snap.block(10), snap.block(20), snap.block(5)
    snap.edge(own, shared)
    snap.root(own, "x", symbol="x")
    snap.root(shared, "y", unit="Other", symbol="y")
    snap.root(shared, "register rbx", "register", "thread 1", "#1 main", tier=2)
    return snap.write()


def names_and_sums():
    path = a_known_heap()
    found = run("roots", path, "--json").json()
    equal({row["name"]: row["retained_words"] for row in found["roots"]},
          {"x": 10, "y": 0, "register rbx": 0}, "what each keeps alone")
    equal({row["name"]: row["tier"] for row in found["roots"]},
          {"x": "firm", "y": "firm", "register rbx": "doubtful"}, "tiers")
    equal((found["owned_words"], found["attributed_words"]), (10, 30), "attribution")
    equal(found["kept_by"], {"one_root_words": 10, "two_to_three_words": 20,
                             "four_to_eight_words": 0, "more_words": 0}, "by number of roots")
    text = run("roots", path).out
    check(re.search(r"set:1 +set +x, y +2 roots\n", text), text)
    check("owned 33.3 %, attributed 100.0 %" in text, text)
    careful = run("roots", path, "--json", "--policy", "conservative").json()
    equal(careful["sets"][0]["n_roots"], 3, "conservatively three share it")
    equal(careful["attributed_words"], 10, "a register is no name")
    check("without x,y: 30 words (85.7 %)" in run("roots", path, "--without", "x,y").out,
          "without both")
    check("without x: 10 words" in run("roots", path, "--without", "x").out, "without one")
    equal(run("roots", path, "--json", "--without", "set:1").json()["without"]["freed_words"], 30,
          "a set's roots")
    equal(run("roots", path, "--json", "--without", "coqtop").json()["without"]["freed_words"], 30,
          "a module's roots")
    check("2 roots free 30 words" in run("roots", path, "--best", "3").out, "the best two")


def shares_of_stripped_programs():
    """A file is an owner, a table of an allocator is none; all private memory is named."""
    snap = Snap()
    snap.type("t")
    of_file, of_two, of_many, of_tables, tops = (
        snap.block(100), snap.block(50), snap.block(40), snap.block(30),
        [snap.block(n + 1) for n in range(9)])
    place = {"binary": "app", "module": "app", "symbol": ".bss"}
    for n in range(12):
        snap.root(of_file, f".bss+{8 * n:#x}", unit="a.c", file="src/a.c", **place)
    for name, file in (("b.c", "src/b.c"), ("c.c", "src/c.c")):
        snap.root(of_two, f".bss+0x{name[0]}00", unit=name, file=file, **place)
    for n in range(12):
        for block in [of_many] + tops:
            snap.root(block, f".bss+{8 * n + 0x800:#x}", unit="(no source)",
                      variable=f".bss+{8 * n + 0x800:#x}", **place)
    for name in ("tsd_tls", "mp_"):
        snap.root(of_tables, name, unit="(no source)", binary="system: app", module="app", tier=1,
                  symbol=name, reason=64)
    snap.record("note", "rule 64 is runtime-table by rules.d/allocators.rules:6", 0)
    for owner, state, size, resident in (("glibc", 0, 4000, 3000), ("glibc", 2, 500, 500),
                                         ("stacks", 6, 80, 80), ("unclaimed", 6, 16, 16),
                                         ("data of binaries", 6, 400, 400),
                                         ("code and constants of binaries", 6, 9999, 9999)):
        snap.record("memory", owner, state, size, resident, 1)
    path = snap.write()
    found = run("roots", path, "--json").json()
    equal((found["owned_words"], found["attributed_words"]), (0, 0), "names")
    equal(found["to_files_words"], 150, "files")
    equal(found["to_objects_words"], 50 + 30 + 100 + 40 + sum(range(4, 10)), "objects")
    equal(found["to_modules_words"], 265, "modules")
    memory = found["memory"]
    equal(memory["resident_bytes"], 3000 + 500 + 80 + 16 + 400, "resident")
    equal(sum(memory[key] for key in memory if key not in ("resident_bytes", "not_resident_bytes")),
          memory["resident_bytes"], "the parts")
    equal((memory["not_resident_bytes"], memory["heap_bytes"]), (1000, 3000), "of blocks")
    first, second = run("roots", path).lines()[-2:]
    check(first == "owned 0.0 %, attributed 0.0 % of 624 words of private memory: "
          "reached 265 words, garbage 235 words, free 62 words, stacks 10 words, "
          "mappings 50 words, not read 2 words; of these 125 words of blocks are not resident",
          first)
    check("to a file 56.6 %, to at most 8 objects 97.7 %, to at most 3 modules 100.0 %; kept by 1 "
          "root 0.0 %, by 2-3 30.2 %, by 4-8 0.0 %, by more 69.8 %" in second, second)


def pointers_in_characters():
    """An arena of characters is the only way to most: a hint says what to ask, and that works."""
    snap = Snap()
    record, chars = snap.type("struct arena"), snap.type("char[4096]", form=14)
    holder, arena, inner, last = (snap.block(4, record), snap.block(512, chars),
                                  snap.block(1000, record), snap.block(500, record))
    snap.edge(holder, arena)
    snap.edge(arena, inner, 3, GUESSED)
    snap.edge(inner, last, 1)
    snap.root(holder, "arena", symbol="arena")
    snap.root(last, "register rbx", "register", "thread 1", "#1 main", tier=2)
    path = snap.write()
    found = run("roots", path, "--json").json()
    equal([row["retained_words"] for row in found["roots"] if row["name"] == "arena"], [1516],
          "doubt and a register share the last block")
    run("index", path)
    found = run("info", path)
    check("hint: 1000 words hang on words of 'char[4096]' alone" in found.err and
          "--pointers-in 'char[4096]'" in found.err, found.err)
    check("only doubtful words 1500" in found.out, found.out)
    found = run("roots", path, "--pointers-in", "arena", code=2)
    check("did you mean 'struct arena'?" in found.err, found.err)
    found = run("roots", path, "--json", "--pointers-in", "char[4096]").json()
    equal([row["retained_words"] for row in found["roots"] if row["name"] == "arena"], [2016],
          "then the register keeps nothing of it")


def bad_input():
    path = a_known_heap()
    for name, words in [("nobody", "no root"), ("set:0", "no set:0"), ("set:7", "no set:7"),
                        ("set:x", "'x' is not a"), ("#99999", "no node"), ("x,nobody", "no root")]:
        err = run("roots", path, "--without", name, code=2).err
        check(words in err and "hint: " in err, f"{name}: {err}")
    for n in ("0", "9", "x"):
        run("roots", path, "--best", n, code=2)
    check("is not a value of --policy" in run("roots", path, "--policy", "wild", code=2).err,
          "an unknown policy")
    check("no type" in run("roots", path, "--pointers-in", "char[]", code=2).err, "no such type")
    run("roots", path, "--pointers-in", "t")
    run("roots", path, "--pointers-in", "t", "--policy", "conservative", code=2)
    everything = run("roots", path, "--json", "--without", "#0").json()["without"]
    equal(everything["freed_words"], 30, "without everything")
    empty = Snap()
    empty.type("t")
    empty.block(3)
    found = run("roots", empty.write("empty.snap"), "--json", "--best", "3").json()
    equal((found["sets"], found["attributed_words"]), ([], 0), "no root at all")
    one = Snap()
    one.type("t")
    one.root(one.block(3), "only")
    found = run("roots", one.write("one.snap"), "--json", "--best", "2").json()
    equal((found["sets"], found["owned_words"]), ([], 3), "one root")


def indexes_of_policies():
    """Each policy has a file; one under another's name is told of and made anew."""
    path = a_known_heap()
    run("index", path)
    run("index", path, "--policy", "conservative")
    firm, careful = path + ".idx", path + ".conservative.idx"
    check(os.path.exists(firm) and os.path.exists(careful), "two files")
    expected = run("roots", path, "--json").out
    os.replace(careful, firm)
    os.utime(firm) # what is older than the snapshot is passed over without a word
    found = run("roots", path, "--json")
    check("is of another policy" in found.err, found.err)
    equal(found.out, expected, "the answer")
    with open(firm, "r+b") as index: # as if an older program had written it
        index.seek(8)
        index.write(b"\1")
    found = run("roots", path, "--json")
    check("is of an older version" in found.err, found.err)
    equal(found.out, expected, "the answer")


def names_that_repeat():
    """Of a large set each name is told once, those that say most first."""
    snap = Snap()
    block = snap.block(500, snap.type("t"))
    for n in range(6):
        for name in ("comp_unit", "d_reloc", f".data+{n * 8 + 8:#x}"):
            snap.root(block, name, binary=f"lib{n}.so", module=f"lib{n}.so")
    lines = run("roots", snap.write()).lines()
    row, = [line for line in lines if "set:1" in line]
    places = ", ".join(f".data+{8 * n + 8:#x} of lib{n}.so" for n in range(6))
    check(f"comp_unit, d_reloc, {places}, ..." in row, row)
    check("18 roots" in row, row)


main(a_known_heap, names_and_sums, shares_of_stripped_programs, names_that_repeat, sets_of_kinds,
     pointers_in_characters,
     bad_input, indexes_of_policies, sets_by_brute_force, groups_by_brute_force,
     what_if_by_brute_force)
END
