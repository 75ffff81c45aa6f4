# leaks: what is lost for certain and what perhaps, why, what hangs on it, what was suppressed; all
# of it adds up, by brute force too; and a script can fail on it.
. "$(dirname "$0")/lib.sh"

python <<'END'
from snapcli import *

INTERIOR, PAST_END, GUESSED, UNSURE = 1, 2, 3, 8
WHY = {"past_end": "only words one past its end lead to it",
       "guessed": "only words that need not be pointers lead to it",
       "unsure": "its owner does not tell whether it is in use",
       "below": "only possible leaks lead to it", "certain": "nothing leads to it"}


def a_program():
    """What a program of C++ may lose; blocks by name."""
    snap, at = Snap(), {}
    job = snap.type("app::Job")
    text = snap.type("char[]", 0, 15)
    node = snap.type("struct node", 0, 12)
    cell = snap.type("cell[]", 0, 12, 16)
    plain = snap.type("block of 64 bytes", 0, 15)
    for type_, offset, name in [(job, 16, "title"), (job, 24, "next"), (node, 8, "other"),
                                (cell, 8, "text")]:
        snap.record("member", type_, offset, name, "void *")

    def block(name, words, type_, state=0):
        at[name] = snap.block(words, type_, state)
        return at[name]

    def lead(source, target, offset, edge_class=EXACT):
        snap.edge(at[source], at[target], offset, edge_class)

    snap.root(block("cache", 10, cell), "cache", unit="app.cpp")
    for n in range(3):  # three jobs, each with its title; the third is held by the second
        block(f"job {n}", 6, job)
        block(f"title {n}", 4, text)
        lead(f"job {n}", f"title {n}", 2)
    lead("job 1", "job 2", 3)
    block("left", 3, node)  # a circle of two
    block("right", 3, node)
    lead("left", "right", 1)
    lead("right", "left", 1)
    block("self", 3, node)  # and of one
    lead("self", "self", 1)
    lead("cache", block("ended", 20, plain) and "ended", 2, PAST_END)
    lead("cache", block("doubted", 21, plain) and "doubted", 4, GUESSED)
    lead("ended", block("below", 22, plain) and "below", 0)
    block("pooled", 23, plain, UNSURE)
    lead("cache", block("held", 24, plain) and "held", 1, INTERIOR)
    snap.root(block("by root", 25, plain), "g_tagged", unit="app.cpp", **{"class": GUESSED})
    block("both", 26, plain)
    lead("cache", "both", 6, GUESSED)
    lead("held", "both", 0, EXACT)
    block("static", 27, plain, STATIC)  # never lost
    return snap, at


snap, at = a_program()
path = snap.write()
address = dict(zip(at, (hex(a) for a in snap.addresses())))
LOST = {"certain": 3 * 6 + 3 * 4 + 3 * 3, "possible": 20 + 21 + 22 + 23 + 25}


def leaks(*more, code=0, snapshot=path):
    return run("leaks", snapshot, *more, code=code)


def groups_of(found):
    return {(g["type"], g["words_each"]): g for g in found["groups"]}


def suppressions(text, name="known"):
    file = os.path.join(WORK, name)
    with open(file, "w") as out:
        out.write(text)
    return ["--suppressions", file]


