# Samples joined with their sites, with a trace and with their keepers: estimates, the cross table,
# sites below roots, merged paths, the cases of an id, and every trace that must be refused.
. "$(dirname "$0")/lib.sh"

python <<'END'
from ctf import Trace
from snapcli import *

BEGUN_US = 1_500_000_000_000_000
ADD = ("Cache.add", "cache.ml", 12)
PUSH = ("Log.push", "log.ml", 7)
RUN = ("Main.run", "main.ml", 3)
OTHER = ("Main.other", "main.ml", 9)


def heap(period=100, **facts):
    """A table of 6 strings, one string that is shared, a lost one and one outside of the heap."""
    snap = Snap()
    snap.facts.update({"taken_ns": (BEGUN_US + 60_000_000) * 1000,
                       "started_ns": (BEGUN_US - 100_000) * 1000, **facts})
    cons, string = snap.type("cons"), snap.type("string", 252, 2)
    cells = [snap.block(3, cons) for _ in range(6)]
    for a, b in zip(cells, cells[1:]):
        snap.edge(a, b, 1)
    strings = [snap.block(20 + i, string) for i in range(6)]
    for a, b in zip(cells, strings):
        snap.edge(a, b, 0)
    shared, head = snap.block(50, string), snap.block(3, cons)
    snap.edge(head, shared, 0)
    snap.edge(cells[0], shared, 2)
    snap.lost = snap.block(9, string)
    snap.root(cells[0], "Cache.table", unit="Cache")
    snap.root(head, "Log.head", unit="Log")
    snap.strings, snap.shared = strings, shared
    snap.period = period
    return snap


def with_sites():
    snap = heap()
    memprof = snap.sampler("memprof", 100, BEGUN_US * 1000, 0, "/srv/app.ctf")
    sites = [snap.site(ADD, RUN), snap.site(ADD, OTHER), None]
    for i, block in enumerate(snap.strings):
        snap.sample(10 + i, block, n=1 + i % 2, sampler=memprof, site=sites[i % 3])
    snap.sample(30, snap.shared, sampler=memprof, site=snap.site(PUSH, RUN))
    snap.sample(31, snap.lost, sampler=memprof, site=sites[0])
    snap.sample(32, None, words=5, sampler=memprof, site=sites[1])
    return snap


def with_trace(snap, **about):
    """The same samples, their backtraces in a trace: ids 0 to 8, and 9 and 10 that are not in the
    process, one of them collected; 11 is in the process alone."""
    trace = Trace(**about)
    add, push = trace.code(RUN, ADD), trace.code(PUSH)
    run_code = trace.code(RUN)
    snap.sampler("memprof", snap.period, 0, 0, "/srv/app.ctf")
    blocks = snap.strings + [snap.shared, snap.lost]
    for at, block in enumerate(blocks):
        words = snap.blocks[block][0]
        id = trace.alloc(1000 * at, words - 1, [run_code, add if at < 6 else push], 1 + at % 2)
        snap.sample(id, block, n=1 + at % 2, state=1)
        trace.promote(1000 * at + 1, id)
    id = trace.alloc(9000, 400, [run_code, add], 1, source=2)
    snap.sample(id, snap.strings[0], words=70) # custom: what is outside differs
    trace.alloc(10_000, 7, [run_code, push])
    gone = trace.alloc(11_000, 7, [run_code, push])
    trace.collect(12_000, gone)
    snap.sample(11, snap.strings[1])
    return trace


def trace_path(trace, name="app.ctf"):
    return trace.write(os.path.join(WORK, name))


def groups(path, by, *arguments):
    found = run("samples", path, "--group-by", by, "--json", *arguments).json()
    equal(found["schema"], "heapsnap.samples-groups/1", "schema")
    equal(found["certainty"], "sampled", "certainty")
    rows = found["groups"] + [found["others"]]
    for key in ["estimated_words", "n_samples", "n_blocks"]:
        equal(sum(row[key] for row in rows), found["total"][key], key)
    return found


