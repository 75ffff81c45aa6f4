# diff: series of made snapshots: what is said first, in every format; what is refused, sorted,
# left out or warned of; thresholds; key files in place of snapshots.
. "$(dirname "$0")/lib.sh"

mkdir "$work/bin"
ln -s "$HEAPSNAP" "$work/bin/heapsnap"
PATH=$work/bin:$PATH python <<'END'
import os
import shlex
import shutil
from snapcli import *

HOUR = 3600 * 10**9


RESIDENT = 65536 # more bytes an hour

n_made = 0


def kept(snap):
    """Written under a name of its own."""
    global n_made
    n_made += 1
    return snap.write(f"{n_made}.snap")


def heap(at, sessions, cache=100, command="./server", pid=42, build="aa", lost=0, **facts):
    """So many sessions of 4 words with names of 6; a cache of texts; blocks that are lost."""
    snap = Snap()
    snap.facts.update(command=command, pid=pid, taken_ns=int(at * HOUR), started_ns=pid * HOUR,
                      resident_bytes=(1 << 20) + int(at * RESIDENT), **facts)
    snap.record("runtime", "glibc", "2.36", 0)
    snap.record("binary", "/opt/server", build, 0x1000, 1, 1)
    session, text = snap.type("struct session", 0, 12), snap.type("char[]", 0, 14)
    snap.record("member", session, 0, "next", "struct session *")
    before = None
    for _ in range(sessions):
        one, name = snap.block(4, session), snap.block(6, text)
        snap.edge(one, name, 1)
        if before is not None:
            snap.edge(before, one, 0)
        else:
            snap.root(one, "sessions", unit="server.c")
        before = one
    snap.root(snap.block(cache, text), "cache", unit="server.c")
    for _ in range(lost):
        snap.block(8, text)
    return snap


def series(*sessions, **more):
    """Paths of snapshots an hour apart."""
    return [kept(heap(1 + i, n, cache=100 + 37 * (i % 3), **more)) for i, n in
            enumerate(sessions)]


def fails(arguments, text, code=2):
    result = run("diff", *arguments, code=code)
    check(text in result.err, f"'{text}' is not in: {result.err}")


def a_leak():
    paths = series(10, 20, 30, 40, 50)
    result = run("diff", *paths, "--json").json()
    equal(list(result), ["schema", "word_bytes", "snapshots", "memory", "balance",
                         "balance_verdict", "verdict", "growth", "population", "growing",
                         "sites", "command", "command_is_of_new", "place", "entries",
                         "heap_grows", "keys", "roots", "sets", "types", "leaks"], "the document")
    equal((result["schema"], result["growth"], result["growing"]),
          ("heapsnap.diff/1", "steady", "sessions > struct session"), "what grows")
    first = result["keys"][0]
    equal(first, {"key": "sessions > struct session", "words": [100, 200, 300, 400, 500],
                  "own_words": [40, 80, 120, 160, 200], "objects": [20, 40, 60, 80, 100],
                  "score": 100, "growth_words": 400, "words_per_hour": 100, "steps_up": 4,
                  "state": "grew"}, "its row")
    equal(result["population"], {"type": "struct session", "objects": [10, 20, 30, 40, 50]},
          "by whose number")
    equal((result["place"], result["entries"]), ("sessions", None), "its place")
    equal([sum(end.values()) for end in result["memory"]],
          [2 * end["resident_bytes"] for end in result["memory"]], "the parts add up")
    for part in ["sessions grows at every step, from 800 B to 3.9 KiB in 4 hours, from 10 to 50 "
                 "struct session: 91 % of what the heap grew by.", "+800 B an hour",
                 "; the process has twice its size in 21 hours"]:
        check(part in result["verdict"], f"'{part}' is not in: {result['verdict']}")
    words = shlex.split(result["command"])
    equal(words[:2], ["heapsnap", "paths"], "the command")
    run(*words[1:])
    root = [row for row in result["roots"] if row["root"] == "sessions"][0]
    equal(root["words"], [100, 200, 300, 400, 500], "the root")
    table = run("diff", *paths).lines()
    check(table[0].startswith("sessions grows at every step"), table[0])
    check(any("▁▃▅▆█" in line and "4/4" in line for line in table), "a sparkline")
    only = run("diff", *paths, "--by", "type", "-n", "1").out
    check("types" in only and "keys:" not in only and "[1 others changed]" in only, only)


