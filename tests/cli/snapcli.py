"""Shared by the tests of the command line: describes snapshots, has make_snap write them, runs
heapsnap, and knows by brute force what it should answer."""

import json
import os
import random
import subprocess
import sys
from urllib.parse import quote_from_bytes

HEAPSNAP, MAKE_SNAP, WORK = (os.environ[name] for name in ("HEAPSNAP", "MAKE_SNAP", "WORK"))

KINDS = ["global", "dynamic_global", "c_root", "stack", "local", "register", "tls", "finaliser",
         "memprof", "hook", "registered", "unclaimed"]
KIND_NAMES = ["globals", "dynamic globals", "c_roots", "stacks", "locals", "registers", "tls",
              "finalisers", "memprof", "hooks", "registered", "unclaimed"]
SAMPLERS = ["memprof", "jemalloc", "record", "go"]
CLASSES = ["exact", "interior", "past_end", "guessed", "ephemeron", "weak", "ephemeron_off"]
EXACT, INTERIOR, PAST_END, GUESSED, EPHEMERON, WEAK, EPHEMERON_OFF = range(7)
STATIC, YOUNG = 1, 2
NO_OFFSET = 0


def has_part(name):
    """Is this part of heapsnap built (cmake/HsParts.cmake)?"""
    return "PARTS" not in os.environ or name in os.environ["PARTS"].split()


class Failure(Exception):
    pass


