# parts: record
# trace top, tree, live and lifetimes, against the events that trace dump prints, summed here in the
# plainest way; what cannot be asked; and that sums close. Of made traces, and of those of real
# programs where there are any (HS_TRACES).
. "$(dirname "$0")/lib.sh"

export TRACES=${HS_TRACES:-$SOURCE_DIR/../shared/traces}

python <<'END'
import math
import re
from collections import defaultdict

from program_trace import Program, Writer
from snapcli import *

TRACES = os.environ["TRACES"]
REAL = ["viewer-v2", "ocamlopt-v3", "ocamlopt413-v2", "cachesrv-3domains-v3"]
RATES = {"viewer-v2": 0.1, "ocamlopt-v3": 2e-5, "small": 0.1, "few": 2e-5}


def path_of(name):
    return os.path.join(WORK if name in MADE else TRACES, name + ".ctf")


def make(name, program, version, **how):
    MADE.add(name)
    Writer(program, version, RATES.get(name, 1e-4), **how).write(path_of(name))
    return name


MADE = set()
wide = Program(2, n=3000, n_wide=20)
FAULTY = make("sound", wide, 2), make("faulty", wide, 2, faulty=True)
NAMES = [make("small", Program(1, n=60, n_sites=40), 2), make("few", Program(3, n=1500), 3),
         FAULTY[0], make("domains", Program(4, n=2500, n_domains=3), 3)]


class Object:
    def __init__(self, event):
        self.born, self.died = event["time_us"], None
        self.n, self.words, self.source = event["n_samples"], event["words"], event["source"]
        self.frames = [self.frame(f) for f in event["backtrace"]]
        self.s = max(1, self.words + (self.source != "external"))

    @staticmethod
    def frame(found):
        if "line" not in found:
            return "$%d" % int(found["code"], 16), None, 0
        file = found["file"] if found["file"] != "?" else None
        return found["function"] or "?", file, found["line"]


class Trace:
    """The events of a file, decoded by trace dump and by nothing that is tested here."""

    def __init__(self, name):
        self.name, self.path, self.rate = name, path_of(name), RATES.get(name, 1e-4)
        self.objects, self.end = {}, 0
        for line in run("trace", "dump", self.path, "--format", "ndjson").lines():
            event = json.loads(line)
            self.end = max(self.end, event["time_us"])
            if event["event"] == "alloc":
                self.objects[event["id"]] = Object(event)
            elif event["event"] == "collect":
                self.objects[event["id"]].died = event["time_us"]
        self.all = list(self.objects.values())

    def live(self, at, objects=None):
        return sum(o.n for o in (self.all if objects is None else objects)
                   if o.born <= at and (o.died is None or o.died > at))

    def peak(self):
        changes = defaultdict(int)
        for o in self.all:
            changes[o.born] += o.n
            if o.died is not None:
                changes[o.died] -= o.n
        now, best, when = 0, 0, 0
        for at in sorted(changes):
            now += changes[at]
            if now > best:
                best, when = now, at
        return when, best


def look(what, trace, *more, **keys):
    return run("trace", what, trace.path, *more, **keys)


def function(frame):
    return frame[0] if frame[1] is None else f"{frame[0]} {frame[1]}"


def place(frame):
    return frame[0] if frame[1] is None else f"{frame[0]} {frame[1]}:{frame[2]}"


def names(o, by):
    frames = o.frames
    if by == "function":
        return {function(f) for f in frames} or {"[no backtrace]"}
    if by == "size":
        return {f"{o.words * 8} bytes"}
    if by == "caller":
        return {place(frames[-2]) if len(frames) > 1 else "[no caller]"}
    if not frames:
        return {"[no backtrace]"}
    if by == "file":
        return {frames[-1][1] or "?"}
    if by == "stack":
        shown = [place(f) for f in reversed(frames)]
        return {" < ".join(shown[:64] + ["..."] * (len(shown) > 64))}
    return {place(frames[-1])}