def what_is_lost():
    found = leaks("--json").json()
    equal((found["schema"], found["collected"]), ("heapsnap.leaks/1", False), "the envelope")
    groups = groups_of(found)
    jobs, texts = groups["app::Job", 6], groups["char[]", 4]
    nodes = groups["struct node", 3]
    for group, expected in [(jobs, (3, 18, 2, 30)), (texts, (3, 12, 0, 0)), (nodes, (3, 9, 2, 9))]:
        equal((group["certainty"], group["why"]), ("certain", WHY["certain"]), group["type"])
        equal(tuple(group[key] for key in ["count", "words", "heads", "held_words"]), expected,
              f"{group['type']}: count, words, heads, held")
    equal((jobs["first"], jobs["head"], jobs["expression"]),
          (address["job 0"], address["job 0"], None), "the first job")
    equal((texts["first"], texts["head"], texts["head_type"]),
          (address["title 0"], address["job 0"], "app::Job"), "what the first title hangs on")
    equal(texts["expression"], "app::Job->title", "the path to it")
    equal([step["address"] for step in texts["path"]], [address["job 0"], address["title 0"]],
          "the steps of the path")
    for words, name, why in [(20, "ended", "past_end"), (21, "doubted", "guessed"),
                             (22, "below", "below"), (23, "pooled", "unsure"),
                             (25, "by root", "guessed")]:
        group = groups["block of 64 bytes", words]
        equal((group["certainty"], group["why"], group["first"]),
              ("possible", WHY[why], address[name]), name)
    equal(len(found["groups"]), 8, "groups")
    equal([g["certainty"] for g in found["groups"]], ["certain"] * 3 + ["possible"] * 5,
          "certain ones first")
    for certainty, words in LOST.items():
        equal(found[certainty]["words"], words, certainty)
    equal(found["suppressed"], {"count": 0, "words": 0}, "suppressed")


def all_formats():
    found = leaks("--json").json()["groups"]
    equal([json.loads(line) for line in leaks("--format", "ndjson").lines()], found, "ndjson")
    lines = [line.split("\t") for line in leaks("--format", "tsv").lines()]
    rows = [dict(zip(lines[0], line)) for line in lines[1:]]
    equal(len(rows), len(found), "rows of the TSV")
    for row, whole in zip(rows, found):
        for key in ["certainty", "count", "words", "words_each", "heads", "held_words", "first",
                    "type", "why", "expression"]:
            equal(row[key], "" if whole[key] is None else str(whole[key]), f"TSV: {key}")
    equal(len(leaks("--format", "tsv", "-n", "2").lines()), 3, "rows of the TSV with -n 2")
    lines = leaks().lines()
    equal(lines[0].split(), ["LEAK", "COUNT", "WORDS", "HELD", "FIRST", "WHAT"], "the heading")
    for line, group in zip(lines[1:], found):
        equal(line.split()[:5], [group["certainty"], *(str(group[key]) for key in [
            "count", "words", "held_words", "first"])], "a row")
    check(any(line.endswith("  char[] = app::Job->title") for line in lines), "the path's line")
    check(any(line.endswith(f"({WHY['past_end']})") for line in lines), "why it is only possible")
    equal(lines[-1].split(), ["14", str(sum(LOST.values())), "TOTAL"], "the total")
    said, = leaks().err.splitlines() # there are certain ones
    check(said.startswith("heapsnap: what cannot be seen: "), said)
    folded = leaks("-n", "1").lines()
    equal(len(folded), 4, "a heading, a row, [7 others], TOTAL")
    equal(folded[-1].split(), lines[-1].split(), "the total of a folded table")
    found = leaks("--json", "--min-words", "20").json()
    equal([g["words"] >= 20 for g in found["groups"]], [True] * 5, "--min-words")
    equal(found["others"], {"groups": 3, "count": 9, "words": 39}, "--min-words: the others")


def one_certainty():
    for certainty, other in [("certain", "possible"), ("possible", "certain")]:
        found = leaks("--json", "--certainty", certainty).json()
        equal({g["certainty"] for g in found["groups"]}, {certainty}, "--certainty")
        equal({key: found[key]["words"] for key in LOST}, LOST, "the totals stay")
        lines = leaks("--certainty", certainty).lines()
        equal(lines[-1].split()[1], str(sum(LOST.values())), "the total stays")
        check(any(line.split()[1:] == [str(LOST[other]), f"[{other}", "ones]"] for line in lines),
              "what was not asked for has a line")
    run("leaks", path, "--certainty", "sure", code=2)