def estimates():
    path = with_sites().write()
    found = run("samples", path, "--json").json()
    whole = found["samplers"][0]
    equal((whole["estimated_words"], whole["error_words"]), (1200, 346), "all samples")
    equal(whole["exact_words"], 215, "the heap")
    equal(whole["since_start"], True, "since the start")
    row = {row["sample"]: row for row in found["samples"]}[11]
    equal((row["estimated_words"], row["error_words"]), (200, 141), "two samples at 100 words")
    equal(row["site"][0], {"function": "Cache.add", "file": "cache.ml", "line": 12, "module": None,
                           "offset": None}, "the innermost frame")
    equal(row["site"][1]["function"], "Main.other", "its caller")
    equal(row["join"], "no trace given", "without a trace")
    out = run("samples", path).out
    check("estimate of all live words: 1200 +- 346 (sampled, memprof)\n  heap: 215 words (exact)\n"
          in out, out)
    check("Cache.add cache.ml:12" in out, out)
    check("hint: where they were allocated is in the trace: --trace /srv/app.ctf"
          in run("samples", path).err, "a hint at the trace")


def horvitz_thompson():
    snap = heap()
    snap.sampler("jemalloc", 100)
    snap.sample(1, snap.shared)
    row = run("samples", snap.write("je.snap"), "--json").json()["samples"][0]
    equal((row["estimated_words"], row["error_words"]), (127, 99), "50 words at 100")


def rate_unknown():
    snap = heap()
    snap.sampler("memprof", 0)
    snap.sample(1, snap.shared, n=3, site=snap.site(ADD))
    snap.sample(2, snap.lost, n=1)
    path = snap.write("rate.snap")
    found = groups_of_counts(path)
    equal([row["n_samples"] for row in found["groups"]], [3, 1], "sorted by samples")
    equal([row["share_percent"] for row in found["groups"]], [75.0, 25.0], "shares of samples")
    table = run("samples", path, "--group-by", "site").out
    check("its rate is not known: counts, no words" in table and "SAMPLED" not in table, table)
    equal(run("samples", path, "--json").json()["samples"][0]["estimated_words"], None, "unknown")
    check("its rate is not known" in run("roots", path, "--sites").out, "roots")


def groups_of_counts(path):
    found = run("samples", path, "--group-by", "site", "--json").json()
    equal([row["estimated_words"] for row in found["groups"]], [None, None], "no words")
    return found


def cross_table():
    path = with_sites().write()
    rows = [(row["site"] and row["site"]["function"], row["root"], row["keeper"],
             row["estimated_words"], row["error_words"], row["n_samples"], row["n_backtraces"])
            for row in groups(path, "site,root")["groups"]]
    equal(rows, [("Cache.add", "Cache.table", "root", 600, 245, 6, 2),
                 (None, "Cache.table", "root", 300, 173, 3, 0),
                 ("Cache.add", None, "unreached", 100, 100, 1, 1),
                 ("Cache.add", None, "not_in_heap", 100, 100, 1, 1),
                 ("Log.push", None, "shared", 100, 100, 1, 1)], "site x root")
    equal([(row["type"], row["n_samples"]) for row in groups(path, "type")["groups"]],
          [("string", 11), (None, 1)], "by type")
    equal([(row["root"], row["n_samples"]) for row in groups(path, "root")["groups"]],
          [("Cache.table", 9), (None, 1), (None, 1), (None, 1)], "by root")
    equal(len(groups(path, "root,type")["groups"]), 4, "by root and type")
    equal(len(groups(path, "site,root,type")["groups"]), 5, "by all three")
    found = groups(path, "site,root", "-n", 2)
    equal((len(found["groups"]), found["others"]["count"]), (2, 3), "two rows, others folded")
    found = groups(path, "site,root", "--min-words", 300)
    equal((len(found["groups"]), found["others"]["count"]), (2, 3), "rows of 300 words and more")
    equal(found["total"]["error_words"], 346, "error of the total")
    table = run("samples", path, "--group-by", "site,root", "-n", 2).out.splitlines()
    check(re_all(table[-1], "1200", "100.0%", "12", "TOTAL"), table[-1])
    check(re_all(table[-2], "300", "[3 others]"), table[-2])
    lines = run("samples", path, "--group-by", "site,root", "--format", "tsv").lines()
    equal(lines[0], "estimated_words\terror_words\tn_samples\tn_blocks\tsampler\troot\tsite", "tsv")
    equal(lines[1], "600\t245\t6\t4\tmemprof\tCache.table\tCache.add cache.ml:12", "tsv")
    lines = run("samples", path, "--group-by", "site", "--format", "ndjson").lines()
    equal(len(lines), 3, "ndjson")
    check("one of site|root|type" in run("samples", path, "--group-by", "frame", code=2).err,
          "choices")