def sums(objects, by):
    rows = defaultdict(lambda: [0, 0, 0.0, 0.0])
    for o in objects:
        for name in names(o, by):
            row = rows[name]
            row[0] += o.n
            row[1] += o.n if o.died is None else 0
            row[2] += o.n / o.s
            row[3] += o.n / o.s ** 2
    return rows


def near(found, expected, what):
    check(abs(found - expected) <= 1 + 1e-9 * expected, f"{what}: {found}, expected {expected}")


def check_figures(row, expected, rate, what):
    n, live, inverse, inverse2 = expected
    equal(row["samples"], n, what)
    near(row["words"], n / rate, what)
    near(row["words_error"], math.sqrt(n * (1 - rate)) / rate, what)
    near(row["live_words"], live / rate, what)
    near(row["live_words_error"], math.sqrt(live * (1 - rate)) / rate, what)
    near(row["allocations"], inverse / rate, what)
    near(row["allocations_error"], math.sqrt(inverse2 * (1 - rate)) / rate, what)


def check_top(trace, objects, by, *more):
    found = look("top", trace, "--json", "--by", by, *more).json()
    expected = sums(objects, by)
    equal(found["schema"], "heapsnap.trace-top/1", "schema")
    equal(found["certainty"]["words"], "sampled", "what is sampled")
    equal(found["selected"]["objects"], len(objects), f"{by} {more}: objects")
    by_name = defaultdict(lambda: [])
    for row in found["rows"]:
        by_name[row["name"]].append(row)
    # Long stacks are cut where they are printed: rows may have the same name then.
    equal(set(by_name), set(expected), f"{trace.name} {by} {more}: rows")
    for name, rows in by_name.items():
        if len(rows) == 1:
            check_figures(rows[0], expected[name], trace.rate, f"{trace.name} {by} {name}")
        else:
            check(by == "stack" and "..." in name, f"{name} twice")
            equal(sum(r["samples"] for r in rows), expected[name][0], name)
    total = found["total"]
    equal(total["samples"], sum(o.n for o in objects), "the total")
    if by != "function":
        equal(sum(r["samples"] for r in found["rows"]), total["samples"], "rows close")
        equal(found["others"]["samples"], 0, "no others")
    order = [r["words"] for r in found["rows"]]
    equal(order, sorted(order, reverse=True), "by words")
    return found


def tops(trace):
    for by in ["site", "function", "caller", "file", "stack", "size"]:
        check_top(trace, trace.all, by)
    found = check_top(trace, trace.all, "site")
    dead = [o for o in trace.all if o.died is not None]
    mean = sum((o.died - o.born) * o.n for o in dead) / sum(o.n for o in dead)
    check(found["rows"][0]["first_us"] <= found["rows"][0]["last_us"] <= trace.end, "interval")
    row = found["rows"][0]
    of_row = [o for o in trace.all if names(o, "site") == {row["name"]}]
    lives = sorted((math.inf if o.died is None else o.died - o.born, o.n) for o in of_row)
    weight = 0
    for life, n in lives:
        weight += n
        if 2 * weight >= row["samples"]:
            break
    check(row["name"] == f"{row['function']} {row['file']}:{row['line']}", "the parts of its name")
    equal(row["median_lifetime_us"], None if life == math.inf else life, "median")


def limits(trace):
    whole = look("top", trace, "--json").json()
    cut = look("top", trace, "--json", "-n", "3").json()
    equal(cut["rows"], whole["rows"][:3], "-n")
    equal(cut["total"], whole["total"], "the total stays")
    equal(cut["others"]["samples"] + sum(r["samples"] for r in cut["rows"]),
          whole["total"]["samples"], "others close")
    equal(cut["others"]["count"], len(whole["rows"]) - 3, "others")
    lines = look("top", trace, "-n", "3").lines()
    equal(lines[4].split()[0], str(cut["others"]["samples"]), "the line of others")
    check("others]" in lines[4] and lines[5].endswith("TOTAL"), lines[5])
    check(lines[6].startswith("sampled: words") and lines[7].startswith("exact: "), "the note")
    for key, what in [("words", "words"), ("allocations", "allocations"), ("live", "live_words"),
                      ("leaked", "leaked_percent")]:
        order = [r[what] for r in look("top", trace, "--json", "--sort", key).json()["rows"]]
        equal(order, sorted(order, reverse=True), f"--sort {key}")
    order = [r["name"].encode() for r in
             look("top", trace, "--json", "--sort", "name").json()["rows"]]
    equal(order, sorted(order), "--sort name")