def known_ones():
    more = suppressions("# known\n\n  type:^app::Job$ \ntype:no such type\r\n")
    found = leaks("--json", *more).json()
    check(("app::Job", 6) not in groups_of(found), "a suppressed type")
    equal(found["suppressed"], {"count": 6, "words": 30}, "jobs and what hangs on them")
    equal(found["certain"]["words"], 9, "the rest")
    check(any("[suppressed]" in line for line in leaks(*more).lines()), "the table's line")
    found = leaks("--json", *suppressions("type:char*]\n")).json()
    equal(found["suppressed"]["words"], 12, "what they hang on is not suppressed with them")
    equal(groups_of(found)["app::Job", 6]["held_words"], 18, "held words without them")
    found = leaks("--json", *suppressions("root:cache\n")).json()
    equal(groups_of(found)["block of 64 bytes", 20]["certainty"], "possible",
          "a root's doubtful words further down stay doubtful")
    found = leaks("--json", *suppressions("root:^g_\n")).json()
    check(("block of 64 bytes", 25) not in groups_of(found), "held by a root named in the file")
    equal(found["possible"]["words"], LOST["possible"] - 25, "it is not lost, nor suppressed")
    equal(found["suppressed"]["count"], 0, "it is not suppressed")
    equal(leaks("--json", *suppressions("")).json(), leaks("--json").json(), "an empty file")


def bad_files():
    for text, line in [("type:x\nfun:malloc\n", "fun:malloc"), ("#\ntype:\n", "type:"),
                       ("\nroot", "root"), ("\n\x1b[31m\n", None)]:
        more = suppressions(text, "bad")
        found = leaks(*more, code=2)
        check(f"line 2 of '{more[1]}'" in found.err, found.err)
        check(line is None or f"'{line}' is no suppression" in found.err, found.err)
        check("\nhint: a line is type:PATTERN" in found.err, found.err)
        check("\x1b" not in found.err, "an escape sequence was passed on")
        equal(found.out, "", "standard output")
    leaks("--suppressions", os.path.join(WORK, "no such file"), code=5)


def thresholds():
    for words, more, code in [
            (LOST["certain"], [], 0), (LOST["certain"] - 1, [], 1), (0, [], 1),
            (LOST["certain"], ["--certainty", "all"], 1),
            (sum(LOST.values()), ["--certainty", "all"], 0),
            (LOST["possible"] - 1, ["--certainty", "possible"], 1),
            (LOST["possible"], ["--certainty", "possible"], 0),
            (10, suppressions("type:app::Job"), 0), (8, suppressions("type:app::Job"), 1)]:
        for format in ["table", "json", "ndjson", "tsv"]:
            found = leaks("--fail-over", words, "--format", format, *more, code=code)
            equal(found.out, leaks("--format", format, *more).out, "the listing is the same")
            equal("more than the" in found.err, code == 1, found.err)
    check(f"{LOST['certain']} words have leaked, more than the 5 of --fail-over" in
          leaks("--fail-over", 5, code=1).err, "the message")
    certain = 8 * LOST["certain"] # as bytes: whole words of them may be lost
    for words, code in [(f"{certain}B", 0), (f"{certain - 1}B", 1), ("1k", 0), ("0.0 KiB", 1)]:
        leaks("--fail-over", words, code=code)
    least = max(g["words"] for g in leaks("--json").json()["groups"])
    for limit, bytes in [(least, 8 * least), (least, 8 * least - 7), (least + 1, 8 * least + 1)]:
        equal(leaks("--min-bytes", bytes).out, leaks("--min-words", limit).out, f"{bytes} bytes")
        equal(leaks("--min-words", f"{bytes}B").out, leaks("--min-words", limit).out, f"{bytes}B")
    for bad in ["", "-1", "1.5", "5%", "all", "18446744073709551616"]:
        check("--fail-over: " in leaks("--fail-over", bad, code=2).err, f"--fail-over '{bad}'")
    leaks("--fail-over", code=2)


def nothing_lost():
    fine = Snap()
    fine.root(fine.block(5), "all")
    name = fine.write("fine.snap")
    equal(leaks(snapshot=name).out, "no block is lost\n", "the table")
    equal(leaks("--json", snapshot=name).json()["groups"], [], "groups")
    leaks("--fail-over", 0, "--certainty", "all", snapshot=name)
    equal(len(leaks("--format", "tsv", snapshot=name).lines()), 1, "the TSV is its keys")