def formats():
    paths = series(10, 20, 30, 40)
    lines = run("diff", *paths, "--format", "tsv").lines()
    equal(lines[0].split("\t")[:4], ["list", "growth_words", "words_per_hour", "steps_up"],
          "the heading")
    first = dict(zip(lines[0].split("\t"), lines[1].split("\t")))
    equal((first["list"], first["growth_words"], first["words_per_hour"], first["steps_up"],
           first["key"]), ("keys", "300", "100", "3", "sessions > struct session"), "the first row")
    rows = [json.loads(line) for line in run("diff", *paths, "--format", "ndjson").lines()]
    equal(rows[0]["list"], "keys", "a row a line")
    equal({name: str(rows[0][name]) for name in first if name not in ("words", "objects")},
          {name: first[name] for name in first if name not in ("words", "objects")},
          "JSON has the columns of TSV")
    equal({row["list"] for row in rows}, {"keys", "roots", "types"}, "lists")
    equal(run("diff", *paths, "--json").raw, run("diff", *paths, "--json").raw, "twice the same")


def two():
    paths = series(10, 40)
    text = run("diff", *paths).out.replace("\n", " ")
    check("Nothing grew to speak of: sessions grew most, from 800 B to 3.1 KiB in 60 minutes, from "
          "10 to 40 struct session" in text, text)
    check("Two snapshots" not in text and "an hour" not in text, text)
    text = run("diff", kept(heap(1, 10)), kept(heap(2, 40000))).out.replace("\n", " ")
    check(text.startswith("sessions grew most, from 800 B to 3.1 MiB"), text)
    check("Two snapshots cannot tell a leak from a load" in text, text)
    check("One of the new ones: heapsnap paths" in text, text)
    text = run("diff", kept(heap(1, 40)), kept(heap(2, 10))).out.replace("\n", " ")
    check("Nothing grew. The heap went from" in text, text)


def what_shrinks_comes_and_goes():
    a, b = kept(heap(1, 30, cache=500)), kept(heap(2, 10, cache=100, lost=3))
    result = run("diff", a, b, "--json").json()
    states = {row["key"]: row["state"] for row in result["keys"]}
    equal((states["sessions > struct session"], states["cache > char[]"]), ("shrank",) * 2, "keys")
    equal(states["[unreached] > char[]"], "came", "lost blocks")
    equal([(row["type"], row["certainty"], row["words_each"], row["objects"]) for row in
           result["leaks"]], [("char[]", "certain", 8, [0, 3])], "leaks")


def key_files():
    paths = series(10, 20, 30, 40)
    whole = run("diff", *paths, "--json").json()
    keys = [path + ".keys" for path in paths]
    for path in paths:
        check(os.path.getsize(path + ".keys") < 2000, "a key file is small")
        os.remove(path)
        os.remove(path + ".idx")
    alone = run("diff", *keys, "--json").json()
    for part in ["verdict", "growing", "keys", "roots", "sets", "types", "leaks"]:
        equal(alone[part], whole[part], part)
    equal(alone["command"], None, "no block can be shown")
    data = open(keys[1], "rb").read()
    open(keys[1], "wb").write(data[:-3])
    fails(keys, "the key file is damaged", code=4)


def stale_keys_are_made_anew():
    a, b = series(10, 20)
    run("diff", a, b)
    shutil.copy(b + ".keys", a + ".keys")
    result = run("diff", a, b, "--json")
    check("is not used: it is of another snapshot" in result.err, result.err)
    equal(result.json()["keys"][0]["words"], [100, 200], "not what the stale one says")
    os.remove(a + ".keys")
    os.mkdir(a + ".keys")
    equal(run("diff", a, b, "--json").json()["keys"][0]["words"], [100, 200], "cannot be kept")