def filters(trace):
    peak, _ = trace.peak()
    end, objects = trace.end, trace.all
    quarter = end // 4
    cases = [
        (["--live-at", "end"], lambda o: o.died is None),
        (["--live-at", "peak"],
         lambda o: o.born <= peak and (o.died is None or o.died > peak)),
        (["--live-at", f"{quarter}us"],
         lambda o: o.born <= quarter and (o.died is None or o.died > quarter)),
        (["--allocated", "25%..peak"], lambda o: end * 10 // 4 <= o.born * 10 and o.born <= peak),
        (["--allocated", f"..{quarter}us"], lambda o: o.born <= quarter),
        (["--collected", "never"], lambda o: o.died is None),
        (["--collected", "50%.."], lambda o: o.died is not None and o.died * 2 >= end),
        (["--lifetime", "1ms.."],
         lambda o: (end if o.died is None else o.died) - o.born >= 1000),
        (["--lifetime", "..1ms"], lambda o: o.died is not None and o.died - o.born <= 1000),
        (["--size", "24..64"], lambda o: 24 <= o.words * 8 <= 64),
        (["--heap", "major,external"], lambda o: o.source != "minor"),
        (["--inside", "Btype"],
         lambda o: any("Btype" in f[0] or "Btype" in (f[1] or "") for f in o.frames)),
        (["--inside", "/^[A-Z].*map/", "--not-inside", "set.ml"],
         lambda o: any(re.match("[A-Z].*map", f[0]) or re.match("[A-Z].*map", f[1] or "")
                       for f in o.frames)
         and not any("set.ml" in f[0] or "set.ml" in (f[1] or "") for f in o.frames)),
        (["--live-at", "peak", "--size", "..64", "--heap", "minor"],
         lambda o: o.born <= peak and (o.died is None or o.died > peak) and o.words <= 8
         and o.source == "minor"),
    ]
    for options, fits in cases:
        chosen = [o for o in objects if fits(o)]
        check(len(chosen) != len(objects), f"{options} chooses all")
        check_top(trace, chosen, "site", *options)
        tree = look("tree", trace, "--json", *options).json()
        equal(tree["nodes"][0]["samples"], sum(o.n for o in chosen), f"tree {options}")
    hidden = look("top", trace, "--json", "--hide", "Stdlib").json()
    check(not any(r["name"].startswith("Stdlib") for r in hidden["rows"]), "hidden sites")
    equal({**hidden["total"], "count": 0},
          {**look("top", trace, "--json").json()["total"], "count": 0}, "hiding loses nothing")
    for o in objects:
        o.shown = [f for f in o.frames if "Stdlib" not in f[0] and "Stdlib" not in (f[1] or "")]
    expected = defaultdict(int)
    for o in objects:
        expected[place(o.shown[-1]) if o.shown else "[no backtrace]"] += o.n
    equal({r["name"]: r["samples"] for r in hidden["rows"]}, dict(expected), "hidden frames")


def group_filters(trace):
    whole = look("top", trace, "--json").json()
    cases = [
        (["--group-leaked", "50%.."], lambda r: r["live_samples"] * 2 >= r["samples"]),
        (["--group-leaked", "0%"], lambda r: r["live_samples"] == 0),
        (["--group-allocations", "50k.."], lambda r: r["allocations"] >= 50000),
        (["--group-allocations", "1%.."],
         lambda r: r["allocations"] >= whole["total"]["allocations"] // 100),
        (["--group-interval", "..10ms"], lambda r: r["last_us"] - r["first_us"] <= 10000),
    ]
    live = {name: row[1] for name, row in sums(trace.all, "site").items()}
    for row in whole["rows"]:
        row["live_samples"] = live[row["name"]]
    for options, fits in cases:
        expected = [r["name"] for r in whole["rows"] if fits(r)]
        check(0 < len(expected) < len(whole["rows"]), f"{options} chooses all or none")
        found = look("top", trace, "--json", *options).json()
        equal([r["name"] for r in found["rows"]], expected, str(options))
        equal(found["others"]["samples"] + sum(r["samples"] for r in found["rows"]),
              whole["total"]["samples"], "what is dropped is among the others")
        tree = look("tree", trace, "--json", *options).json()
        equal(tree["nodes"][0]["samples"], sum(r["samples"] for r in found["rows"]),
              f"tree {options}")
        lives = look("lifetimes", trace, "--json", *options).json()
        equal([r["name"] for r in lives["rows"]], expected, f"lifetimes {options}")


def trees(trace):
    total = sum(o.n for o in trace.all)
    for by, label in [("function", function), ("site", place), ("caller", function)]:
        found = look("tree", trace, "--json", "--by", by).json()
        nodes = {n["node"]: n for n in found["nodes"]}
        equal((found["nodes"][0]["name"], found["nodes"][0]["samples"]), ("[all]", total), "root")
        below = defaultdict(int)
        for n in found["nodes"][1:]:
            below[n["parent"]] += n["samples"]
            equal(n["depth"], nodes[n["parent"]]["depth"] + 1, "depth")
        for n in found["nodes"]:
            equal(n["own_samples"] + below[n["node"]] + n["hidden_samples"], n["samples"],
                  "a node is its own and its children")
            equal(n["hidden_children"], 0, "JSON hides nothing")
        expected = defaultdict(int)
        for o in trace.all:
            way = []
            for f in (reversed(o.frames) if by == "caller" else o.frames):
                if not way or way[-1] != label(f):
                    way.append(label(f))
            for i in range(len(way) + 1):
                expected[tuple(way[:i])] += o.n
        ways = {0: ()}
        for n in found["nodes"][1:]:
            ways[n["node"]] = ways[n["parent"]] + (n["name"],)
        equal({ways[n["node"]]: n["samples"] for n in found["nodes"]}, dict(expected), f"--by {by}")
    cut = look("tree", trace, "--json", "--depth", "3", "-n", "2").json()["nodes"]
    equal(max(n["depth"] for n in cut), 3, "--depth")
    below = defaultdict(int)
    for n in cut[1:]:
        below[n["parent"]] += n["samples"]
    for n in cut:
        equal(n["own_samples"] + below[n["node"]] + n["hidden_samples"], n["samples"], "pruned")
    least = int(total / trace.rate / 20)
    equal([n for n in look("tree", trace, "--json", "--min-words", least).json()["nodes"]
           if n["words"] < least], [], "--min-words")
    lines = look("tree", trace, "--depth", "2").lines()
    check(lines[1].endswith("[all]"), lines[1])
    look("tree", trace, "--by", "size", code=2)


def lives(trace):
    when, best = trace.peak()
    found = look("live", trace, "--json", "--points", "25", "--inside", "a").json()
    inside = [o for o in trace.all if any("a" in f[0] or "a" in (f[1] or "") for f in o.frames)]
    points = found["points"]
    check(len(points) in (25, 26), "the peak has a point")
    equal([p["time_us"] for p in points], sorted({p["time_us"] for p in points}), "in order")
    equal(points[-1]["time_us"], trace.end, "the end")
    for p in points:
        equal(p["live_samples"], trace.live(p["time_us"]), "alive")
        equal(p["selected_samples"], trace.live(p["time_us"], inside), "alive and selected")
        near(p["live_words"], p["live_samples"] / trace.rate, "words")
        near(p["live_words_error"], math.sqrt(p["live_samples"] * (1 - trace.rate)) / trace.rate,
             "error")
    peak = [p for p in points if p["mark"] and "peak" in p["mark"]]
    equal([(p["time_us"], p["live_samples"]) for p in peak], [(when, best)], "the peak")
    equal(found["peak_us"], when, "peak_us")
    top = look("top", trace, "--json", "--live-at", "peak").json()
    equal(top["total"]["samples"], best, "top at the peak")
    equal(top["total"]["samples"] - top["total"]["live_samples"],
          sum(o.n for o in trace.all if o.born <= when and o.died is not None and o.died > when),
          "of these freed later")
    equal(points[-1]["live_samples"], look("top", trace, "--json").json()["total"]["live_samples"],
          "live at the end")
    equal(len(look("live", trace, "--points", "1", "--format", "tsv").lines()) in (2, 3), True,
          "one point")


def lifetimes(trace):
    found = look("lifetimes", trace, "--json", "--points", "4").json()
    top = look("top", trace, "--json").json()
    equal({r["name"]: (r["samples"], r["median_us"]) for r in found["rows"]},
          {r["name"]: (r["samples"], r["median_lifetime_us"]) for r in top["rows"]}, "as in top")
    for row in found["rows"][:50]:
        objects = [o for o in trace.all if names(o, "site") == {row["name"]}]
        equal(row["never_samples"], sum(o.n for o in objects if o.died is None), "never")
        for bucket in row["histogram"]:
            equal(bucket["samples"], sum(
                o.n for o in objects
                if o.died is not None and bucket["from_us"] <= o.died - o.born < bucket["to_us"]),
                "a bucket")
        equal(sum(b["samples"] for b in row["histogram"]) + row["never_samples"], row["samples"],
              "the histogram closes")
        equal(sum(p["samples"] for p in row["parts"]), row["samples"], "parts close")
        equal(len(row["parts"]), 4, "--points")
    rows = look("lifetimes", trace, "--format", "tsv").lines()
    keys = rows[0].split("\t")
    first = dict(zip(keys, rows[1].split("\t")))
    equal(sum(int(cell.split("=")[1]) for cell in first["histogram"].split(",") if cell),
          sum(b["samples"] for b in found["rows"][0]["histogram"]), "the histogram in TSV")
    equal(len(first["part_medians_us"].split(",")), 3, "thirds")


def all_formats(trace):
    for what, key in [("top", "rows"), ("tree", "nodes"), ("live", "points"),
                      ("lifetimes", "rows")]:
        whole = look(what, trace, "--json").json()
        equal(whole["schema"], f"heapsnap.trace-{what}/1", "schema")
        lines = [json.loads(line) for line in
                 look(what, trace, "--format", "ndjson").lines()]
        equal(lines, whole[key], f"{what}: NDJSON")
        tsv = look(what, trace, "--format", "tsv").lines()
        equal(len(tsv), len(lines) + 1, f"{what}: TSV")
        check(all(row.get("estimates") == "sampled" for row in lines), "every row says it")
        for format in ["table", "json", "tsv"]:
            a, b = (look(what, trace, "--format", format).raw for _ in range(2))
            equal(a, b, f"{what}: twice the same")


def damaged_names():
    """The released writer's fault loses names, but no figure."""
    lost_names(*FAULTY)


def lost_names(sound, broken):
    sound, broken = Trace(sound), Trace(broken)
    equal(look("top", broken, "--json").json()["total"]["samples"], sum(o.n for o in broken.all),
          "all that can be read is counted")
    equal(len(broken.all), len(sound.all), "all can be read")
    equal({**look("top", broken, "--json").json()["total"], "count": 0},
          {**look("top", sound, "--json").json()["total"], "count": 0}, "totals")
    equal(look("live", broken, "--json").json()["points"],
          look("live", sound, "--json").json()["points"], "live")
    said = look("top", broken, "--json").err
    check("print as ?" in said, said)


def refused():
    trace = path_of("small")
    for what, options, says in [
            ("top", ["--live-at", "soon"], "--live-at: 'soon' is not a time"),
            ("top", ["--allocated", "5s..1s"], "--allocated: the range ends before it begins"),
            ("top", ["--allocated", "end..peak"], "--allocated: the range ends before it begins"),
            ("top", ["--collected", "ever"], "--collected: 'ever' is not a time"),
            ("top", ["--lifetime", "peak"], "--lifetime: 'peak' is not a duration"),
            ("top", ["--size", "10%"], "--size: '10%' is not a size"),
            ("top", ["--inside", "/(/"], "--inside: '/(/' is no regular expression"),
            ("top", ["--inside", ""], "--inside: a pattern has 1 to 256 bytes"),
            ("top", ["--hide", "/(a)\\1/"], "--hide: '/(a)\\1/' refers back"),
            ("top", ["--group-leaked", "5"], "--group-leaked: '5' is not a share"),
            ("top", ["--points", "4"], "'trace top' does not take --points"),
            ("top", ["--depth", "4"], "'trace top' does not take --depth"),
            ("live", ["--by", "site"], "'trace live' does not take --by"),
            ("live", ["--points", "0"], "--points is from 1"),
            ("tree", ["--sort", "words"], "'trace tree' does not take --sort"),
            ("tree", ["--by", "stack"], "there is no tree by stack"),
            ("lifetimes", ["--points", "10001"], "--points is from 1"),
            ("dump", ["--inside", "x"], "'trace dump' does not take --inside")]:
        found = run("trace", what, trace, *options, code=2)
        check(says in found.err, f"{what} {options}: {found.err}")
        check("hint: " in found.err or "--points is" in found.err, found.err)
        equal(found.out, "", "standard output")
    for what in ["top", "tree", "live", "lifetimes"]:
        run("trace", what, os.path.join(WORK, "none"), code=5)
        run("trace", what, WORK, code=5)
        run("trace", what, "/dev/null", code=4)
        run("trace", what, code=2)
        only = run("trace", what, trace, "--allocated", "999h..", "--json").json()
        equal(only["selected"]["objects"], 0, "nothing is selected")
        run("trace", what, trace, "--allocated", "999h..")


def cut():
    """A file that ends anywhere gives what is whole in it, in every view."""
    data = open(path_of("few"), "rb").read()
    n_read = 0
    for at in range(300, len(data), 17011):
        name = os.path.join(WORK, "cut.ctf")
        with open(name, "wb") as file:
            file.write(data[:at])
        dumped = run("trace", "dump", name, code=None)
        n = sum(" alloc" in line for line in dumped.lines())
        n_read += n != 0
        for what in ["top", "tree", "live", "lifetimes"]:
            found = run("trace", what, name, "--json", code=dumped.code)
            if dumped.code == 0:
                equal(found.json()["selected"]["objects"], n, f"{what} cut at {at}")
    check(n_read != 0, "every cut lost all")


def memory():
    """A trace that is larger than --memory allows is refused with what to do."""
    path = path_of(NAMES[3])
    said = run("trace", "top", path, "--memory", "16MiB", code=None)
    check(said.code in (0, 6), said.err)
    if said.code == 6:
        check("hint: allow more with --memory" in said.err, said.err)
    run("trace", "top", path, "--memory", "32MiB")


def known_counts():
    """What the README beside the real traces says of them."""
    for name, n, live in [("cachesrv-final-v2", 28788, 385), ("cachesrv-live-v2", 28607, 367)]:
        found = run("trace", "top", path_of(name), "--live-at", "end", "--json").json()
        equal((found["selected"]["of_objects"], found["selected"]["objects"]), (n, live), name)
    lost_names("ocamlopt413-v2", "ocamlopt413-overflow-v2")
    look_at(REAL)


def look_at(found):
    traces = [Trace(name) for name in found]
    for trace in traces:
        tops(trace)
        lives(trace)
    big, small = traces[2], traces[0]
    for trace in [big, traces[3]]:
        limits(trace)
        lifetimes(trace)
    filters(big)
    group_filters(big)
    for trace in [traces[1], small]:
        trees(trace)
        all_formats(trace)


def made_traces():
    look_at(NAMES)


main(made_traces, damaged_names, refused, cut, memory,
     *([known_counts] if os.path.isdir(TRACES) else []))
END
