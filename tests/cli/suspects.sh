# suspects: known culprits are named, with what, how much, through which member and who allocated
# it; no word counts twice; each command that is printed works; and a script can fail on it.
. "$(dirname "$0")/lib.sh"

mkdir "$work/bin"
ln -s "$HEAPSNAP" "$work/bin/heapsnap"
PATH=$work/bin:$PATH python <<'END'
from snapcli import *

KEYS = ["list", "sentence", "words", "objects", "roots", "n_roots", "set", "holder", "type",
        "count", "each_words", "site", "certainty", "doubtful_words", "command", "reserve", "path",
        "population", "members", "folded_roots", "cycle"]


def suspects(name, *more, **options):
    return run("suspects", name, *more, **options)


def of(name, *more):
    found = suspects(name, "--json", *more).json()
    equal(found["schema"], "heapsnap.suspects/2", "the schema")
    equal(found["attributed_words"], run("roots", name, "--json").json()["attributed_words"],
          "attributed words are those of roots")
    for row in found["suspects"]:
        equal(list(row), KEYS, "the keys of a suspect")
    return found["suspects"]


def native(snap):
    snap.record("runtime", "glibc", "2.36", 0)
    return snap


def a_table():
    """A cache of 1,000 entries with a text each; something small beside it."""
    snap = native(Snap())
    holder, slots, entry, text = (snap.type(*t) for t in [
        ("struct cache", 0, 12), ("entry *[]", 0, 13, 8), ("struct entry", 0, 12),
        ("char[]", 0, 14)])
    for type_, offset, name in [(holder, 8, "table"), (entry, 0, "text")]:
        snap.record("member", type_, offset, name, "void *")
    cache = snap.block(3, holder)
    table = snap.block(1000, slots)
    snap.edge(cache, table, 1)
    for n in range(1000):
        one, words = snap.block(3, entry), snap.block(9, text)
        snap.edge(table, one, n)
        snap.edge(one, words, 0)
    snap.root(cache, "g_cache", unit="cache.c", file="src/cache.c", line=12)
    snap.root(snap.block(4, text), "g_name", unit="cache.c")
    return snap


def an_owner():
    rows = of(a_table().write())
    equal([row["list"] for row in rows], ["owner"], "one suspect")
    row = rows[0]
    equal((row["words"], row["objects"]), (3 + 1000 + 12000, 2002), "what would be freed")
    equal((row["type"], row["count"], row["each_words"]), ("struct entry", 1000, 3), "the members")
    equal((row["holder"], row["certainty"]), ("g_cache->table", "exact"), "through what")
    equal(row["sentence"], "g_cache (src/cache.c:12) alone keeps 101.6 KiB, 100.0 % of the heap: "
          "1000 struct entry, 96 B each with what hangs on them, mostly 1000 char[] at .text, at "
          "g_cache->table.", "the first sentence has all of it")
    check(row["command"].endswith(" --to 'type:struct entry'"), row["command"])
    equal((row["path"], row["population"], row["members"], row["folded_roots"], row["cycle"]),
          ("g_cache->table", {"type": "struct entry", "objects": 1000, "bytes_each": 96,
                              "entries": None, "room": None}, [], 0, None), "for programs")
    shown(row["command"])


def a_list():
    """200,000 links are one step."""
    snap = native(Snap())
    link = snap.type("struct link", 0, 12)
    snap.record("member", link, 0, "next", "struct link *")
    links = [snap.block(2, link) for _ in range(200000)]
    for a, b in zip(links, links[1:]):
        snap.edge(a, b, 0)
    snap.root(links[0], "head", unit="list.c")
    row, = of(snap.write())
    equal((row["type"], row["count"], row["words"]), ("struct link", 200000, 400000), "the list")
    check("of the heap: 200000 struct link of 16 B each." in row["sentence"],
          row["sentence"])
    check(row["command"].startswith("heapsnap paths "), row["command"])
    shown(row["command"])


def a_few_are_most_of_it():
    """Of five buffers two are nearly all: a median would say that there is next to nothing."""
    snap = native(Snap())
    block, = [snap.type("block", 0, 0)]
    first = snap.block(8, block)
    snap.root(first, "buffers", unit="plot.c")
    for words in (60, 62, 64, 3200000, 3200000):
        following = snap.block(words, block)
        snap.edge(first, following, 0)
        first = following
    row, = of(snap.write())
    check("6 block, 48.8 MiB together, the largest 24.4 MiB." in row["sentence"], row["sentence"])
    equal(row["each_words"], 62, "the median")


def untyped_of_one_size():
    """A table of records that no type is known for: told are those of the size that has most."""
    snap = native(Snap())
    plain, slots = snap.type("block", 0, 15), snap.type("void *[]", 0, 13, 8)
    table = snap.block(300, slots)
    for n in range(300):
        one, value = snap.block(4 + n % 3, plain), snap.block(129, plain)
        snap.edge(table, one, n)
        snap.edge(one, value, 1)
    snap.root(table, "thumbs", unit="a.c")
    row = of(snap.write())[0]
    check(": 600 blocks of unknown type, mostly 300 of 1.0 KiB each." in row["sentence"],
          row["sentence"])
    check(row["command"].startswith("heapsnap types ") and " --of '#" in row["command"],
          "groups by type would be one: " + row["command"])
    shown(row["command"])


def untyped_of_many_sizes():
    """Of four sizes those are told that have most: the median would be 300 x 72 B of 22.7 KiB."""
    snap = native(Snap())
    plain, slots = snap.type("block", 0, 15), snap.type("void *[]", 0, 13, 8)
    table = snap.block(300, slots)
    for n in range(300):
        snap.edge(table, snap.block((3, 5, 9, 13)[n % 4], plain), n)
    snap.root(table, "mixed", unit="a.c")
    row = of(snap.write())[0]
    check(" 300 blocks of unknown type: 75 of 104 B, 75 of 72 B and 150 others." in row["sentence"],
          row["sentence"])


def by_members():
    """One object with two members that grow: the members are told, each with its class."""
    snap = native(Snap())
    app, node, order, text, slots = (snap.type(*t) for t in [
        ("App", 0, 12), ("std::map<int, Order>::node", 0, 12), ("Order", 0, 12), ("char[]", 0, 14),
        ("std::string[]", 0, 13, 8)])
    for type_, offset, name in [(app, 0, "cache_"), (app, 8, "log_"), (node, 0, "next"),
                                (node, 8, "value")]:
        snap.record("member", type_, offset, name, "void *")
    one, log = snap.block(2, app), snap.block(200, slots)
    snap.edge(one, log, 1)
    above = one
    for n in range(300):
        item, value = snap.block(2, node), snap.block(9, order)
        snap.edge(above, item, 0)
        snap.edge(item, value, 1)
        above = item
    for n in range(200):
        snap.edge(log, snap.block(8, text), n)
    snap.root(one, "app", unit="app.cc")
    row = of(snap.write())[0]
    check(" of it is 300 Order, 72 B each, at app->cache_" in row["sentence"] and
          ", and 35.3 % 200 char[], 64 B each, at app->log_." in row["sentence"], row["sentence"])
    equal(row["population"]["type"], "Order", "what the sentence tells first")
    equal([(member["path"], member["type"], member["objects"], member["retained_words"])
           for member in row["members"]],
          [(row["path"], "Order", 300, 3300), ("app->log_", "char[]", 200, 1800)], "its members")


def of_a_thread():
    """A variable of a thread is not on its stack; a register says itself what it is."""
    snap = native(Snap())
    block = snap.block(5000, snap.type("struct state", 0, 12))
    snap.root(block, "state", kind="tls", thread=7)
    row, = of(snap.write())
    check("state (thread-local, thread 7) alone keeps" in row["sentence"], row["sentence"])
    snap = native(Snap())
    block = snap.block(5000, snap.type("struct state", 0, 12))
    snap.root(block, "register r13", kind="register", thread=7)
    row, = of(snap.write())
    check("register r13 (thread 7) alone keeps" in row["sentence"], row["sentence"])