def rounds(n):
    """So many random heaps or places, all of them with HS_LONG=1, else half; and a tenth where a
    sanitizer makes a process cost twenty times as much: it sees in a few what it sees in all. What
    asks for them is run without it, too (less_sanitised in CMakeLists.txt)."""
    if os.environ.get("HS_LONG"):
        return n
    return max(1, n // 10 if os.environ.get("SANITIZED") else n // 2)


def check(condition, text):
    if not condition:
        raise Failure(text)


def equal(found, expected, what):
    if not found == expected:
        raise Failure(f"{what}: found {found!r}, expected {expected!r}")


class Result:
    def __init__(self, arguments, code, out, err):
        self.arguments, self.code, self.raw, self.err = arguments, code, out, err.decode()

    @property
    def out(self):
        return self.raw.decode()

    def json(self):
        return json.loads(self.raw.decode(), object_pairs_hook=unique)

    def lines(self):
        return self.out.splitlines()


def unique(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Failure(f"a key twice in {[key for key, _ in pairs]}")
    return found


def run(*arguments, code=0, stdin=None, env=None, pass_fds=()):
    """Runs heapsnap and checks its exit code (None: any)."""
    words = [HEAPSNAP] + [str(a) for a in arguments]
    done = subprocess.run(words, input=stdin, capture_output=True, pass_fds=pass_fds,
                          env={**os.environ, **(env or {})}, timeout=100)
    result = Result(arguments, done.returncode, done.stdout, done.stderr)
    if code is not None:
        check(done.returncode == code, f"heapsnap {' '.join(map(str, arguments))}: exit "
              f"{done.returncode}, expected {code}: {result.err}")
    return result


def text_of(value):
    data = value if isinstance(value, bytes) else str(value).encode()
    return quote_from_bytes(data, safe=" :;,.()[]#+-_@*")


def part(place, *keys):
    return {key: place[key] for key in keys if key in place}


class Snap:
    """A snapshot being described. Blocks are numbered from 0; roots hang below named groups."""

    def __init__(self):
        self.facts = {"pid": 4242, "command": "coqtop -q", "tool_version": "0.1.0",
                      "pause_ns": 12345678, "read_bytes": 4096, "attempts": 1}
        self.more, self.types, self.blocks, self.edges, self.samples = [], [], [], [], []
        self.samplers, self.sites = [], []
        self.reasons = {}  # (block, number of its edge) -> number of a rule
        self.kinds = {}  # kind -> binary or thread -> unit or frame -> [leaf]

    def type(self, name, tag=0, form=0, stride=0):
        self.types.append((name, tag, form, stride))
        return len(self.types) - 1

    def block(self, words, type=0, state=0, address=None):
        self.blocks.append((words, type, state, address))
        self.edges.append([])
        return len(self.blocks) - 1

    def edge(self, source, target, offset=0, edge_class=EXACT, reason=None):
        self.edges[source].append((target, offset, edge_class))
        if reason is not None:
            self.reasons[source, len(self.edges[source]) - 1] = reason

    def root(self, target, name, kind="global", binary="coqtop", unit="Stm", weak=False,
             variable=None, **more):
        """A leaf; with a variable, one slot of it."""
        units = self.kinds.setdefault(kind, {}).setdefault(binary, {})
        units.setdefault(unit, []).append((target, name, weak, variable, more))

    def sampler(self, kind, period=0, begun_ns=0, lost=0, trace=""):
        self.samplers.append((SAMPLERS.index(kind), period, begun_ns, lost, trace))
        return len(self.samplers) - 1

    def site(self, *frames):
        """Frames are (function, file, line[, module[, offset]]), the innermost first."""
        self.sites.append([frame + ("", 0)[len(frame) - 3:] for frame in frames])
        return len(self.sites) - 1

    def sample(self, id, target, n=1, words=None, state=0, sampler=0, site=None):
        if words is None:
            words = self.blocks[target][0]
        self.samples.append((id, target, n, words, state, sampler, site))

    def record(self, *fields):
        self.more.append([text_of(f) for f in fields])

    def tree(self):
        """[parent, level, kind, target, weak, name, more] of each node of the tree, by number."""
        nodes = [[0, 0, 0, None, False, "all roots", {}]]

        def add(*node):
            nodes.append(list(node))
            return len(nodes) - 1

        for kind, binaries in self.kinds.items():
            k = KINDS.index(kind)
            at_kind = add(0, 1, k, None, False, KIND_NAMES[k], {})
            for binary, units in binaries.items():
                first = next(iter(units.values()))[0][4]
                at_module = add(at_kind, 2, k, None, False, binary, part(first, "thread"))
                for unit, leaves in units.items():
                    at_unit = add(at_module, 3, k, None, False, unit,
                                  part(leaves[0][4], "thread", "frame"))
                    variables = {None: at_unit}
                    for target, name, weak, variable, more in leaves:
                        if variable not in variables:
                            place = part(more, "module", "symbol", "file", "line", "thread")
                            weak_all = all(leaf[2] for leaf in leaves if leaf[3] == variable)
                            variables[variable] = add(at_unit, 4, k, None, weak_all, variable,
                                                      place)
                        add(variables[variable], 5, k, target, weak, name, more)
        return nodes

    def addresses(self):
        address, all_of_them = 0x7F0000000000, []
        for words, _, _, wanted in self.blocks:
            address = wanted if wanted is not None else address
            all_of_them.append(address)
            address += 8 * max(words, 1)
        return all_of_them

    def describe(self):
        tree = self.tree()
        n_tree = len(tree)

        def number(block):
            return "-" if block is None else str(n_tree + block)

        lines = [("fact", key, text_of(value)) for key, value in self.facts.items()] + self.more
        for parent, level, kind, target, weak, name, more in tree:
            lines.append(("root", parent, level, kind, number(target), int(weak), text_of(name),
                          *[f"{key}={text_of(value)}" for key, value in more.items()]))
        for name, tag, form, stride in self.types or [("block", 0, 0, 0)]:
            lines.append(("type", text_of(name), tag, form, stride))
        for at, (words, type_, state, _) in enumerate(self.blocks):
            lines.append(("block", hex(self.addresses_now[at]), words, type_, state))
            for i, (target, offset, edge_class) in enumerate(self.edges[at]):
                lines.append(("edge", number(target), offset, edge_class))
                if (at, i) in self.reasons:
                    lines.append(("reason", self.reasons[at, i]))
        for sampler in self.samplers:
            lines.append(("sampler", *sampler[:4], text_of(sampler[4])))
        for id, target, n, words, state, sampler, site in sorted(self.samples,
                                                                 key=lambda s: (s[0], s[5])):
            lines.append(("sample", id, number(target), n, words, state, sampler,
                          "-" if site is None else site))
        for at, frames in enumerate(self.sites):
            for function, file, line, module, offset in frames:
                lines.append(("frame", at, text_of(function), text_of(file), text_of(module), line,
                              offset))
        return "\n".join("\t".join(map(str, line)) for line in lines) + "\n"

    def write(self, name="heap.snap"):
        self.addresses_now = self.addresses()
        path = os.path.join(WORK, name)
        subprocess.run([MAKE_SNAP, path], input=self.describe().encode(), check=True, timeout=100)
        return path

    def graph(self):
        """words and successor lists (strong; retaining) over all nodes, the tree first."""
        tree = self.tree()
        n_tree = len(tree)
        words = [0] * n_tree + [b[0] for b in self.blocks]
        static = [False] * n_tree + [bool(b[2] & STATIC) for b in self.blocks]
        strong = [[] for _ in words]
        retaining = [[] for _ in words]
        for node, (parent, level, _, target, weak, _, _) in enumerate(tree):
            if level > 0:
                strong[parent].append(node)
            if target is not None and not weak:
                strong[node].append(n_tree + target)
        for source, edges in enumerate(self.edges):
            for target, _, edge_class in edges:
                if edge_class < EPHEMERON:
                    strong[n_tree + source].append(n_tree + target)
                elif edge_class == EPHEMERON:
                    retaining[n_tree + source].append(n_tree + target)
        for node, targets in enumerate(strong):
            retaining[node] += targets
        return Graph(n_tree, words, static, strong, retaining)


class Graph:
    def __init__(self, n_tree, words, static, strong, retaining):
        self.n_tree, self.words, self.static = n_tree, words, static
        self.strong, self.retaining = strong, retaining

    def heap_words(self, nodes):
        return sum(self.words[n] for n in nodes if not self.static[n])

    def static_words(self, nodes):
        return sum(self.words[n] for n in nodes if self.static[n])


def reach(successors, start, without=None):
    """All that `start` reaches when the node `without` is taken out."""
    if start == without:
        return set()
    seen, stack = {start}, [start]
    while stack:
        for target in successors[stack.pop()]:
            if target != without and target not in seen:
                seen.add(target)
                stack.append(target)
    return seen


def dominators(successors):
    """By definition: u dominates v when v is not reached once u is taken out. Gives, for each node
    that node 0 reaches, its immediate dominator (None for node 0) and the set that it dominates."""
    live = reach(successors, 0)
    kept = {u: live - reach(successors, 0, u) for u in live}
    idom = {0: None}
    for v in live - {0}:
        above = [u for u in live if u != v and v in kept[u]]
        # The closest dominator is itself dominated by all the others.
        idom[v] = max(above, key=lambda u: sum(u in kept[w] for w in above))
    return idom, kept


def random_snap(seed, n_blocks=None, with_weak=True):
    """A small random heap: trees, sharing, cycles, self-loops, double edges, weak and ephemeron
    edges, static blocks, unreached ones, roots of all kinds, weak roots, roots without target."""
    rng = random.Random(seed)
    snap = Snap()
    types = [snap.type(name, tag) for tag, name in
             enumerate(["cons", "string", "closure Stm.observe", "custom _z"])]
    n = rng.randint(0, 24) if n_blocks is None else n_blocks
    for _ in range(n):
        snap.block(rng.randint(1, 9), rng.choice(types),
                   rng.choice([0, 0, 0, 0, STATIC, YOUNG]))
    density = rng.choice([0.5, 1.0, 1.6, 3.0])
    for source in range(n):
        n_fields = max(snap.blocks[source][0] - 1, 1)
        for _ in range(min(int(rng.expovariate(1 / density) + 0.5), n_fields)):
            near = rng.random() < 0.6
            target = min(n - 1, max(0, source + rng.randint(-2, 3))) if near else rng.randrange(n)
            classes = [EXACT] * 8 + ([EPHEMERON, WEAK, EPHEMERON_OFF] if with_weak else [])
            snap.edge(source, target, rng.randrange(n_fields), rng.choice(classes))
    for at in range(rng.choice([0, 1, 2, 4, 8])):
        kind = rng.choice(KINDS)
        target = rng.randrange(n) if n and rng.random() < 0.95 else None
        snap.root(target, f"U{at % 3}.v{at}", kind, rng.choice(["coqtop", "plugin"]),
                  f"U{at % 3}", weak=with_weak and rng.random() < 0.1)
    return snap


def a_snap():
    """One heap that has something of everything."""
    snap = Snap()
    cons = snap.type("block tag 0, 2 fields")
    string = snap.type("string", 252, 2)
    ephe = snap.type("ephemeron", 251, 7)
    code = snap.type("closure Stm.observe", 247, 1)
    cells = [snap.block(3, cons) for _ in range(5)]
    for a, b in zip(cells, cells[1:]):
        snap.edge(a, b, 1)
    tail = snap.block(100, string)
    snap.edge(cells[-1], tail, 0)
    shared = snap.block(50, string)
    closure = snap.block(4, code, STATIC)
    key, data = snap.block(2, cons), snap.block(20, string)
    table = snap.block(4, ephe)
    snap.edge(table, key, 2, WEAK)
    snap.edge(table, data, 1, EPHEMERON)
    snap.edge(key, data, 0, EPHEMERON)
    lost = snap.block(7, string)
    snap.edge(cells[0], shared, 0)
    snap.edge(table, shared, 0)
    snap.root(cells[0], "Stm.VCS", "global", "coqtop", "Stm", file="stm/stm.ml", line=318,
              symbol="camlStm", module="coqtop", offset=504, field=63, address=0x5500001000)
    snap.root(table, "Summary.tables", "global", "coqtop", "Summary", symbol="camlSummary",
              module="coqtop", offset=16, field=2, address=0x5500002000)
    snap.root(key, "Stm.observe slot sp+16", "stack", "thread 4242", "#1 Stm.observe", thread=4242,
              frame=1, function="Stm.observe", file="stm/stm.ml", line=2420, address=0x7FFF0010)
    snap.root(closure, "caml_named_value", "c_root", "coqtop", "callback.c")
    snap.root(shared, "Hook.last", "finaliser", "coqtop", "Gc", weak=True)
    snap.root(None, "Stm.empty", "global", "coqtop", "Stm")
    snap.sample(1234, tail, n=3)
    snap.sample(1235, shared, state=1)
    snap.sample(1236, lost)
    snap.sample(1237, None, words=12)
    snap.record("runtime", "ocaml", "4.14", 0)
    snap.record("proof", "words of the heap chunks", 198, 198, 1)
    snap.record("note", "interfaces of 3 units were not found", 1)
    snap.record("note", "stopped once", 0)
    snap.record("binary", "/usr/bin/coqtop", "a1b2c3", 0x550000000000, 0, 0)
    snap.record("unreadable", 0x1000, 0x2000)
    return snap


def main(*tests):
    failed = 0
    for test in tests:
        try:
            test()
        except Failure as failure:
            failed += 1
            print(f"FAILED: {test.__name__}: {failure}", file=sys.stderr)
    if failed == 0:
        print(f"{len(tests)} tests passed")
    sys.exit(1 if failed else 0)