def re_all(line, *words):
    return all(word in line.split() or word in line for word in words)


def sites_of_roots():
    path = with_sites().write()
    found = run("roots", path, "--sites", "--json").json()
    roots = {root["name"]: root for root in found["roots"]}
    table = roots["Cache.table"]
    equal((table["sampled_words"], table["sampled_error_words"], table["n_samples"]),
          (900, 300, 9), "sampled words of the root")
    equal([(site["site"] and site["site"]["function"], site["estimated_words"],
            site["error_words"]) for site in table["sites"]],
          [("Cache.add", 600, 245), (None, 300, 173)], "its sites")
    equal(roots["Log.head"]["sites"], [], "shared blocks are nobody's")
    check(roots["Log.head"]["retained_words"] == 3, "as without --sites")
    plain = run("roots", path, "--json").json()
    equal({r["name"]: r["retained_words"] for r in plain["roots"]},
          {r["name"]: r["retained_words"] for r in found["roots"]}, "exact words")
    for by, name in [("kind", "globals"), ("module", "coqtop"), ("unit", "Cache")]:
        rows = run("roots", path, "--sites", "--group-by", by, "--json").json()["roots"]
        row = {root["name"]: root for root in rows}[name]
        equal(row["n_samples"], 9 if by == "unit" else 10, f"by {by}")
    err = run("roots", path, "--sites", "--group-by", "thread", code=2).err
    check("cannot be told for whole threads" in err and "\nhint: " in err, err)
    out = run("roots", path, "--sites").out
    check("RETAINED (EXACT)" in out and "    Cache.add cache.ml:12" in out, out)
    totals = [line.split()[:2] for line in out.splitlines() if line.endswith("TOTAL")]
    equal(totals, [["215", "100.0%"]], "sums close")
    equal(len(run("roots", path, "--sites", "--format", "tsv").lines()), 1 + 2 + 2, "tsv")