def many_without_names():
    """They are told by their binaries, and what is on stacks apart: it is no variable of these."""
    snap = native(Snap())
    block = snap.block(5000, snap.type("struct state", 0, 12))
    for n in range(7):
        snap.root(block, f".bss+{8 * n + 8:#x}", binary="liba.so", module="liba.so")
    for n in range(4):
        snap.root(block, f"poll slot sp+{8 * n}", kind="stack", binary="thread 7", unit="#1 poll",
                  thread=7, frame=1, module="libc.so.6")
    several = native(Snap())
    kept = several.block(5000, several.type("struct state", 0, 12))
    for thread in (7, 8):
        for n in range(8):
            several.root(kept, f"poll slot sp+{8 * n}", kind="stack", binary=f"thread {thread}",
                         unit="#1 poll", thread=thread, frame=1)
    row, = of(several.write())
    entry = ("One struct state of 40000 bytes, {} referrers (#{}), keeps 39.1 KiB, 100.0 % of the "
             "heap; ")
    check(row["sentence"].startswith(entry.format(16, len(several.tree())) + "calls of 2 threads, "
                                     "such as poll slot sp+0 (set:1, 16 roots) keep"),
          row["sentence"])
    row, = of(snap.write())
    check("; static variables of liba.so and 4 slots of stacks (set:1, 11 roots) keep" in
          row["sentence"], row["sentence"])
    nobodys = native(Snap()) # of no known thread
    kept = nobodys.block(5000, nobodys.type("struct state", 0, 12))
    for n in range(16):
        nobodys.root(kept, f"poll slot sp+{8 * n}", kind="stack", unit="#1 poll", frame=1)
    row, = of(nobodys.write())
    check("; poll slot sp+0, poll slot sp+8, " in row["sentence"] and
          ", ... (set:1, 16 roots) keep" in row["sentence"], row["sentence"])
    one = native(Snap())
    kept = one.block(5000, one.type("struct state", 0, 12))
    for module, frame in (("libc.so.6", 1), ("app", 2), ("app", 3), ("libc.so.6", 4)):
        for n in range(4):
            one.root(kept, f"{module} slot sp+{8 * n + 100 * frame}", kind="stack",
                     binary="thread 7", unit=f"#{frame} {module}", thread=7, frame=frame,
                     module=module)
    row, = of(one.write())
    check("; calls of thread 7, such as app slot sp+300 (set:1, 16 roots) keep" in row["sentence"],
          row["sentence"])
    of_file = native(Snap())
    several = [of_file.block(2000, of_file.type("struct state", 0, 12)) for _ in range(3)]
    for n in range(9):
        for block in several:
            of_file.root(block, f".bss+{8 * n + 8:#x}", binary="app", module="app", unit="src/b.c",
                         variable=f".bss+{8 * n + 8:#x}", symbol=".bss", file="src/b.c")
    row, = of(of_file.write())
    check(row["sentence"].startswith("static variables of src/b.c in app (set:1, 9 roots) keep"),
          row["sentence"])


def shown(command):
    """A command as it is pasted into a shell."""
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=100)
    talk = [line for line in done.stderr.splitlines()
            if not line.startswith(b"heapsnap: what cannot be seen: ")]  # of leaks
    equal((done.returncode, talk), (0, []), command)
    check(done.stdout.count(b"\n") > 0, f"{command} prints nothing")


def joint_owners_of_many():
    """Two tables with the same entries: no one block leads to these, nor do they to each other."""
    snap = native(Snap())
    slots, entry = snap.type("entry *[]", 0, 13, 8), snap.type("struct entry", 0, 12)
    tables = [snap.block(300, slots) for _ in range(2)]
    for n in range(300):
        block = snap.block(9, entry)
        for table in tables:
            snap.edge(table, block, n)
    for table, name in zip(tables, ["by_name", "by_age"]):
        snap.root(table, name, unit="server.c")
    joint, = [row for row in of(snap.write()) if row["list"] == "joint"]
    equal((joint["type"], joint["count"]), ("struct entry", 300), "of what")
    check("of the heap: 300 struct entry of 72 B each, at by_" in joint["sentence"],
          joint["sentence"])


def joint_owners():
    """A table that two variables lead to; a third owns the rest."""
    snap = native(Snap())
    holder, slots, entry = (snap.type(*t) for t in [
        ("struct db", 0, 12), ("entry *[]", 0, 13, 8), ("struct entry", 0, 12)])
    snap.record("member", holder, 0, "dict", "entry **")
    db, table = snap.block(4, holder), snap.block(300, slots)
    snap.edge(db, table, 0)
    for n in range(300):
        snap.edge(table, snap.block(9, entry), n)
    server, lua = snap.block(2, holder), snap.block(2, holder)
    snap.edge(server, db, 1)
    snap.edge(lua, db, 1)
    for block, name in [(server, "server"), (lua, "lctx")]:
        snap.root(block, name, unit="server.c", file="src/server.c", line=86)
    snap.root(snap.block(1000, slots), "spare", unit="server.c")
    snap.sampler("record", 100)
    here, there = (snap.site((f, "src/db.c", 9), ("main", "src/main.c", 3)) for f in ["add", "old"])
    for n in range(10):
        snap.sample(n, table + 1 + n, site=there if n < 2 else here)
    name = snap.write()
    joint, = [row for row in of(name) if row["list"] == "joint"]
    equal((joint["words"], joint["objects"]), (4 + 300 + 2700, 302), "what both keep")
    ids = {row["name"]: row["id"] for row in run("roots", name, "--json").json()["roots"]}
    equal((joint["roots"], joint["n_roots"], joint["set"]), ([ids["server"], ids["lctx"]], 2,
                                                             "set:1"), "by whom")
    equal((joint["type"], joint["count"], joint["each_words"]), ("struct entry", 300, 9), "of what")
    equal(joint["site"], "add src/db.c:9", "who allocated it")
    check("Of its samples 80 % were allocated by add src/db.c:9." in joint["sentence"],
          joint["sentence"])
    check(joint["holder"] in ("server->(+8)->dict", "lctx->(+8)->dict"), joint["holder"])
    check(joint["sentence"].startswith(
        "2 roots together (set:1: server, lctx) keep 23.5 KiB, 75.0 %"), joint["sentence"])
    check(joint["sentence"].endswith(
        "Some of them may only refer to it: no pointer says who frees."), joint["sentence"])
    equal(joint["reserve"], "alias", "its reserve")
    equal(joint["command"], f"heapsnap paths {name} --to set:1", "the command")
    shown(joint["command"])
    listed = [row for row in of(name) if row["list"] in ("owner", "joint", "lost")]
    equal(sum(row["words"] for row in listed) + 4, sum(b[0] for b in snap.blocks),
          "no word is of two suspects")