def garbage():
    """Of a collected heap what is lost is no leak, and called so."""
    name = a_snap().write("ocaml.snap")
    found = leaks(snapshot=name)
    check("garbage, which its collector frees" in found.err, found.err)
    equal(found.lines()[1].split()[:3], ["garbage", "1", "7"], "the row")
    found = leaks("--json", snapshot=name).json()
    equal((found["collected"], found["groups"][0]["certainty"]), (True, "certain"), "JSON")
    failed = leaks("--fail-over", 0, snapshot=name, code=1).err
    check("7 words are garbage" in failed, failed)
    both = a_snap()
    both.record("runtime", "glibc", "2.36", 0)
    name = both.write("both.snap")
    equal(leaks("--json", snapshot=name).json()["collected"], False, "a heap of glibc beside it")


def heads_of(lost, edges):
    """How many components of lost blocks no other lost block leads to."""
    inside = {n: [t for t in edges[n] if t in lost] for n in lost}
    below = {n: reach(inside, n) for n in lost}
    return len({frozenset(m for m in below[n] if n in below[m]) for n in lost
                if all(n in below[m] and m in below[n] for m in lost if n in below[m])})


def by_brute_force():
    n_on_stack = 0
    for seed in range(max(20, rounds(60))): # n_on_stack needs some
        rng = random.Random(seed)
        snap = random_snap(5000 + seed, rng.randint(0, 30), with_weak=False)
        for b, (words, type_, state, where) in enumerate(snap.blocks):
            if not state & STATIC and rng.random() < 0.1:
                snap.blocks[b] = (words, type_, state | UNSURE, where)
        for b, edges in enumerate(snap.edges):
            snap.edges[b] = [(t, offset, rng.choice([EXACT, EXACT, INTERIOR, PAST_END, GUESSED]))
                             for t, offset, _ in edges]
        classes, tiers = {}, {}
        for binaries in snap.kinds.values():
            for units in binaries.values():
                for leaves in units.values():
                    for target, name, _, _, more in leaves:
                        more["class"] = classes[name] = rng.choice([EXACT, PAST_END, GUESSED])
                        more["tier"] = tiers[name] = rng.choice([0, 0, 1, 2])
        snap.record("runtime", "glibc", "2.36", 0)
        name = snap.write("random.snap")
        graph = snap.graph()
        n_tree = graph.n_tree
        sure = [list(targets) for targets in graph.strong]
        stack = []
        for node, (_, level, kind, target, weak, leaf, _) in enumerate(snap.tree()):
            if level != 5:
                continue
            if classes[leaf] > INTERIOR or tiers[leaf] == 2:
                sure[node] = []
            if (classes[leaf] <= INTERIOR and tiers[leaf] == 2 and not weak and
                    target is not None and KINDS[kind] in ("stack", "local", "register")):
                stack.append(n_tree + target)
        for b, edges in enumerate(snap.edges):
            sure[n_tree + b] = [n_tree + t for t, _, kind in edges if kind <= INTERIOR]
        held, reached = reach(sure, 0), reach(graph.strong, 0)
        lost = {n_tree + b for b, (_, _, state, _) in enumerate(snap.blocks)
                if not state & STATIC and n_tree + b not in held}
        possible = {n for n in lost if n in reached or snap.blocks[n - n_tree][2] & UNSURE}
        found = leaks("--json", snapshot=name).json()
        on_stack = set().union(*(reach(sure, node) for node in stack)) & possible
        n_on_stack += len(on_stack)
        equal(found["possible_on_stack"], {"count": len(on_stack),
                                           "words": sum(graph.words[n] for n in on_stack)},
              f"seed {seed}: on stacks and in registers")
        for certainty, nodes in [("certain", lost - possible), ("possible", possible)]:
            words = sum(graph.words[n] for n in nodes)
            equal(found[certainty], {"count": len(nodes), "words": words},
                  f"seed {seed}: {certainty}")
            rows = [g for g in found["groups"] if g["certainty"] == certainty]
            equal(sum(g["words"] for g in rows), found[certainty]["words"], f"seed {seed}: groups")
            for group in rows:
                equal(group["words"], group["words_each"] * group["count"], "words of a group")
        equal(sum(g["held_words"] for g in found["groups"]), sum(graph.words[n] for n in lost),
              f"seed {seed}: held words")
        equal(sum(g["heads"] for g in found["groups"]), heads_of(lost, sure), f"seed {seed}: heads")
        known = leaks("--json", *suppressions("type:string\n"), snapshot=name).json()
        equal(sum(known[key]["words"] for key in ["certain", "possible", "suppressed"]),
              sum(graph.words[n] for n in lost), f"seed {seed}: with suppressions")
    check(n_on_stack > rounds(3), "some hang on stacks and registers")


