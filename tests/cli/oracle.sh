# parts: export
# An independent oracle through the door that users have: the exported graph of several hundred
# small random heaps, with weak, ephemeron and unreached parts, against dominators by their
# definition (a node dominates what is no longer reached once it is taken out).
. "$(dirname "$0")/lib.sh"

python <<'END'
from snapcli import *

N_GRAPHS = rounds(int(os.environ.get("ORACLE_GRAPHS", "400")))
directory = os.path.join(WORK, "graph")


def table(name, keys):
    lines = open(os.path.join(directory, name)).read().split("\n")
    equal(lines[0].split("\t"), keys, f"the header of {name}")
    equal(lines.pop(), "", f"{name} ends with a newline")
    rows = [line.split("\t") for line in lines[1:]]
    for row in rows:
        equal(len(row), len(keys), f"cells in {name}: {row}")
    return rows


def exported(path, *options):
    run("export", path, "--to", "graph", "-o", directory, *options)
    nodes = table("nodes.tsv", ["id", "address", "words", "static", "type", "idom",
                                "retained_words", "tier"])
    edges = table("edges.tsv", ["from", "to", "offset", "strength", "class", "tier", "used"])
    equal([row[0] for row in nodes], [str(n) for n in range(len(nodes))], "ids are plain and dense")
    return nodes, edges


def against_definition(nodes, edges, what):
    """Uses nothing but the two tables."""
    successors = [[] for _ in nodes]
    for source, target, _, strength, edge_class, _, used in edges:
        check(strength in ("strong", "weak"), f"{what}: strength {strength}")
        check(edge_class in CLASSES, f"{what}: class {edge_class}")
        check(used in ("01" if strength == "strong" else "0"), f"{what}: {strength}, used {used}")
        if used == "1":
            successors[int(source)].append(int(target))
    idom, kept = dominators(successors)
    words = [0 if row[3] == "1" else int(row[2]) for row in nodes]
    for node, row in enumerate(nodes):
        expected = "-" if idom.get(node) is None else str(idom[node])
        equal(row[5], expected, f"{what}: the dominator of {node}")
        equal(int(row[6]), sum(words[n] for n in kept.get(node, ())),
              f"{what}: what {node} retains")
    return idom


def by_the_rule(nodes, edges, what):
    """Tiers and `used` out of nothing but strengths, classes and the tiers of roots."""
    tier = [None] * len(nodes)
    tier[0] = 0
    strong = [(int(row[0]), int(row[1]), int(row[5])) for row in edges if row[3] == "strong"]
    changed = True
    while changed:
        changed = False
        for source, target, own in strong:
            if tier[source] is None:
                continue
            way = max(tier[source], own)
            if tier[target] is None or way < tier[target]:
                tier[target] = way
                changed = True
    for node, row in enumerate(nodes):
        equal(row[7], "-" if tier[node] is None else str(tier[node]), f"{what}: tier of {node}")
    for source, target, _, strength, edge_class, own, used in edges:
        source, target, own = int(source), int(target), int(own)
        if target >= n_roots(nodes):
            equal(own, 2 if edge_class in ("past_end", "guessed") else 0,
                  f"{what}: tier of {edge_class}")
        takes_part = (strength == "strong" and tier[source] is not None and
                      max(tier[source], own) <= tier[target])
        equal(used, str(int(takes_part)), f"{what}: whether {source} -> {target} is used")


def n_roots(nodes):
    return sum(row[2] == "0" for row in nodes)


def against_description(snap, nodes, edges, what):
    """The tables hold the heap that was described."""
    tree, addresses = snap.tree(), snap.addresses()
    n_tree = len(tree)
    equal(len(nodes), n_tree + len(snap.blocks), f"{what}: nodes")
    for at, (words, type_, state, _) in enumerate(snap.blocks):
        row = nodes[n_tree + at]
        equal(row[1:5], [hex(addresses[at]), str(words), str(state & STATIC), snap.types[type_][0]],
              f"{what}: block {at}")
    expected = []
    for node, (parent, level, _, target, weak, _, _) in enumerate(tree):
        if level > 0:
            expected.append((parent, node, 0, "strong"))
        if target is not None:
            expected.append((node, n_tree + target, 0, "weak" if weak else "strong"))
    for source, outgoing in enumerate(snap.edges):
        for target, offset, edge_class in outgoing:
            strength = "strong" if edge_class <= EPHEMERON else "weak"
            expected.append((n_tree + source, n_tree + target, 8 * offset, strength))
    found = [(int(a), int(b), int(c), d) for a, b, c, d, _, _, _ in edges]
    equal(sorted(found), sorted(expected), f"{what}: edges")