def doubtful():
    """What a stale word alone keeps, and what one firm owner keeps beside it."""
    snap = native(Snap())
    user, plain = snap.type("struct user", 0, 12), snap.type("char[]", 0, 14)
    users = [snap.block(10, user) for _ in range(100)]
    for a, b in zip(users, users[1:]):
        snap.edge(a, b, 0)
    snap.root(users[0], "registry", unit="a.c")
    old = snap.block(500, plain)
    snap.edge(users[0], old, 5, 3)
    late = snap.block(300, plain)
    for block, name in [(users[50], "main r13"), (late, "main slot sp+16")]:
        snap.root(block, name, kind="stack", binary="thread 7", unit="#1 main", thread=7, frame=1,
                  tier=2, function="main")
    name = snap.write()
    rows = {row["roots"][0]: row for row in of(name)}
    ids = {row["name"]: row["id"] for row in run("roots", name, "--json").json()["roots"]}
    firm, stale = rows[ids["registry"]], rows[ids["main slot sp+16"]]
    equal((firm["words"], firm["doubtful_words"]), (1500, 500), "the firm owner has all users")
    check("Of it 33.3 % hangs on doubtful words alone." in firm["sentence"], firm["sentence"])
    equal((stale["words"], stale["doubtful_words"]), (300, 300), "what only the slot keeps")
    check("main slot sp+16 (on the stack, thread 7) alone keeps" in stale["sentence"] and
          "Doubtful: these words may be stale" in stale["sentence"], stale["sentence"])
    other = suspects(name, "--policy", "conservative", "--json").json()["suspects"]
    check({"joint"} <= {row["list"] for row in other}, "all words alike: shared")
    for row in other:
        check(row["command"].endswith(" --policy conservative"), row["command"])
        shown(row["command"])


def doubtful_ranks_low():
    """What only stale words keep comes behind what is surely lost, unless it is four times that."""
    def order(words):
        snap = a_table()
        late = snap.block(words, snap.type("char[]", 0, 14))
        snap.block(9000, snap.type("struct job", 0, 12))
        snap.root(late, "main slot sp+16", kind="stack", binary="thread 7", unit="#1 main",
                  thread=7, frame=1, tier=2, function="main")
        return [row["words"] for row in of(snap.write())]
    equal(order(12000), [13003, 9000, 12000], "stale words last")
    equal(order(60000), [60000, 13003, 9000], "but for most of all")


def who_keeps_it():
    """What nothing of the program's own keeps: calls that run, or somebody else."""
    snap = native(Snap())
    kind = snap.type("struct job", 0, 12)
    alone, together, other = (snap.block(words, kind) for words in (500, 400, 300))

    def call(block, name, thread):
        snap.root(block, name, kind="stack", binary=f"thread {thread}", unit="#1 work",
                  thread=thread, frame=1, tier=1, function="work")

    call(alone, "work local job", 7)
    for thread, name in [(7, "work local shared"), (8, "work local theirs")]:
        call(together, name, thread)
    snap.root(other, "stdin", tier=1)
    mixed = snap.block(200, kind)
    call(mixed, "work local mixed", 7)
    snap.root(mixed, "loop", tier=1)
    sentences = {row["words"]: row["sentence"] for row in of(snap.write())}
    for words, sentence in [(500, "Only a call that runs keeps it."),
                            (400, "Only calls that run keep it."),
                            (300, "Only a library or runtime keeps it."),
                            (200, "Only a library or runtime and calls that run keep it.")]:
        check(sentences[words].endswith(f" {sentence}"), sentences[words])


def without(name, roots):
    found = run("roots", name, "--without", roots, "--json").json()["without"]
    return found["freed_words"], found["reserve"], found["reserve_words"]


def by_convention():
    """What a name of Python owns while others refer to it: of a name with many slots, too. The slot
    itself, what the name has, and what has no object of Python are nobody else."""
    snap = Snap()
    snap.record("runtime", "CPython", "3.11", 0)
    future, deque, frame, raw = (snap.type(name, 0, form) for name, form in [
        ("Future", 17), ("deque", 17), ("coroutine", 17), ("raw bytes", 14)])
    waiters, tasks = snap.block(70, deque), []
    snap.root(waiters, "channel")
    for n in range(60):
        owned, body = snap.block(20, future), snap.block(6, future)
        slot = snap.block(10, frame)
        snap.edge(slot, owned, 3, GUESSED)  # the variable itself
        snap.edge(owned, body, 1)
        snap.edge(body, owned, 2, GUESSED)  # below the name
        snap.edge(waiters, owned, n, GUESSED)
        tasks.append((slot, owned))
        snap.root(slot, f"task {n}", kind="stack", thread=1)
    alone, bytes_ = snap.block(300, future), snap.block(9, raw)
    snap.edge(bytes_, alone, 0, GUESSED)
    snap.root(bytes_, "buffer")
    snap.root(alone, "alone")
    for slot, owned in tasks:
        snap.root(owned, "fut", variable="task wait() local fut",
                  address=hex(snap.addresses()[slot] + 3 * 8))
    name = snap.write("convention.snap")
    rows = {row["words"]: row for row in of(name)}
    fut = rows[60 * 26]
    equal((fut["list"], fut["reserve"]), ("owner", "convention"), "what the variable owns")
    check("convention: other objects refer to it, too, by 60 references, such as channel."
          in fut["sentence"], fut["sentence"])
    equal(rows[300]["reserve"], None, "what a buffer's bytes look like is no reference")
    equal(without(name, "task wait() local fut"), (60 * 26, "convention", 60 * 26), "without it")
    equal(without(name, "alone")[:2], (300, None), "without another")


def who_counts():
    """What several keep is freed by the last one where they are counted; a plain pointer keeps
    nothing."""
    snap = native(Snap())
    counted, job, watcher, holder = (snap.type(name, 0, 12) for name in [
        "std::make_shared<Job>", "Job", "Watcher", "Holder"])
    snap.record("member", watcher, 0, "of", "Job *")
    snap.record("member", holder, 0, "has", "")
    one = snap.block(400, counted)
    for name in ("first", "second"):
        snap.root(one, f"{name}.control", variable=name)
        snap.root(one, f"{name}.value", variable=name, **{"class": INTERIOR})
    other, plain = snap.block(300, counted), snap.block(5, watcher)
    snap.edge(plain, other, 0, INTERIOR)
    snap.root(other, "owner.control", variable="owner")
    snap.root(plain, "looks")
    third, owner, looks = snap.block(200, job), snap.block(3, holder), snap.block(4, watcher)
    snap.edge(owner, third, 0)
    snap.edge(looks, third, 0)
    snap.root(owner, "has")
    snap.root(looks, "watches")
    name = snap.write("counted.snap")
    found = {row["words"]: row["reserve"] for row in of(name) if row["list"] == "joint"}
    equal(found, {400: None, 300: "alias", 200: "alias"}, "what several keep")
    equal(without(name, "first"), (0, None, 0), "one of two owners")
    equal(without(name, "first,second"), (400, None, 0), "both owners")
    equal(without(name, "owner"), (0, "alias", 300), "the owner, and a pointer that looks")
    equal(without(name, "has"), (3, "alias", 200), "the same without a counter")


def pointers_that_look():
    """Records that smart pointers own may have plain pointers to each other."""
    for owner, reserve in [("std::map<int, std::unique_ptr<Session>>::node", None),
                           ("std::map<int, std::unique_ptr<Sessions>>::node", "alias")]:
        snap = native(Snap())
        node, session = snap.type(owner, 0, 12), snap.type("Session", 0, 12)
        snap.record("member", session, 8, "previous", "Session *")
        latest = snap.block(20, session)
        table = snap.block(30, node)
        snap.edge(table, latest, 5)
        for _ in range(100):
            before = snap.block(20, session)
            snap.edge(latest, before, 1)
            snap.edge(table, before, 6)
            latest = before
        snap.root(table, "sessions")
        row, = of(snap.write("looks.snap"))
        equal(row["reserve"], reserve, owner)