def a_folder():
    folder = os.path.join(WORK, "folder")
    os.mkdir(folder)
    for i, path in enumerate(series(10, 20, 30, 40, 50)):
        os.rename(path, f"{folder}/heap-{i}.snap")
    heap(0.5, 500, pid=7).write(f"{folder}/heap-before.snap")
    result = run("diff", folder, "--json")
    check("1 snapshot of other processes is left out" in result.err, result.err)
    equal(result.json()["keys"][0]["words"], [100, 200, 300, 400, 500], "the series")
    os.remove(f"{folder}/heap-0.snap")
    data = open(f"{folder}/heap-2.snap", "rb").read()
    open(f"{folder}/heap-2.snap", "wb").write(data[:len(data) // 2])
    result = run("diff", folder, "--json")
    check("left out: " in result.err, result.err)
    equal(result.json()["keys"][0]["words"], [100, 200, 400, 500], "the first by its keys")
    fails([folder, folder], "give it alone")
    empty = os.path.join(WORK, "empty")
    os.mkdir(empty)
    fails([empty], "the folder has no snapshot")


def what_does_not_belong_together():
    a, b = series(10, 20)
    fails([a], "there is no other snapshot")
    fails([a, kept(heap(3, 10, command="./client", build="bb"))],
          "they are of different programs")
    run("diff", a, kept(heap(3, 10, command="./other-name", build="aa")), code=2)
    fails([a, kept(heap(3, 10, word_bytes=1))], "their words have different sizes")
    run("diff", a, b, "--policy", "conservative")
    fails([a + ".conservative.keys", b], "different policies")
    for other, text in [(dict(build="bb"), "different builds"), (dict(pid=43), "started anew")]:
        result = run("diff", a, kept(heap(3, 10, **other)))
        check(text in result.err, result.err)
    open(os.path.join(WORK, "junk"), "w").write("junk")
    fails([a, os.path.join(WORK, "junk")], "junk", code=4)
    fails([a, os.path.join(WORK, "absent")], "absent", code=5)


def orders_and_twins():
    a, b, c = series(10, 20, 30)
    result = run("diff", c, a, b, "--json")
    check("given in another order" in result.err, result.err)
    equal(result.json()["keys"][0]["words"], [100, 200, 300], "sorted by time")
    result = run("diff", a, b, b, c, "--json")
    check("it counts once" in result.err, result.err)
    equal(result.json()["keys"][0]["words"], [100, 200, 300], "once")
    equal(run("diff", a, a).lines()[0], "Nothing grew: these are the same snapshot.", "twins")
    result = run("diff", kept(heap(0, 30)), kept(heap(0, 10)), "--json")
    check("not all snapshots say when" in result.err, result.err)
    row = [r for r in result.json()["keys"] if r["key"] == "sessions > struct session"][0]
    equal((row["words"], row["words_per_hour"]), ([300, 100], None), "in the order given")


def thresholds():
    paths = series(10, 20, 30, 40)
    run("diff", *paths, "--fail-growth", "2400", code=0)
    run("diff", *paths, "--fail-growth", "2399", code=1)
    run("diff", *paths, "--fail-growth", "1KiB", "--json", code=1)
    run("diff", *paths, "--fail-growth", "10%", code=1)
    run("diff", *paths, "--fail-growth", "1000%", code=0)
    fails([*paths, "--fail-growth", "much"], "--fail-growth")
    fails([*paths, "--fail-growth", "x%"], "is no size and no percentage")
    run("diff", "--baseline", paths[0], paths[3], "--fail-growth", "1KiB", code=1)
    result = run("diff", "--baseline", paths[3], paths[0], paths[1], "--json").json()
    equal([snap["baseline"] for snap in result["snapshots"]], [True, False, False], "first")
    row = [r for r in result["keys"] if r["key"] == "sessions > struct session"][0]
    equal(row["words"], [400, 100, 200], "whatever its time")


def sites():
    paths = []
    for i in range(4):
        snap = heap(1 + i, 10 + 10 * i)
        record = snap.sampler("record", 4)
        site = snap.site(("malloc", "", 0), ("add_session", "server.c", 12))
        for n in range(5 + i):
            snap.sample(n + 1, 2 * n, sampler=record, site=site)
        paths.append(kept(snap))
    result = run("diff", *paths, "--json").json()
    check(len(result["sites"]) == 1 and "add_session" in result["sites"][0], result["sites"])
    check("Allocated by add_session" in result["verdict"], result["verdict"])


def hostile_names():
    paths = []
    for i in range(4):
        snap = heap(1 + i, 10)
        snap.root(snap.block(10 + 10 * i, snap.type("evil\x1b[31m\"\n\u202e", 0, 12)),
                  "root\x1b]0;\u2066'", unit="server.c")
        paths.append(kept(snap))
    result = run("diff", *paths, "--json").json()
    check("\x1b" in result["growing"], "JSON has the name itself")
    for form in ["table", "tsv", "json", "ndjson"]:
        out = run("diff", *paths, "--format", form).raw
        check(b"\x1b" not in out and "\u202e".encode() not in out, f"{form} is safe")


def the_heap_alone():
    """Lists that hang on another of four roots in each dump: no key says what grows."""
    def dump(i):
        snap = heap(1 + i, 10)
        cell = snap.type("struct cell", 0, 12)
        for one in range(40):
            first = before = snap.block(4, cell)
            for _ in range(6 + i):
                block = snap.block(4, cell)
                snap.edge(before, block)
                before = block
            snap.root(first, f"v{(one // 10 + i) % 4}", unit="server.c")
        for n in range(4):
            snap.root(snap.block(300 if n == i % 4 else 2, cell), f"v{n}", unit="server.c")
        return kept(snap)
    paths = [dump(i) for i in range(5)]
    result = run("diff", *paths, "--json").json()
    equal((result["growth"] == "steady", result["heap_grows"]), (False, True), "what grows")
    for part in ["The heap as a whole grows at every step, from ", "no key has half of that",
                 "an hour", "There is more of struct cell (+5.0 KiB)."]:
        check(part in result["verdict"], f"'{part}' is not in: {result['verdict']}")
    words = shlex.split(result["command"])
    equal(words, ["heapsnap", "paths", paths[4], "--to", "type:struct cell"], "the command")
    run(*words[1:])
    check("Who holds most of it: heapsnap paths" in run("diff", *paths).out, "in the table")
    run("diff", *paths, "--fail-growth", "1KiB", code=1)
    older = [word for path in paths[:-1] for word in ("--baseline", path)]
    first = run("suspects", paths[-1], *older, "--json").json()["suspects"][0]
    equal((first["list"], first["words"]), ("growing", result["snapshots"][4]["heap_words"]),
          "the first suspect")
    check(first["sentence"].startswith("The heap as a whole grows"), first["sentence"])


def suspects_with_older_ones():
    paths = series(10, 20, 30, 40, 50)
    older = [word for path in paths[:-1] for word in ("--baseline", path)]
    result = run("suspects", paths[-1], *older, "--json").json()["suspects"]
    equal((result[0]["list"], result[0]["holder"], result[0]["words"], result[0]["type"]),
          ("growing", "sessions > struct session", 500, "struct session"), "the first")
    check("grows at every step" in result[0]["sentence"], result[0]["sentence"])
    words = shlex.split(result[0]["command"])
    equal(words, ["heapsnap", "diff", *paths], "the command")
    run(*words[1:])
    equal(result[1:], run("suspects", paths[-1], "--json").json()["suspects"], "the others")
    text = run("suspects", paths[-1], *older).out
    check(text.startswith("Resident 1.3 MiB = live heap "), text)
    check("\n\n 1. sessions grows at every step" in text, text)
    failed = run("suspects", paths[0], "--baseline", paths[1], code=2)
    check("is not older than" in failed.err, failed.err)


def garbage_stands_apart():
    """What a collector will free comes and goes: it leads no verdict, and is told by itself."""
    def collected(at, sessions, garbage, runtime="ocaml", lost=0):
        snap = Snap()
        snap.facts.update(command="./server", pid=42, taken_ns=int(at * HOUR), started_ns=HOUR)
        snap.record("runtime", runtime, "4.14.1", 0)
        text, string = snap.type("Session.t", 0, 12), snap.type("string", 0, 14)
        table = snap.block(100, text)
        snap.root(table, "Server.sessions", unit="server.ml")
        for i in range(sessions):
            snap.edge(table, snap.block(4, text), i)
        for _ in range(garbage):
            snap.block(20, string, state=8 if lost else 0)
        for _ in range(lost):
            snap.block(100, string)
        if lost:
            snap.record("runtime", "glibc", "2.36", 0)
        return kept(snap)

    def verdict(*paths):
        return run("diff", *paths, "--json").json()["verdict"]

    said = verdict(collected(1, 10, 100), collected(2, 40, 900))
    check(said.startswith("Server.sessions grew most, "), said)
    check("Garbage, which the collector will free, went from 15.6 KiB to 140.6 KiB." in said, said)
    said = verdict(collected(1, 10, 100), collected(2, 10, 900))
    check(said.startswith("Nothing grew.") and "Garbage, which" in said, said)
    said = verdict(*[collected(i, 10, 200 * i) for i in range(1, 6)])
    check("grows at every step" not in said, said)
    said = verdict(collected(1, 10, 900), collected(2, 40, 100))
    check("Garbage" not in said, said)
    said = verdict(collected(1, 10, 100, "glibc"), collected(2, 40, 900, "glibc"))
    check(said.startswith("What is lost, as no root leads to it, grew most, from "), said)
    check(" from 100 to 900 string: " in said, said)
    pair = collected(1, 10, 100), collected(2, 40, 900)
    out = run("diff", *pair).out
    check("[unreached]" not in out, out)
    check("[unreached, which the collector will free: 1 changed]" in out, out)
    out = run("diff", *pair, "--by", "key").out
    check("[unreached] > string" in out.split("unreached: what the collector will free")[-1], out)
    rows = [row["key"] for row in run("diff", *pair, "--json").json()["keys"]]
    check(rows[-1].startswith("[unreached]"), rows)
    # What is lost beside it, of malloc, is growth.
    out = run("diff", collected(1, 10, 900, lost=10), collected(2, 10, 1000, lost=500)).out
    said = out.replace("\n", " ")
    check(said.startswith("What is lost, as no root leads to it"), said)
    check("Garbage, which the collector will free, went from 140.6 KiB to 156.3 KiB." in said, said)
    check("[lost] > string" in out and "[unreached] >" not in out, out)
    result = run("diff", collected(1, 10, 100, "glibc"), collected(2, 10, 900, "glibc"))
    command = next(line for line in result.lines() if line.startswith("All that is lost: heapsnap"))
    run(*shlex.split(command)[5:])


def nothing_is_said_of_an_hour_after_seconds():
    """Six seconds tell what grew in them; nor is a little growth drawn out to years."""
    def verdict(hours, resident):
        paths = []
        for i in range(5):
            snap = heap(1, 10 + 10 * i)
            snap.facts.update(taken_ns=HOUR + int(i * hours / 4 * HOUR),
                              resident_bytes=(1 << 20) + i * resident)
            paths.append(kept(snap))
        result = run("diff", *paths, "--json").json()
        equal(result["keys"][0]["words_per_hour"] is None, hours < 0.1, "a rate in JSON")
        table = run("diff", *paths).out
        equal("AN HOUR" in table, hours >= 0.1, "the heading")
        return result["verdict"]

    said = verdict(6 / 3600, 1 << 18)
    check("from 800 B to 3.9 KiB in 6 seconds, from 10 to 50 struct session: " in said, said)
    check("an hour" not in said and "twice" not in said, said)
    said = verdict(0.5, 1 << 18)
    check(" in 30 minutes, " in said and "an hour; the process has twice" in said, said)
    said = verdict(0.5, 1 << 9)
    check("an hour." in said and "twice" not in said, said)


def a_type_that_is_known_now_did_not_grow():
    """What is called so in one dump and not in the other is one key, and one type."""
    def dump(at, name, n, n_others=30, more=0):
        snap = heap(at, 10)
        of = snap.type(name, 0, 12) if name else snap.type("block of 32 bytes", 0, 15)
        other = snap.type("block of 32 bytes", 0, 15)
        first = snap.block(n + n_others, snap.type("struct table", 0, 12))
        snap.root(first, "table", unit="server.c")
        for i in range(n + n_others):
            item = snap.block(4, of if i < n else other)
            snap.edge(item, snap.block(3, snap.type("char[]", 0, 14)), 1)
            snap.edge(first, item, i)
        snap.root(snap.block(50 + more, snap.type("struct spare", 0, 12)), "spare")
        return kept(snap)

    def keys(*paths):
        result = run("diff", *paths, "--json").json()
        return result, {row["key"]: row["words"] for row in result["keys"]}

    for old, new, n_others in [(None, "struct item", 30), ("struct item", None, 0),
                               ("struct item", "struct app::item", 30), (None, "struct item", 0)]:
        result, words = keys(dump(1, old, 100, n_others), dump(2, new, 100, n_others, more=1))
        check("speak of: spare > struct spare grew most, from 400 B to 408 B" in result["verdict"],
              f"{old} is {new}: {result['verdict']}")
        key = f"table > struct table > {new or 'block'}"
        check(words[key][0] == words[key][1] > 0, f"{old} is {new}: {words}")
        equal(words[key + " > char[]"], [300 if new or not n_others else 390] * 2, key + " below")
        if old is None or new is None:
            types = {row["type"]: row["words"] for row in result["types"]}
            name = new or "block of 32 bytes"
            check(types[name][0] == types[name][1], f"{old} is {new}: {types}")
    result, words = keys(dump(1, None, 100), dump(2, "struct item", 200))
    equal(words["table > struct table > struct item"], [700, 1400], "what is known now, and more")
    result, words = keys(dump(1, "struct item", 100), dump(2, "struct other", 300))
    equal(words["table > struct table > struct other"], [0, 2100], "another thing came")


def what_grew_is_no_heap():
    """The balance of the oldest and the newest comes first, and says so where mappings grew."""
    MIB = 1 << 20

    def dump(at, *parts, runtime=None):
        snap = heap(at, 100 + int(at))
        if runtime:
            snap.record("runtime", runtime, "", 3)  # unread
        del snap.facts["resident_bytes"]
        for owner, state, mib in parts:
            snap.record("memory", owner, state, int(mib * MIB), int(mib * MIB), 1)
        snap.facts["resident_bytes"] = sum(int(part[2] * MIB) for part in parts)
        return kept(snap)

    live, free, other = 0, 2, 6
    then = [("glibc", live, 2), ("glibc", free, 5), ("unclaimed", other, 40)]
    now = [("glibc", live, 2.2), ("glibc", free, 4), ("unclaimed", other, 80)]
    paths = [dump(1, *then), dump(2, *then), dump(3, *now)]
    lines = run("diff", *paths).out.splitlines()
    equal(lines[:3], ["Resident 47.0 MiB, then 86.2 MiB (+39.2 MiB): mappings +40.0 MiB",
                      "!  What grew is mappings: 40.0 MiB, then 80.0 MiB.", lines[2]], "in words")
    found = run("diff", *paths, "--json").json()
    equal([found["balance"], found["balance_verdict"]], [lines[0], lines[1][3:]], "in JSON")
    lines = run("diff", dump(1, *then), dump(2, *now, runtime="PHP (php)")).out.splitlines()
    equal(lines[1], "!  What grew is mappings, mostly the heap of PHP (php), which is not "
          "read: 40.0 MiB, then 80.0 MiB.", "whose they are")
    later = [("glibc", live, 60), ("glibc", free, 4), ("unclaimed", other, 60)]
    text = run("diff", dump(1, *then), dump(2, *later)).out
    check("(+77.0 MiB): live heap +58.0 MiB, mappings +20.0 MiB" in text and "!" not in text, text)
    paths = series(10, 20)
    check("Resident" not in run("diff", *paths).out, "what is not known")
    equal(run("diff", *paths, "--json").json()["balance"], None, "in JSON")


for test in [a_leak, formats, two, what_shrinks_comes_and_goes, key_files,
             stale_keys_are_made_anew, a_folder, what_does_not_belong_together, orders_and_twins,
             thresholds, sites, hostile_names, the_heap_alone,
             suspects_with_older_ones, garbage_stands_apart,
             nothing_is_said_of_an_hour_after_seconds, a_type_that_is_known_now_did_not_grow,
             what_grew_is_no_heap]:
    try:
        test()
    except Exception as error:
        raise Failure(f"{test.__name__}: {error}") from error
END