def arenas():
    """Of what a block of characters leads to it is known to live when such blocks hold pointers."""
    snap = Snap()
    text, plain = snap.type("char[]", 0, 15), snap.type("block of 24 bytes", 0, 15)
    arena, inside, below = snap.block(9, text), snap.block(3, plain), snap.block(5, plain)
    snap.root(arena, "arena")
    snap.edge(arena, inside, 2, GUESSED)
    snap.edge(inside, below, 0)
    name = snap.write("arena.snap")
    for more, words in [([], 8), (["--policy", "conservative"], 8),
                        (["--pointers-in", "char[]"], 0)]:
        found = leaks("--json", *more, snapshot=name).json()
        equal((found["possible"]["words"], found["certain"]["words"]), (words, 0), more)


def long_chains():
    """A list of 300 lost elements is one head, and its path is folded."""
    snap = Snap()
    node, text = snap.type("struct item", 0, 12), snap.type("char[]", 0, 15)
    snap.record("member", node, 0, "next", "struct item *")
    snap.record("member", node, 8, "text", "char *")
    snap.root(None, "empty")
    items = [snap.block(3, node) for _ in range(300)]
    for a, b in zip(items, items[1:]):
        snap.edge(a, b, 0)
    snap.edge(items[-1], snap.block(9, text), 1)
    snap.record("runtime", "glibc", "2.36", 0)
    groups = groups_of(leaks("--json", snapshot=snap.write("chain.snap")).json())
    equal((groups["struct item", 3]["heads"], groups["struct item", 3]["held_words"]), (1, 909),
          "one head holds all")
    equal(groups["char[]", 9]["expression"], "struct item->next{x299}->text", "the path")


def sizes_of_one_kind():
    """Texts of many sizes that hang alike are one row, with their sizes as a range; to a script
    they are a group each. No row is broken."""
    snap = Snap()
    job, text = snap.type("app::Job"), snap.type("char[]", 0, 14)
    snap.record("member", job, 16, "title", "char *")
    snap.root(snap.block(10, job), "cache")
    for n in range(24):
        one, title = snap.block(6, job), snap.block(3 + n, text)
        snap.edge(one, title, 2)
    name = snap.write("sizes.snap")
    rows = [line for line in run("leaks", name).lines() if "char[]" in line]
    equal(len(rows), 1, "rows of the texts")
    words = sum(3 + n for n in range(24))
    equal(rows[0].split()[:4], ["certain", "24", str(words), "0"], "their sums")
    check(rows[0].endswith("char[] = app::Job->title, 24 B to 208 B each"), rows[0])
    groups = run("leaks", name, "--json", "-n", "0").json()["groups"]
    equal(sum(g["type"] == "char[]" for g in groups), 24, "groups of the texts")
    lines = run("leaks", name, env={"COLUMNS": "60"}).lines()
    equal([line.split()[0] for line in lines[1:-1]], ["certain"] * 2, "a row is a line")


main(what_is_lost, all_formats, one_certainty, known_ones, bad_files, thresholds, nothing_lost,
     garbage, by_brute_force, arenas, long_chains, sizes_of_one_kind)
END