def paths_of_a_site():
    path = with_sites().write()
    found = run("paths", path, "--to", "site:Cache.add", "--json").json()
    equal(found["schema"], "heapsnap.site-paths/1", "schema")
    ways = [(way["keeper"], way["root"], way["types"], way["estimated_words"], way["n_blocks"])
            for way in found["paths"]]
    equal(ways, [("root", "Cache.table", ["cons", "string"], 600, 4),
                 ("unreached", None, ["string"], 100, 1),
                 ("not_in_heap", None, [], 100, 1)], "ways")
    first = found["paths"][0]
    equal(first["path"]["root"]["name"], "Cache.table", "the path's root")
    equal([step["type"] for step in first["path"]["steps"]][-2:], ["cons", "string"], "its steps")
    equal([way["path"] is None for way in found["paths"]], [False, True, True], "paths")
    for name in ["cache.ml:12", "cache.ml", "add"]:
        equal(run("paths", path, "--to", f"site:{name}", "--json").json()["total"],
              found["total"], name)
    shared = run("paths", path, "--to", "site:Log", "--json").json()["paths"]
    equal([(way["keeper"], way["n_blocks"]) for way in shared], [("shared", 1)], "shared")
    check(shared[0]["path"] is not None, "one way to what is shared")
    equal(run("paths", path, "--to", "site:...Main.run", "--json").json()["total"]["n_blocks"], 4,
          "in any frame")
    limited = run("paths", path, "--to", "site:Cache.add", "--limit", 1, "--json").json()
    equal((len(limited["paths"]), limited["others"]["count"]), (1, 2), "--limit")
    out = run("paths", path, "--to", "site:Cache.add").out
    equal(out.splitlines()[0], "Cache.add: 8 samples that stand for 800 words, +- 283", "heading")
    rows = [line.split() for line in out.splitlines()[2:]]
    equal([(row[0], row[1], " ".join(row[5:])) for row in rows[:3]],
          [("6", "600", "global Cache.table"), ("5", "500", "cons{*} > string"),
           ("1", "100", "cons+0 > string")], "one tree")
    check("[unreached]" in out and "[not in the heap]" in out, out)
    top, = found["tree"]
    equal((top["root"]["name"], top["n_samples"], top["estimated_words"]),
          ("Cache.table", 6, 600), "its root")
    equal([node["step"]["type"] for node in top["children"]], ["cons", "cons"], "its steps")
    equal(len(run("paths", path, "--to", "site:add", "--format", "ndjson").lines()), 3, "ndjson")
    equal(len(run("paths", path, "--to", "site:add", "--format", "tsv").lines()), 4, "tsv")
    err = run("paths", path, "--to", "site:Main.run", code=2).err
    check("no sample was allocated by 'Main.run'" in err, err)
    check("--to 'site:...Main.run'" in err, err)
    for name, hint in [("Nobody", "--group-by site"), ("...Nobody", "--group-by site")]:
        check(hint in run("paths", path, "--to", f"site:{name}", code=2).err, name)
    for name in ["", "..."]:
        check("names no site" in run("paths", path, "--to", f"site:{name}", code=2).err, name)
    bare = heap()
    bare.sampler("memprof", 100)
    bare.sample(1, bare.shared)
    err = run("paths", bare.write("bare.snap"), "--to", "site:x", code=2).err
    check("--trace FILE" in err, err)


def long_chains_are_one():
    """Samples all along a list, and along one of alternating types, are kept in one way each."""
    snap = Snap()
    types = [snap.type("a"), snap.type("b"), snap.type("string", 252, 2)]
    snap.sampler("memprof", 10)
    site = snap.site(ADD)
    for root, alternate in [("one", 0), ("two", 1)]:
        cells = [snap.block(3, types[i % 2 * alternate]) for i in range(300)]
        for at, (a, b) in enumerate(zip(cells, cells[1:])):
            snap.edge(a, b, 1)
        for at in range(0, 300, 2):
            leaf = snap.block(2, types[2])
            snap.edge(cells[at], leaf, 0)
            snap.sample(1000 * alternate + at, leaf, site=site)
        snap.root(cells[0], f"L.{root}", unit="L")
    found = run("paths", snap.write("long.snap"), "--to", "site:add", "--limit", 0, "--json").json()
    ways = {}
    for way in found["paths"]:
        ways.setdefault(way["root"], []).append((way["types"], way["n_blocks"]))
    equal(ways["L.one"], [(["a", "string"], 150)], "a list")
    equal(max(n for _, n in ways["L.two"]), 150 - 16, "beyond so many turns all are alike")
    check(all(len(types) <= 34 for types, _ in ways["L.two"]), "bounded")
    equal(sum(n for _, n in ways["L.two"]), 150, "all of them")


def ambiguous():
    snap = with_sites()
    record = snap.sampler("record", 50)
    snap.sample(12, snap.lost, sampler=record)
    path = snap.write("two.snap")
    for what in ["12", "sample:12"]:
        for words in [("object", path, what), ("paths", path, "--to", what),
                      ("dominators", path, "--from", what)]:
            err = run(*words, code=2).err
            check("2 sampled allocations are called '12'" in err, err)
            check("hint: name one of them: sample:memprof:12, sample:record:12" in err, err)
    equal(run("object", path, "sample:record:12", "--json").json()["object"]["words"], 9, "record")
    equal(run("object", path, "sample:memprof:12", "--json").json()["object"]["words"], 22,
          "memprof")
    check("no sampled allocation" in run("object", path, "sample:jemalloc:12", code=2).err, "kind")
    check("is no kind of sampler" in run("object", path, "sample:nobody:12", code=2).err, "kind")
    check("is not a count" in run("object", path, "sample:record:", code=2).err, "no number")
    out = run("samples", path).out
    check("SAMPLER" in out and "record" in out, "the samplers are told apart")
    check("SAMPLER" not in run("samples", with_sites().write()).out, "only where there are two")