def plain_pointers():
    """In C++ a plain pointer does not say who frees; in C none does, as everybody knows."""
    for cpp, reserve in [(True, "alias"), (False, None)]:
        snap = native(Snap())
        node, texture = (snap.type(name, 0, 12) for name in (
            "std::map<int, Texture*>::node" if cpp else "node", "Texture"))
        snap.record("member", node, 40, "second", "Texture *")
        nodes = [snap.block(7, node) for _ in range(100)]
        for n, at in enumerate(nodes):
            snap.edge(at, snap.block(17, texture), 5)
            if n:
                snap.edge(nodes[n - 1], at, 2)
        snap.root(nodes[0], "textures")
        name = snap.write("plain.snap")
        row, = of(name)
        equal(row["reserve"], reserve, "what textures keeps")
        equal("Of it 70.8 % hangs on plain pointers, which do not say who frees."
              in row["sentence"], cpp, row["sentence"])
        equal(without(name, "textures"), (2400, reserve, 1700 if cpp else 0), "without it")


def by_values_alone():
    """Said once of a whole program without debug information, and in the reserve of each."""
    snap = native(Snap())
    for n in range(3):
        snap.root(snap.block(100 + n), f".bss+0x{n}", certainty=1)
    name = snap.write("conservative.snap")
    equal({row["reserve"] for row in of(name)}, {"doubtful"}, "each has a reserve")
    text = suspects(name).out
    equal(text.count("by their values alone"), 1, "said once")


def small_heaps():
    """No part of nothing is told."""
    snap = native(Snap())
    snap.root(snap.block(1), "buffer")
    check(" 0 blocks" not in suspects(snap.write("small.snap")).out, "no blocks are no part")


def what_every_program_of_a_runtime_has():
    """A variable of the runtime's own is no suspect beside the program's, unless it has much."""
    for words, is_there in [(500, False), (1100, True)]:
        snap = native(Snap())
        kind = snap.type("struct job", 0, 12)
        snap.root(snap.block(7000, kind), "jobs")
        snap.root(snap.block(words, kind), "_PyRuntime", tier=1)
        snap.root(snap.block(400, kind), "work local job", kind="stack", binary="thread 7",
                  unit="#1 work", thread=7, frame=1, tier=1, function="work")
        snap.block(2100 - words, snap.type("char[]", 0, 14))
        name = snap.write()
        names = lambda name, *more: [one for one in ["_PyRuntime", "work local job"]
                                     if any(one in row["sentence"] for row in of(name, *more))]
        equal(names(name), ["_PyRuntime"] * is_there + ["work local job"], f"{words} words")
        check("_PyRuntime" in names(name, "--threshold", 1), "asked for")
    snap = native(Snap())
    snap.root(snap.block(500, snap.type("PyInterpreterState", 0, 12)), "_PyRuntime", tier=1)
    snap.block(9500)
    check(any("_PyRuntime" in row["sentence"] for row in of(snap.write())), "alone")
    what_a_runtime_has_set_aside()