def random_graphs():
    shapes = {"unreached": 0, "shared": 0, "weak": 0, "deep": 0}
    for seed in range(N_GRAPHS):
        snap = random_snap(seed)
        path = snap.write()
        nodes, edges = exported(path)
        against_description(snap, nodes, edges, f"seed {seed}")
        idom = against_definition(nodes, edges, f"seed {seed}")
        n_tree = len(snap.tree())
        shapes["unreached"] += len(idom) < len(nodes)
        shapes["weak"] += any(row[3] == "weak" for row in edges)
        shapes["shared"] += any(d is not None and d < n_tree and snap.tree()[d][1] < 4
                                for v, d in idom.items() if v >= n_tree)
        shapes["deep"] += any(d is not None and d >= n_tree for d in idom.values())
    for shape, count in shapes.items():
        check(count >= N_GRAPHS // 10, f"only {count} of {N_GRAPHS} graphs are {shape}")


def random_tiers():
    """The rule of tiers, and the tree that comes of it; conservatively all edges are used."""
    moved = 0
    for seed in range(N_GRAPHS // 2):
        snap = random_snap(seed)
        rng = random.Random(seed + 1)
        for outgoing in snap.edges:
            for at, (target, offset, edge_class) in enumerate(outgoing):
                if edge_class == EXACT and rng.random() < 0.3:
                    outgoing[at] = (target, offset, rng.choice([INTERIOR, PAST_END, GUESSED]))
        for binaries in snap.kinds.values():
            for units in binaries.values():
                for leaves in units.values():
                    for leaf in leaves:
                        leaf[4]["tier"] = rng.choice([0, 0, 1, 2])
                        leaf[4]["class"] = rng.choice([EXACT, EXACT, INTERIOR, GUESSED])
        path = snap.write()
        nodes, edges = exported(path)
        by_the_rule(nodes, edges, f"tiers {seed}")
        firm = against_definition(nodes, edges, f"tiers {seed}")
        nodes, edges = exported(path, "--policy", "conservative")
        all_of_them = against_definition(nodes, edges, f"conservative {seed}")
        equal(set(firm), set(all_of_them), f"tiers {seed}: what is reached by either policy")
        for row in edges:
            reached = int(row[0]) in all_of_them or row[0] == "0"
            equal(row[6], str(int(row[3] == "strong" and reached)), f"conservative {seed}: {row}")
        moved += firm != all_of_them
    check(moved >= N_GRAPHS // 20, f"only in {moved} graphs do policies differ")


def known_shapes():
    """Shapes on which dominator algorithms go wrong."""
    def built(n, edges, roots):
        snap = Snap()
        snap.type("t")
        for at in range(n):
            snap.block(at % 7 + 20)
        for a, b in edges:
            snap.edge(a, b, len(snap.edges[a]))
        for at, target in enumerate(roots):
            snap.root(target, f"r{at}", KINDS[at % 5], unit=f"u{at % 2}")
        return snap

    ladder = [(i, j) for i in range(0, 28, 2) for j in (i + 1, i + 2, i + 3) if j < 30]
    back = [(i, i + 1) for i in range(29)] + [(i, 0) for i in range(1, 30)]
    crossed = [(0, 1), (0, 2), (1, 3), (2, 4), (3, 4), (4, 3), (3, 5), (4, 5), (5, 0)]
    dead_into_live = [(0, 1), (1, 2), (3, 2), (4, 1), (3, 4), (4, 3)]
    complete = [(i, j) for i in range(12) for j in range(12)]
    linked = [(i, i + 1) for i in range(39)] + [(i, i + 2) for i in range(0, 38, 3)] + [
        (i + 5, i) for i in range(0, 35, 4)]
    for name, snap in {"ladder": built(30, ladder, [0]), "back": built(30, back, [0, 15]),
                       "crossed": built(6, crossed, [0]), "two": built(6, crossed, [1, 2]),
                       "dead": built(5, dead_into_live, [0]), "complete": built(12, complete, [3]),
                       "loop": built(1, [(0, 0)], [0, 0]), "linked": built(40, linked, [0, 20])
                       }.items():
        nodes, edges = exported(snap.write())
        against_description(snap, nodes, edges, name)
        against_definition(nodes, edges, name)


def into_a_directory():
    path = random_snap(3, 10).write()
    made = os.path.join(WORK, "made")
    run("export", path, "--to", "graph", "-o", made)
    run("export", path, "--to", "graph", "-o", made) # again, over what is there
    equal(sorted(os.listdir(made)), ["edges.tsv", "nodes.tsv"], "what is in the directory")
    found = run("export", path, "--to", "graph", "-o", os.path.join(WORK, "no/such"), code=5)
    check("cannot make the directory" in found.err, found.err)
    run("export", path, "--to", "graph", "-o", path, code=5) # a file
    found = run("export", path, "--to", "pprofile", "-o", made, code=2)
    check("is not a value of --to" in found.err, found.err)


main(known_shapes, random_graphs, random_tiers, into_a_directory)
END