def the_four_cases():
    snap = heap()
    trace = trace_path(with_trace(snap))
    path = snap.write("four.snap")
    found = run("samples", path, "--trace", trace, "--json")
    equal(found.json()["join"], {"in_both": 9, "process_only": 1, "trace_only": 1, "lost": 0,
                                 "mismatches": 0}, "cases")
    equal(found.json()["samplers"][0]["period_words"], 100, "the rate is the trace's")
    row = {row["sample"]: row for row in found.json()["samples"]}
    equal([frame["function"] for frame in row[0]["site"]], ["Cache.add", "Main.run", "Main.run"],
          "inlined frames, the innermost first")
    equal(row[11]["site"], None, "not flushed yet")
    target = run("paths", path, "--to", 3, "--trace", trace, "--json").json()["target"]["sample"]
    equal((target["join"], target["allocated_us"], target["site"][0]["line"]),
          ("in both", 3000, 12), "in both")
    only = run("paths", path, "--to", 11, "--trace", trace)
    check("allocated after the trace's last flush: no backtrace yet" in only.out, only.out)
    gone = run("paths", path, "--to", 9, "--trace", trace, code=2).err
    check("'9' is gone from the process: its collection was not flushed" in gone, gone)
    check("7 words, allocated at t = 0.010000 s by Log.push log.ml:7" in gone, gone)
    dead = run("object", path, 10, "--trace", trace, code=2).err
    check("'10' was collected at t = 0.012000 s" in dead, dead)
    never = run("paths", path, "--to", 99, "--trace", trace, code=2).err
    check("'99': neither the process nor the trace knows it" in never, never)
    check("no trace given" in run("paths", path, "--to", 99, code=2).err, "without a trace")
    equal(run("object", path, "2", "--trace", trace, "--json").json()["object"]["sampled"][0]
          ["site"][0]["function"], "Cache.add", "object")
    rows = groups(path, "site,root", "--trace", trace)["groups"]
    equal((rows[0]["site"]["function"], rows[0]["root"], rows[0]["n_samples"]),
          ("Cache.add", "Cache.table", 10), "the cross table of a trace")
    sites = run("roots", path, "--trace", trace, "--json").json()["roots"][0]["sites"]
    equal(sites[0]["site"]["function"], "Cache.add", "roots")
    ways = run("paths", path, "--to", "site:Log.push", "--trace", trace, "--json").json()
    equal([way["keeper"] for way in ways["paths"]], ["unreached", "shared"], "paths of a site")


def refused(snap, trace, text, name="bad.ctf", code=2):
    path = snap.write("refused.snap")
    for words in [("samples", path), ("roots", path), ("paths", path, "--to", 3),
                  ("object", path, 3)]:
        found = run(*words, "--trace", trace, code=code)
        check(text in found.err, f"no '{text}' in: {found.err}")
        check(code != 2 or "\nhint: " in found.err, found.err)
        equal(found.out, "", "standard output of a failure")