def what_a_runtime_has_set_aside():
    """One block of no type in a runtime's variables is never a suspect, unless it is large."""
    for words, is_there in [(9000, False), (20000, True)]:
        for is_shared in [False, True]:
            snap = native(Snap())
            pool = snap.block(words, snap.type(f"block of {words * 8} bytes", 0, 15))
            snap.root(pool, "emergency_pool", tier=1)
            if is_shared:
                snap.root(pool, "arena", tier=1)
            name = snap.write()
            equal([row["words"] for row in of(name)], [words] * is_there, f"{words} words alone")
            check(is_there or "nothing of the program's own keeps" in suspects(name).out
                  or is_shared, "nothing else is there")
            jobs = snap.block(words // 2, snap.type("struct job", 0, 12))
            snap.root(jobs, "jobs")
            first = of(snap.write())[not is_there:][0] if is_there else of(snap.write())[0]
            equal(first["words"], words if is_there else words // 2, f"beside {words} words")


def at_the_end_of_info():
    snap = a_table()
    for n in range(50):
        snap.block(20)
    name = snap.write("info.snap")
    last = run("info", name).out.splitlines()[-1]
    equal(last, f"who keeps the memory: heapsnap suspects {name}", "without an index")
    check(not os.path.exists(name + ".idx"), "info computes none")
    suspects(name)
    lines = run("info", name).out.splitlines()[-3:]
    equal(lines, [f"who keeps the memory (more: heapsnap suspects {name})",
                  "  101.6 KiB, 92.8 % of the heap: g_cache (src/cache.c:12)",
                  "  7.8 KiB, 7.1 % of the heap: no root leads to it"], "with one")
    snap = a_mixture()
    name = snap.write("more.snap")
    suspects(name)
    text = run("info", name).out
    equal(text[text.index("who keeps the memory"):].count("% of the heap"), 3, "three lines")


def what_is_lost():
    snap = a_table()
    job, text = snap.type("app::Job"), snap.type("int[]", 0, 14)
    for n in range(100):
        one = snap.block(6, job)
        snap.edge(one, snap.block(34, text), 2)
    rows = of(snap.write())
    equal([row["list"] for row in rows], ["owner", "lost"], "both")
    lost = rows[1]
    equal((lost["words"], lost["type"], lost["count"], lost["each_words"], lost["roots"]),
          (4000, "app::Job", 100, 6, []), "what is lost")
    check(lost["sentence"].startswith("Lost, as no root leads to it: 31.3 KiB, 23.5 % of the heap: "
                                      "100 app::Job, 320 B each with what hangs on them."),
          lost["sentence"])
    equal(sum(row["words"] for row in rows) + 4,
          sum(words for words, _, _, _ in snap.blocks), "no word twice, none left out")
    # What has no telling name is told by the class that hangs on it.
    snap = a_table()
    shell, inner = snap.type("block of 24 bytes", 0, 15), snap.type("db::Iterator")
    text = snap.type("int[]", 0, 14)
    for n in range(100):
        one = snap.block(3, shell)
        snap.edge(one, snap.block(34, inner), 1)
        snap.edge(one, snap.block(6, text), 2)
    rows = of(snap.write())
    check(": 100 blocks of 24 bytes, 344 B each with what hangs on them, among it 100 "
          "db::Iterator. " in rows[1]["sentence"] + " ", rows[1]["sentence"])
    equal(rows[1]["type"], "block of 24 bytes", "the type of what is lost")
    # Small faults: together enough to be told, as one.
    snap = a_table()
    for n in range(60):
        snap.block(1 + n % 20, snap.type(f"struct odd{n}"))
    rows = of(snap.write())
    equal([(row["list"], row["words"]) for row in rows[1:]], [("lost", 630)], "small ones")
    check("most of it one struct odd19 of 160 B." in rows[1]["sentence"], rows[1]["sentence"])
    # Next to nothing is no alarm.
    snap = a_table()
    snap.block(200, snap.type("app::Job"))
    equal([row["list"] for row in of(snap.write())], ["owner"], "1.5 % of the heap")
    # Of a size it is said that it is one.
    snap = a_table()
    plain = snap.type("block of 184 bytes", 0, 15)
    for n in range(100):
        snap.block(23, plain)
    lost = of(snap.write())[1]["sentence"]
    check("100 blocks of 184 bytes of 184 B each" not in lost and
          ": 100 blocks of 184 bytes each." in lost, lost)
    # Where they hang on each other, on how many: as lists of ten, but not as pairs.
    for length, told in [(10, True), (2, False)]:
        snap = a_table()
        plain = snap.type("block of 184 bytes", 0, 15)
        for n in range(20):
            above = snap.block(23, plain)
            for _ in range(length - 1):
                node = snap.block(23, plain)
                snap.edge(above, node, 0)
                above = node
        lost = of(snap.write())[1]["sentence"]
        check((", 20 of them at the top." in lost) == told and
              f"{20 * length} blocks of 184 bytes" in lost, lost)


def beside_and_below():
    """What hangs at one place as often is told beside the members, and the way from a member to
    what most of it is; a pair of other numbers, or a container, is not."""
    def sentence(n_events, event):
        snap = native(Snap())
        queue, owner, kind, other, text = (snap.type(*t) for t in [
            ("Posted[]", 0, 13, 16), ("Queue", 0, 12), ("Session", 0, 12), (event, 0, 12),
            ("char[]", 0, 14)])
        for type_, offset, name in [(queue, 0, "receiver"), (queue, 8, "event"),
                                    (owner, 0, "posted"), (kind, 8, "peer"), (kind, 16, "text")]:
            snap.record("member", type_, offset, name, "void *")
        first, table = snap.block(2, owner), snap.block(400, queue)
        snap.edge(first, table, 0)
        for n in range(200):
            one, helper, body = snap.block(4, kind), snap.block(4, kind), snap.block(60, text)
            snap.edge(table, one, 2 * n)
            snap.edge(one, helper, 1)
            snap.edge(helper, body, 2)
            if n < n_events:
                snap.edge(table, snap.block(3, other), 2 * n + 1)
        snap.root(first, "queue", unit="q.cc")
        row = of(snap.write())[0]
        shown(row["command"])
        return row["sentence"]
    said = sentence(200, "DeferredDelete")
    check("400 Session, 272 B each with what hangs on them, mostly 200 char[] at .text"
          in said, said)
    check("beside" not in said, said)  # of 400 there are not as many
    check("beside" not in sentence(20, "DeferredDelete"), "a tenth is no pair")


def as_many_beside():
    """Events in a queue beside the objects that they are for."""
    def sentence(n_events, event):
        snap = native(Snap())
        queue, kind, other = (snap.type(*t) for t in [
            ("Posted[]", 0, 13, 16), ("Session", 0, 12), (event, 0, 12)])
        table = snap.block(400, queue)
        for n in range(200):
            snap.edge(table, snap.block(14, kind), 2 * n)
            if n < n_events:
                snap.edge(table, snap.block(3, other), 2 * n + 1)
        snap.root(table, "queue", unit="q.cc")
        return of(snap.write())[0]["sentence"]
    said = sentence(200, "DeferredDelete")
    check("200 Session of 112 B each, beside as many DeferredDelete." in said, said)
    check("beside 192 DeferredDelete." in sentence(192, "DeferredDelete"), "nearly as many")
    for n, event in [(150, "DeferredDelete"), (200, "std::string"), (200, "boost::X<int>")]:
        check("beside" not in sentence(n, event), f"{n} {event}")


def untyped_below_a_member():
    """Where no type tells more, the member is told that most of it hangs on: through blocks without
    a type, to a list of these, over a dominator that does not point to the next."""
    def holder(shared):
        snap = native(Snap())
        window, plain = snap.type("struct window", 0, 12), snap.type("block", 0, 15)
        snap.record("member", window, 0, "buffer", "void *")
        snap.record("member", window, 8, "tag", "void *")
        top, buffer, tag, tree = (snap.block(n, t) for n, t in [
            (2, window), (16, plain), (10, plain), (18, plain)])
        snap.edge(top, buffer, 0)
        snap.edge(top, tag, 1)
        snap.edge(buffer, tree, 6)
        if shared:
            snap.edge(tag, tree, 3)
        above = tree
        for n in range(300):
            line = snap.block(128, plain)
            snap.edge(above, line, 0)
            above = line
        snap.root(top, "win", unit="w.c")
        row = of(snap.write())[0]
        shown(row["command"])
        return row["holder"]
    equal([holder(False), holder(True)], ["win->buffer"] * 2, "the member")


def groups_of_untyped():
    """What hangs on each of a few entries is told by entry."""
    snap = native(Snap())
    slots, plain = snap.type("void *[]", 0, 13, 8), snap.type("block", 0, 15)
    table = snap.block(32, slots)
    for n in range(20):
        handle = snap.block(600 + 9 * n, plain)
        snap.edge(table, handle, n)
        for k in range(40):
            snap.edge(handle, snap.block(5 + (n * 7 + k * 11) % 90, plain), k)
    snap.root(table, "pool", unit="p.cc")
    said = of(snap.write())[0]["sentence"]
    check(": 20 groups of 41 blocks of unknown type, " in said and " on average." in said, said)


def cycles():
    """A lost object that counts who refers to it says by which members it refers to itself."""
    def lost_of(type_, closes, form=12):
        snap = a_table()
        one, closure = snap.type(type_, 0, form), snap.type("Handler::<lambda()>", 0, 12)
        if form == 12:
            snap.record("member", one, 8, "handler", "void *")
            snap.record("member", closure, 0, "self", "void *")
        for _ in range(100):
            head, below = snap.block(60, one), snap.block(2, closure)
            snap.edge(head, head, 20, 1)  # a short text in it
            snap.edge(head, below, 1)
            if closes:
                snap.edge(below, head, 0)
        return of(snap.write())[1]["sentence"]
    said = lost_of("std::make_shared<Connection>", True)
    check("It refers to itself: its handler->self leads back." in said, said)
    check("itself" not in lost_of("std::make_shared<Connection>", False), "no way back")
    check("itself" not in lost_of("Connection", True), "a parent's pointer is no reason")
    said = lost_of("block of 480 bytes, perhaps RcInner<app::Server>", True, 15)
    check("It refers to itself, through Handler::<lambda()>." in said, said)


def copies_and_a_second_fault():
    """Arrays that were each left for a larger one are told as such; of two faults both are."""
    def lost_of(sizes):
        snap = a_table()
        for words in sizes:
            snap.block(words, snap.type(f"block of {words * 8} bytes", 0, 15))
        return [row for row in of(snap.write()) if row["list"] == "lost"][0]["sentence"]

    steps = [2048 * n for n in range(1, 21)]
    check("most of it 20 outgrown copies, of 16.0 KiB to 320.0 KiB, of one array: each was left "
          "for a larger one." in lost_of(steps), lost_of(steps))
    doubled = [1000 * 2**n for n in range(10)]  # of which realloc frees what it copies
    check("copies" not in lost_of(doubled), lost_of(doubled))
    check("copies" not in lost_of(steps[:7]), "seven are too few")

    def held_by(places):
        """The array that is in use has what the copies have, at these of their places."""
        snap = a_table()
        names, arrays = [snap.block(4, snap.type("char[]", 0, 14)) for _ in range(40)], []
        for words in steps + [steps[-1] + 2048]:
            plain = snap.type(f"block of {words * 8} bytes", 0, 15)
            arrays.append(snap.block(words, plain))
        for array in arrays:
            for n, name in enumerate(names):
                snap.edge(array, name, places[n] if array == arrays[-1] else n)
        snap.root(arrays[-1], "quarks", unit="quark.c")
        return [row for row in of(snap.write()) if row["list"] == "lost"][0]
    lost = held_by(range(40))
    check("of 16.0 KiB to 320.0 KiB, of the array at quarks: each was left" in lost["sentence"],
          lost["sentence"])
    equal(lost["holder"], "quarks", "the array in use")
    lost = held_by(range(100, 140))
    check("of one array: each" in lost["sentence"], "the same names elsewhere are another table")

    snap = a_table()
    job, text = snap.type("app::Job", 0, 12), snap.type("app::Page", 0, 12)
    for _ in range(100):
        snap.block(60, job)
        snap.block(40, text)
    said = of(snap.write())[1]["sentence"]
    check(": 100 app::Job of 480 B each, and 100 app::Page, 320 B each." in said or
          "most of it 100 app::Job of 480 B each, and 100 app::Page, 320 B each." in said, said)


def equal_groups():
    """What has no types is told as so many times the same blocks; what is not alike is not."""
    def of_sizes(groups, link=False):
        snap = native(Snap())
        plain = snap.type("block of some bytes", 0, 15)
        table, last = snap.block(len(groups) + 1, plain), None
        for n, sizes in enumerate(groups):
            blocks = [snap.block(words, plain) for words in sizes]
            for at, block in enumerate(blocks[1:], 1):
                snap.edge(blocks[0], block, at)
            if link and last is not None:
                snap.edge(last, blocks[0], 0)
            else:
                snap.edge(table, blocks[0], n)
            last = blocks[0]
        snap.root(table, "sessions", unit="a.c")
        return of(snap.write())[0]["sentence"]

    one = [127, 71, 5, 5, 5, 39]
    for link in (False, True):  # each held by a table, or by the one before it
        said = of_sizes([one] * 700, link)
        check("700 times the same 6 blocks (1016 + 568 + 312 + 3x40 B), 2.0 KiB each time." in said,
              said)
    said = of_sizes([one] * 400 + [[50 + n % 40, 3 + n % 90] for n in range(400)])
    check("most of it 400 times the same 6 blocks" in said, said)
    said = of_sizes([[20 + 7 * (n % 40)] + [3 + n % 11] * (n % 9) for n in range(700)])
    check("times the same" not in said, said)
    check("times the same" not in of_sizes([one] * 7), "seven can be looked at")
    # The one in the middle is shown.
    said = of_sizes([[127, 60 + n * 17 % 41] for n in range(41 * 17)])
    check("697 times the same 2 blocks (1016 + 640 B), 1.6 KiB each time." in said, said)


def what_is_wasted():
    snap = native(Snap())
    slots, one, plain = (snap.type(*t) for t in [
        ("void *[]", 0, 13, 8), ("node *[]", 0, 13, 8), ("block of 64 bytes", 0, 15)])
    table = snap.block(5000, slots)
    snap.root(table, "g_table", unit="a.c")
    for n in range(1000):
        small = snap.block(4, one)
        snap.edge(table, small, n)
        snap.edge(small, snap.block(8, plain), 0)
    rows = {(row["list"], row["type"]): row for row in of(snap.write())}
    equal({key[0] for key in rows}, {"owner", "waste"}, "lists")
    wasted = rows["waste", "void *[]"]
    equal((wasted["words"], wasted["count"]), (4000, 1), "slots that lead nowhere")
    wasted = rows["waste", "node *[]"]
    equal((wasted["words"], wasted["count"]), (3000, 1000), "spare slots")
    unknown = rows["waste", "block of 64 bytes"]
    equal((unknown["words"], unknown["count"]), (8000, 1000), "of no known type")
    check("no known type" in unknown["sentence"], unknown["sentence"])
    check("Debug information may name them" in unknown["sentence"], unknown["sentence"])
    # Of the program, it has been asked; of a library alone it says nothing.
    for path, asked in [("/usr/lib/libc.so.6", False), ("/srv/app", True)]:
        snap.record("binary", path, "", 4096, 1, 1)
        rows = {(row["list"], row["type"]): row for row in of(snap.write())}
        sentence = rows["waste", "block of 64 bytes"]["sentence"]
        check(("heapsnap record" in sentence) == asked, sentence)
        check(("may name them" in sentence) != asked, sentence)


def what_is_unknown_once():
    """Of blocks without a type nothing is told twice: not what an owner's sentence says of them."""
    def lists(type_):
        snap = native(Snap())
        slots, plain, other = (snap.type(*t) for t in [
            ("void *[]", 0, 13, 8), ("block of 64 bytes", 0, 15), type_])
        table = snap.block(400, slots)
        for n in range(400):
            one = snap.block(4, other)
            snap.edge(table, one, n)
            snap.edge(one, snap.block(8, plain), 0)
        snap.root(table, "g_table", unit="a.c")
        rows = of(snap.write())
        return [row["list"] for row in rows], rows[0]["sentence"]
    known, said = lists(("struct entry", 0, 12))
    equal(known, ["owner", "waste"], said)
    unknown, said = lists(("block of 32 bytes", 0, 15))
    equal(unknown, ["owner"], said)
    check("400 times the same 2 blocks (64 + 32 B)" in said, said)


def who_allocated():
    snap = a_table()
    snap.sampler("record", 100)
    here = snap.site(("make_entry", "src/cache.c", 40), ("main", "src/main.c", 3))
    there = snap.site(("other", "src/other.c", 7))
    for n in range(20):
        snap.sample(n, 3 + 2 * n, site=here if n % 4 else there)
    row, = of(snap.write())
    equal(row["site"], "make_entry src/cache.c:40", "the site")
    check("Of its samples 75 % were allocated by make_entry src/cache.c:40." in row["sentence"],
          row["sentence"])


def rounded_up():
    snap = native(Snap())
    snap.sampler("jemalloc", 1)
    first = [snap.block(10) for _ in range(100)]
    table = snap.block(100)
    for n, block in enumerate(first):
        snap.edge(table, block, n)
        snap.sample(n, block, words=7)
    snap.root(table, "t")
    row = [row for row in of(snap.write()) if row["certainty"] == "sampled"][0]
    equal((row["list"], row["site"], row["set"]), ("waste", None, None), "the list")
    check(300 <= row["words"] <= 310, f"3 words of each: {row['words']}")


def nothing_to_say():
    snap = native(Snap())
    for n in range(200):
        snap.root(snap.block(5), f"root{n}", unit="a.c")
    name = snap.write()
    equal(of(name), [], "no suspect")
    out = suspects(name).out
    check(out.startswith("no suspect: nothing keeps 2 % of the heap; most is kept by root"), out)
    check("40 B, 0.5 % of the heap" in " ".join(out.split()), out)
    equal(len(of(name, "--threshold", 0, "-n", 0)), 12, "--threshold 0: as many as are looked into")
    empty = native(Snap()).write("empty.snap")
    equal((of(empty), suspects(empty).out), ([], "no suspect: the heap is empty\n"), "no block")


def without_roots():
    """No root at all: everything is lost."""
    snap = native(Snap())
    job = snap.type("app::Job")
    for n in range(100):
        snap.block(6, job)
    row, = of(snap.write())
    equal((row["list"], row["words"], row["type"]), ("lost", 600, "app::Job"), "all of it")
    check("100.0 % of the heap: 100 app::Job of 48 B each." in row["sentence"], row["sentence"])
    snap = Snap()
    snap.block(6)
    snap.record("runtime", "ocaml", "4.14.1", 0)
    name = snap.write("garbage.snap")
    equal(of(name), [], "garbage is no leak")
    check(suspects(name).out.endswith(
        "48 B, 100.0 % of the heap is garbage, which its collector will free\n"), "said so")
    equal(suspects(name, "--json").json()["garbage_words"], 6, "in JSON")


def a_mixture():
    snap = a_table()
    for n in range(15):
        block = snap.block(400 + n, snap.type(f"struct s{n}", 0, 12))
        snap.root(block, f"g_{n}", unit="more.c")
    for n in range(20):
        snap.block(25, snap.type(f"struct l{n % 2}", 0, 12))
    return snap


def order_and_limits():
    name = a_mixture().write()
    rows = of(name)
    equal(len(rows), 10, "at most ten")
    check("lost" in {row["list"] for row in rows}, "the first of each list is there")
    equal([row["words"] for row in rows], sorted((row["words"] for row in rows), reverse=True),
          "most words first")
    every = of(name, "-n", 0)
    equal(len(every), 12 + 1, "twelve owners, one lost")
    equal(of(name, "-n", 1), every[:1], "-n 1")
    check(suspects(name).out.endswith("[3 others: -n 0 prints all]\n"), suspects(name).out)
    equal({row["list"] for row in of(name, "-n", 2)}, {"owner", "lost"}, "-n 2: one of each")


def all_formats():
    name = a_mixture().write("it's a heap.snap")
    found = of(name)
    equal([json.loads(line) for line in suspects(name, "--format", "ndjson").lines()], found,
          "ndjson")
    lines = [line.split("\t") for line in suspects(name, "--format", "tsv").lines()]
    for line, row in zip(lines[1:], found):
        cells = dict(zip(lines[0], line))
        for key in ["list", "words", "sentence", "command", "type", "holder", "certainty"]:
            cell = "" if row[key] is None else str(row[key]).replace("\\", "\\\\")
            equal(cells[key], cell, f"TSV: {key}")
    equal(len(lines), 11, "rows of the TSV")
    text = suspects(name).out
    flat = " ".join(text.split())
    for row in found:
        check(row["sentence"] in flat, f"not in the table: {row['sentence']}")
        check(f"\n    {row['command']}\n" in text, "the command on a line of its own")
        shown(row["command"])
    for line in text.splitlines():
        check(len(line) <= 80 or line.startswith("    heapsnap "), f"too long: {line}")
    equal(suspects(name).out, text, "the same again")
    equal(suspects(name, "--memory", "24M", "--threads", 1).out, text, "with little memory")


def hostile_names():
    snap = native(Snap())
    evil = snap.type("struct \x1b[31m" + "x" * 3000, 0, 12)
    block = snap.block(50, evil)
    snap.root(block, "g'; touch pwned #\n\x1b]0;x\x07", unit="$(a).c", file="\x1b[2J", line=3)
    name = snap.write("$(touch pwned) `x`.snap")
    text = suspects(name).out
    check("\x1b" not in text and "\x07" not in text, "an escape sequence was passed on")
    row, = of(name)
    check("\x1b" not in row["sentence"] and "\x07" not in row["sentence"], "in JSON")
    check(len(row["sentence"]) < 1000, "long names are cut")
    shown(row["command"])
    check(not os.path.exists("pwned"), "a name was run")


def thresholds():
    name = a_table().write()  # 13,003 words are 104,024 bytes
    for size, code in [("1G", 0), ("13003", 0), ("13002", 1), ("13k", 1), ("14k", 0), ("0", 1),
                       ("104024B", 0), ("104023B", 1), ("101KiB", 1), ("102KiB", 0)]:
        for format in ["table", "json", "ndjson", "tsv"]:
            found = suspects(name, "--fail-over", size, "--format", format, code=code)
            equal(found.out, suspects(name, "--format", format).out, "the listing is the same")
            equal("more than the" in found.err, code == 1, found.err)
    for bad in ["", "-1", "5%", "all"]:
        check("--fail-over: " in suspects(name, "--fail-over", bad, code=2).err, f"'{bad}'")
    for option in ["--threshold", "--follow", "--follow-joint"]:
        for bad in ["101", "-1", "x"]:
            check(option in suspects(name, option, bad, code=2).err, f"{option} {bad}")
    equal(of(name, "--follow", 100)[0]["type"], "struct cache", "--follow 100: no further")
    suspects("no such file", code=5)


def alike():
    """Roots whose names differ in an index or an address are one suspect; not where one of them
    has most of it, nor what has no name, nor variables of different files."""
    def of_names(names, sizes=None, **more):
        snap = native(Snap())
        state = snap.type("struct state", 0, 12)
        for i, name in enumerate(names):
            unit = {"unit": f"{i}.c" if more.get("apart") else "a.c"}
            snap.root(snap.block(sizes[i] if sizes else 100, state), name,
                      kind=more.get("kind", "global"), **unit)
        snap.root(snap.block(400, state), "other", unit="b.c")
        return of(snap.write())

    row = of_names([f"slots[{i}].first" for i in range(300)])[0]
    equal((row["list"], row["words"], row["n_roots"], len(row["roots"])), ("owner", 30000, 300, 8),
          "one suspect of 300 roots")
    check(row["sentence"].startswith("300 x slots[*].first keep 234.4 KiB, 98.7 % of the heap: 300 "
                                     "struct state of 800 B each"), row["sentence"])
    shown(row["command"])
    row = of_names([f"C root at {0x55550000 + 16 * i:#x}" for i in range(300)])[0]
    check(row["sentence"].startswith("300 x C root keep"), row["sentence"])
    rows = of_names([f"slots[{i}]" for i in range(20)], [1900] + [20] * 19)
    check(rows[0]["sentence"].startswith("slots[0] "), "one has 83 %")
    rows = of_names([f"slots[{i}]" for i in range(7)])
    check(all(" x " not in row["sentence"] for row in rows), "seven can be looked at")
    rows = of_names([f"slots[{i}]" for i in range(30)], apart=True)
    check(all(" x " not in row["sentence"] for row in rows), "of thirty files")
    rows = of_names([f".bss+{8 * i:#x}" for i in range(30)])
    check(all(" x " not in row["sentence"] for row in rows), "places without a name")
    rows = of_names([f"v[{i}" for i in range(30)])
    check(all(" x " not in row["sentence"] for row in rows), "that is no index")


MIB = 1 << 20
LIVE, FREE, DIRTY, INTERNAL, OTHER = 0, 2, 3, 4, 6


def a_process(*rows, reserved_mib=0):
    """A heap of 100 KiB in a process whose memory is also elsewhere; not all of the last row's is
    resident where more is reserved."""
    snap = a_table()
    for owner, state, mib, blocks in rows:
        all_mib = reserved_mib if (owner, state, mib, blocks) == rows[-1] and reserved_mib else mib
        snap.record("memory", owner, state, int(all_mib * MIB), int(mib * MIB), blocks)
    snap.record("fact", "resident_bytes", sum(int(row[2] * MIB) for row in rows))
    return snap


def words_of(name):
    """What a person reads, whatever the lines are."""
    return " " + " ".join(suspects(name).out.split())


def balance():
    """The first line is where the resident memory is; where that is no live heap it is said."""
    small = ("data of binaries", OTHER, 2, 0)
    name = a_process(("glibc", LIVE, 50, 9), ("glibc", FREE, 3, 5), ("stacks", OTHER, 0.5, 0),
                     small).write()
    lines = suspects(name).out.splitlines()
    equal(lines[:2], ["Resident 55.5 MiB = live heap 50.0 MiB + 3.0 MiB free in the allocator + "
                      "2.0 MiB", "binaries"], "parts below 2 % are left out")
    check("!" not in lines[2], "no alarm")
    name = a_process(("glibc", FREE, 3, 5), ("glibc", LIVE, 50, 9), reserved_mib=60).write()
    check(words_of(name).startswith(" Resident 53.0 MiB = live heap 50.0 MiB (of 60.0 MiB, the "
                                    "rest is not resident) + 3.0 MiB free"), words_of(name))
    name = a_process(("glibc", LIVE, 50, 9), ("glibc", FREE, 3, 5), ("stacks", OTHER, 0.5, 0),
                     small).write()
    found = suspects(name, "--json").json()
    equal(found["resident_bytes"], int(55.5 * MIB), "resident")
    equal(sum(found["balance"].values()), found["resident_bytes"], "the parts add up")
    equal(found["balance"]["stack_bytes"], MIB // 2, "stacks")
    equal((found["headline"][:17], found["verdict"]), ("Resident 55.5 MiB", None), "in words")

    name = a_process(("glibc", LIVE, 5, 9), ("glibc", FREE, 60, 1234), small).write()
    text = words_of(name)
    check(" ! 89 % is no live heap: 60.0 MiB are free in glibc, in 1234 pieces" in text, text)
    check("malloc_trim(3)" in text, text)
    found = suspects(name, "--json").json()
    check(found["verdict"].startswith("89 % is no live heap"), "in JSON")
    first = found["suspects"][0]
    equal((first["list"], first["sentence"], first["words"], first["population"]),
          ("memory", found["verdict"], found["balance"]["free_bytes"] // 8, None), "as a suspect")
    name = a_process(("jemalloc", LIVE, 5, 9), ("jemalloc", FREE, 4, 3),
                     ("jemalloc", DIRTY, 20, 0)).write()
    check(" ! 82 % is no live heap: 24.0 MiB are free pages that jemalloc has not given back "
          "(dirty)" in words_of(name), words_of(name))
    name = a_process(("glibc", LIVE, 5, 9), ("stacks", OTHER, 70, 0)).write()
    check(" ! 93 % is no live heap: 70.0 MiB are stacks of threads." in words_of(name),
          "stacks")
    name = a_process(("glibc", LIVE, 5, 9), ("shared memory", OTHER, 30, 0),
                     ("unclaimed", OTHER, 10, 0)).write()
    text = words_of(name)
    check(" ! 88 % is no heap: 10.0 MiB of mappings that no allocator has and 30.0 MiB of mapped "
          "files and shared memory." in text, text)
    rows = (("glibc", LIVE, 50, 9), ("stacks of threads never joined", OTHER, 1, 16))
    check(" ! 16 threads have ended, and nobody has joined or detached them: 128.0 MiB of stacks "
          "stay reserved for them, 1.0 MiB of stacks are resident." in
          words_of(a_process(*rows, reserved_mib=128).write()), "not joined")
    check("!" not in words_of(a_process(*rows, reserved_mib=40).write()), "as many are kept")
    snap = a_table()  # of a collector's heap alone
    snap.record("fact", "resident_bytes", 45 * MIB)
    name = snap.write()
    text = words_of(name)
    check(text.startswith(" Resident 45.0 MiB = live heap ") and " MiB not in this dump ! 99 % of "
          "the memory is not in this dump, which has the heap of a collector alone: dump again "
          "with --heaps all." in text, text)
    found = suspects(name, "--json").json()
    equal(sum(found["balance"].values()), 45 * MIB, "the parts add up")
    for rows in [(("glibc", LIVE, 1, 9), ("glibc", FREE, 3, 9)),  # too little to speak of
                 (("glibc", LIVE, 3, 9), ("shared memory", OTHER, 14, 0), ("data of binaries",
                                                                           OTHER, 21, 0)),
                 (("glibc", LIVE, 5, 9), ("code and constants of binaries", OTHER, 90, 0))]:
        check("!" not in suspects(a_process(*rows).write()).out, rows)
    snap = a_table()  # sizes that no process has
    for state in (LIVE, FREE, DIRTY, FREE):
        snap.record("memory", "glibc", state, 2**63 + 5, 2**63 + 5, 1)
    name = snap.write("sizes.snap")
    equal(suspects(name, "--json").json()["resident_bytes"], 2**63 - 1, "a bound")
    check("% is no live heap" in words_of(a_process(("glibc", LIVE, 5, 9),
                                                    ("glibc", FREE, 2**42, 1)).write()), "large")
    said = run("diff", name, a_process(("glibc", LIVE, 5, 9)).write("other.snap")).out
    check("8.0 EiB" in said and "then 5.0 MiB (-8.0 EiB)" in said, said)
    equal(suspects(a_table().write(), "--json").json()["resident_bytes"], None, "not known")
    check("Resident" not in suspects(a_table().write()).out, "nothing is said of what is not known")


def calm():
    """What is all of a small heap is no alarm where it is next to nothing of the process."""
    many, few = ("glibc", LIVE, 0.2, 9), ("glibc", LIVE, 1, 9)
    name = a_process(few, ("data of binaries", OTHER, 9, 0)).write()  # of 10 MiB
    text = words_of(name)
    check("no suspect: nothing keeps 2 % of the resident memory (-n 0 prints all). Most is this: "
          "g_cache (src/cache.c:12) alone keeps" in text and " 1. " not in text, text)
    check(" 1. g_cache" in " " + " ".join(suspects(name, "-n", 0).out.split()), "asked for all")
    equal([row["list"] for row in of(name)], ["owner"], "JSON has it")
    check(" 1. g_cache" in words_of(a_process(many, ("data of binaries", OTHER, 3, 0)).write()),
          "3 % of the process")


def calm_without_types():
    """Blocks of no known type are no alarm below 1 MiB; from there on they are, and lost ones are
    a fault of any size."""
    def small(kib, is_lost):
        snap = native(Snap())
        plain = snap.type("block", 0, 15)
        blocks = [snap.block(128, plain) for _ in range(kib)]
        for before, block in zip(blocks, blocks[1:]):
            snap.edge(before, block, 0)
        snap.root(snap.block(4, plain) if is_lost else blocks[0], "keymap", unit="keymap.c")
        snap.record("memory", "glibc", LIVE, 2 * MIB, 2 * MIB, kib)
        snap.record("memory", "data of binaries", OTHER, MIB, MIB, 0)
        snap.record("fact", "resident_bytes", 3 * MIB)
        return snap.write("small.snap")

    name = small(200, is_lost=False)
    text = words_of(name)
    check("no suspect: only blocks of no known type, below 1 MiB, keep 2 % of the resident memory "
          "(-n 0 prints all). Most is this: keymap alone keeps 200.0 KiB" in text and
          " 1. " not in text, text)
    check(" 1. keymap" in " " + " ".join(suspects(name, "-n", 0).out.split()), "asked for all")
    equal(of(name)[0]["words"], 200 * 128, "JSON has it")
    text = words_of(small(1030, is_lost=False))
    check(" 1. keymap alone keeps 1.0 MiB" in text, text)
    text = words_of(small(200, is_lost=True))
    check(" 1. Lost, as no root leads to it: 200.0 KiB" in text, text)


def by_brute_force():
    """Of random heaps: every block is its one owner's, or of the exact set of roots that reach it,
    or lost."""
    n_joint = 0
    for seed in range(max(26, rounds(80))): # n_joint needs some
        snap = native(random_snap(7000 + seed, random.Random(seed).randint(0, 40), with_weak=False))
        name = snap.write("random.snap")
        graph, owned = snap.graph(), {}
        reached = {node: reach(graph.strong, node)
                   for node, (_, level, *_) in enumerate(snap.tree()) if level == 5}
        for node in range(graph.n_tree, len(graph.words)):
            if not graph.static[node]:
                owners = frozenset(f"#{root}" for root in reached if node in reached[root])
                owned[owners] = owned.get(owners, 0) + graph.words[node]
        rows = of(name, "--threshold", 0, "-n", 0)
        found = {frozenset(row["roots"]): row["words"] for row in rows
                 if row["list"] in ("owner", "joint")}
        expected = {owners: words for owners, words in owned.items() if owners}
        equal(found, expected, f"seed {seed}: by whom")
        lost = [row["words"] for row in rows if row["list"] == "lost"]
        if len(lost) < 12:  # as many kinds are looked into
            equal(sum(lost), owned.get(frozenset(), 0), f"seed {seed}: lost")
        n_joint += sum(row["list"] == "joint" for row in rows)
        for row in rows[:1]:
            shown(row["command"])
    check(n_joint > rounds(26), f"only {n_joint} sets")


main(an_owner, a_list, a_few_are_most_of_it, untyped_of_one_size, untyped_of_many_sizes,
     by_members, of_a_thread, many_without_names, joint_owners, joint_owners_of_many, doubtful,
     who_keeps_it,
     what_every_program_of_a_runtime_has, by_convention, who_counts, plain_pointers,
     pointers_that_look, by_values_alone, small_heaps, at_the_end_of_info, what_is_lost,
     beside_and_below, as_many_beside, untyped_below_a_member, groups_of_untyped, cycles,
     doubtful_ranks_low, copies_and_a_second_fault, equal_groups, calm, calm_without_types,
     what_is_wasted, what_is_unknown_once, who_allocated, rounded_up, nothing_to_say,
     without_roots, order_and_limits,
     all_formats, hostile_names, thresholds, alike, balance, by_brute_force)
END