def other_processes():
    snap = heap()
    refused(snap, trace_path(with_trace(snap, pid=4243)), "of another process: of 4243, the")
    snap = heap()
    refused(snap, trace_path(with_trace(snap, executable="/bin/ls")), "of another program: of ")
    for executable in ["/usr/bin/coqtop", ""]:
        snap = heap()
        trace = trace_path(with_trace(snap, executable=executable))
        run("samples", snap.write(), "--trace", trace)
    # One file under two names: of record, its beginning says so; else the file itself.
    for begun_us, code in [(BEGUN_US, 0), (BEGUN_US + 1, 2)]:
        snap = heap()
        trace = with_trace(snap, executable="/usr/bin/nobody-has-this")
        record = snap.sampler("record", 50, begun_us * 1000)
        snap.sample(12, snap.lost, sampler=record)
        run("samples", snap.write(), "--trace", trace_path(trace), code=code)
    os.symlink("/bin/ls", os.path.join(WORK, "list"))
    for name, code in [("list", 0), ("trace.json", 2)]:
        snap = heap()
        snap.record("binary", os.path.join(WORK, name), "", 0x1000, 0, 0)
        run("samples", snap.write(), "--trace", trace_path(with_trace(snap, executable="/bin/ls")),
            code=code)
    snap = heap(command="/lib64/ld.so ./server")
    snap.record("binary", "/srv/server", "", 0x1000, 0, 0)
    run("samples", snap.write(), "--trace", trace_path(with_trace(snap, executable="server")))


def other_runs():
    snap = heap()
    trace = trace_path(with_trace(snap, begun_us=BEGUN_US - 10_000_000))
    refused(snap, trace, "it begins 9.9 s before the process did")
    snap = heap()
    trace = trace_path(with_trace(snap, begun_us=BEGUN_US + 70_000_000))
    refused(snap, trace, "it begins 10.0 s after the dump was taken")
    snap = heap(period=101)
    refused(snap, trace_path(with_trace(snap)),
            "a sample every 100 words, in the process every 101")
    snap = heap(period=100.00000000001)
    run("samples", snap.write(), "--trace", trace_path(with_trace(snap)))
    snap = heap(taken_ns=0, started_ns=0)
    found = run("samples", snap.write(), "--trace", trace_path(with_trace(snap)))
    snap = heap(taken_ns=0, started_ns=0)
    trace = trace_path(with_trace(snap))
    found = run("samples", snap.write(), "--trace", trace)
    check("only the pid was compared" in found.err, found.err)


def mismatches():
    """One in ten is told, more are another run's."""
    for n, code in [(1, 0), (2, 2)]:
        snap = heap()
        trace = with_trace(snap)
        snap.samples = [(id, block, count, words + (id < n), state, sampler, site)
                        for id, block, count, words, state, sampler, site in snap.samples]
        trace.flush()
        trace.next_id = 12
        for block in [snap.block(5) for _ in range(3)]:
            snap.sample(trace.alloc(20_000, 4), block)
        path = snap.write("mismatch.snap")
        found = run("samples", path, "--trace", trace_path(trace), code=code)
        if code == 0:
            check("1 samples differ in process and trace" in found.err, found.err)
        else:
            check("of another run: 2 of the 12 samples that both know differ" in found.err,
                  found.err)
    # Collected long before the dump, and yet there.
    snap = heap()
    trace = with_trace(snap)
    for id in range(3):
        trace.collect(2_000_000, id)
    refused(snap, trace_path(trace), "of another run: 3 of the 9")
    # Collected after the dump.
    snap = heap()
    trace = with_trace(snap)
    for id in range(9):
        trace.collect(61_000_000, id)
    equal(run("samples", snap.write(), "--trace", trace_path(trace), "--json").json()["join"]
          ["in_both"], 9, "died after the dump")
    # The trace goes on behind an id that it does not have.
    snap = heap()
    trace = with_trace(snap)
    trace.flush()
    trace.next_id = 20
    trace.alloc(30_000, 3)
    found = run("samples", snap.write(), "--trace", trace_path(trace), "--json")
    equal(found.json()["join"]["lost"], 1, "lost")
    check("1 samples are missing in the trace" in found.err, found.err)


def bad_files():
    snap = heap()
    whole = with_trace(snap).bytes()
    path = snap.write("bad.snap")
    bad = os.path.join(WORK, "bad.ctf")
    for content, code in [(b"", 4), (b"not a trace at all", 4), (whole[:40], 4),
                          (whole[:28] + b"\x09\0" + whole[30:], 4)]:
        with open(bad, "wb") as file:
            file.write(content)
        found = run("samples", path, "--trace", bad, code=code)
        check("cannot read the trace" in found.err or "cannot join" in found.err, found.err)
        equal(found.out, "", "standard output of a failure")
    check(run("samples", path, "--trace", WORK, code=5).err, "a directory")
    check(run("samples", path, "--trace", bad + ".none", code=5).err, "no file")
    for n in range(1, len(whole), 17): # cut anywhere: what is whole is joined
        with open(bad, "wb") as file:
            file.write(whole[:n])
        found = run("samples", path, "--trace", bad, "--json", code=None)
        check(found.code in (0, 4), f"cut at {n}: {found.code} {found.err}")
        if found.code == 0:
            join = found.json()["join"]
            equal(join["in_both"] + join["process_only"], 10, f"cut at {n}")
    with open(bad, "wb") as file:
        file.write(whole[:-3])
    found = run("samples", path, "--trace", bad)
    check("is cut: the last " in found.err, found.err)


def hostile_files():
    snap = heap()
    whole = with_trace(snap).bytes()
    path = snap.write("bad.snap")
    bad = os.path.join(WORK, "bad.ctf")
    rng = random.Random(5)
    codes = set()
    for _ in range(60):
        flipped = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
        with open(bad, "wb") as file:
            file.write(flipped)
        for words in [("samples", path, "--group-by", "site,root"),
                      ("paths", path, "--to", "site:...Main")]:
            found = run(*words, "--trace", bad, code=None)
            check(found.code in (0, 2, 4), f"exit {found.code}: {found.err}")
            codes.add(found.code)
    check({0, 2} <= codes, f"codes seen: {codes}")


def traces_without_samples():
    snap = heap()
    trace = trace_path(with_trace(heap()))
    found = run("samples", snap.write("none.snap"), "--trace", trace)
    check("no sampler that writes traces" in found.err, found.err)
    snap.sampler("jemalloc", 100)
    snap.sample(1, snap.shared)
    found = run("samples", snap.write("none.snap"), "--trace", trace)
    check("no sampler that writes traces" in found.err, found.err)


def two_samplers_one_trace():
    """The trace is of the sampler whose file it is called like, or whose rate it has."""
    for file, period, kind in [("/srv/app.ctf", 0, "memprof"), ("", 100, "memprof")]:
        snap = heap()
        trace = with_trace(snap)
        snap.samplers = []
        snap.sampler("memprof", period, 0, 0, file)
        record = snap.sampler("record", 999)
        snap.sample(3, snap.lost, sampler=record)
        found = run("samples", snap.write(), "--trace", trace_path(trace), "--json").json()
        equal(found["join"]["in_both"], 9, "memprof's")
        equal([row["join"] for row in found["samples"] if row["sampler"] == "record"],
              ["no trace given"], "record's")
    snap = heap()
    trace = with_trace(snap)
    snap.samplers = []
    snap.sampler("memprof")
    snap.sample(3, snap.lost, sampler=snap.sampler("record"))
    refused(snap, trace_path(trace), "may be the trace of either of two samplers")


def hostile_names():
    snap = heap()
    snap.sampler("memprof", 100)
    snap.sample(1, snap.shared, site=snap.site(("evil\x1b[31m\n\tname", "\x1b]0;x\x07.ml", 1)))
    path = snap.write("evil.snap")
    for words in [("samples",), ("samples", "--group-by", "site,root"), ("roots", "--sites"),
                  ("paths", "--to", "site:evil"), ("paths", "--to", "1"), ("object", "1")]:
        words = (words[0], path, *words[1:])
        found = run(*words)
        check("\x1b" not in found.out + found.err, f"{words}: an escape")
        check("\x1b" not in run(*words, "--json").out, f"{words}: an escape in JSON")


main(estimates, horvitz_thompson, rate_unknown, cross_table, sites_of_roots, paths_of_a_site,
     long_chains_are_one, ambiguous, the_four_cases, other_processes, other_runs, mismatches,
     bad_files, hostile_files, traces_without_samples, two_samplers_one_trace, hostile_names)
END
