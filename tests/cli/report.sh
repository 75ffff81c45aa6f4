# parts: report
# report: one page that needs nothing else. What it shows is what the commands print, to the letter;
# no name gets out of the data; it stays small whatever the heap; and it is whole or not there.
. "$(dirname "$0")/lib.sh"

export WORK=$work
python <<'END'
import base64
import gzip
import os
import random
import re
from ctf import Trace
from program_trace import Program, Writer
from snapcli import *

HOSTILE = [b"</script><script>alert(1)</script>", b"<img src=x onerror=alert(2)>", b'"quoted"',
           b"\x1b[31mred", b"two\nlines", b"\xff\xfe no UTF-8", "\u202eturned".encode(), b"a > b",
           b"&lt;", b"\\u003c", b"'; drop table blocks; --"]
MOST_BYTES = 1 << 20
CUT = "\u2026"


def page(name, *more):
    run("report", name, "-o", "page.html", *more)
    with open("page.html", "rb") as file:
        return file.read()


def data(html):
    found = re.findall(rb'<script type="text/plain" id="data">\n([A-Za-z0-9+/=\n]*)</script>', html)
    equal(len(found), 1, "blocks of data")
    return json.loads(gzip.decompress(base64.b64decode(found[0])))


def some_heap():
    """Two owners, what they share, a list, something lost, a sample."""
    snap = Snap()
    link, text = snap.type("struct link", 0, 12), snap.type("char[]", 0, 14)
    links = [snap.block(3, link) for _ in range(50)]
    for one, next_one in zip(links, links[1:]):
        snap.edge(one, next_one, 0)
    for one in links:
        snap.edge(one, snap.block(5, text), 1)
    shared = snap.block(40, text)
    snap.edge(links[0], shared, 2)
    other = snap.block(4, link)
    snap.edge(other, shared, 0)
    snap.root(links[0], "list", file="src/list.c", line=3)
    snap.root(other, "other")
    snap.block(9, text)
    snap.sample(7, links[3])
    return snap.write()


def answers():
    snap = some_heap()
    html = page(snap)
    found = data(html)
    equal(sorted(found), sorted(["info", "roots", "suspects", "types", "leaks", "samples", "keys",
                                 "set_roots", "sites"]), "members")
    for command in ["info", "roots", "suspects", "types", "leaks", "samples"]:
        equal(found[command], run(command, snap, "--json").json(), f"what {command} prints")
    equal(found["sites"], run("samples", snap, "--group-by=site,root", "--json").json(),
          "sites and roots")
    for text in [b"struct link", b"src/list.c"]:
        check(text not in html, f"{text} stands in the markup")
    check(html == page(snap), "a second page differs")
    check(run("report", snap).out.encode() == html, "the page on standard output differs")
    run("index", snap)
    check(os.path.exists(snap + ".keys"), "there is no key file")
    check(html == page(snap), "the page differs with a key file")


def keys():
    keys = data(page(some_heap()))["keys"]
    rows = {}
    for i, parent in enumerate(keys["parent"]):
        name = keys["names"][keys["name"][i]]
        way = rows[parent][0] + [name] if i > 0 else []
        rows[i] = (way, keys["words"][i], keys["own_words"][i], keys["objects"][i])
    by_way = {" > ".join(way): rest for way, *rest in rows.values()}
    # What both hold is as near to both: the first name has it.
    equal(by_way, {"": [453, 0, 103], "list": [440, 0, 101], "other": [4, 0, 1],
                   "list > struct link": [440, 150, 101],
                   "list > struct link > char[]": [290, 290, 51],
                   "other > struct link": [4, 4, 1],
                   "[unreached]": [9, 0, 1], "[unreached] > char[]": [9, 9, 1]}, "keys")


def growth():
    """With older snapshots, what diff prints of them all."""
    paths = []
    for n in range(3):
        snap = Snap()
        snap.facts["taken_ns"] = (n + 1) * 3600 * 10**9
        kind = snap.type("struct entry", 0, 12)
        for _ in range(10 + 10 * n):
            snap.root(snap.block(3, kind), "table")
        paths.append(snap.write(f"{n}.snap"))
    found = data(page(paths[2], paths[0], paths[1]))
    equal(found["diff"], run("diff", *paths, "--json").json(), "what diff prints")
    equal(found["info"]["snapshot"], paths[2], "the first is the one that is shown")
    run("report", paths[2], "none.snap", "-o", "new.html", code=5)


def policies():
    snap = some_heap()
    found = data(page(snap, "--policy", "conservative"))
    equal(found["roots"], run("roots", snap, "--policy", "conservative", "--json").json(),
          "roots by the other policy")


def hostile():
    snap = Snap()
    for n, name in enumerate(HOSTILE):
        block = snap.block(10 + n, snap.type(name, 0, 12))
        snap.root(block, name, binary=name, unit=name, file=name)
    snap.facts["command"] = HOSTILE[0]
    path = snap.write()
    html = page(path)
    for part in [b"alert", b"onerror", b"drop table", b"\x1b", b"\xff"]:
        check(part not in html, f"{part} got out of the data")
    equal(html.count(b"<script"), 2, "scripts")
    found = data(html)
    equal(found["info"]["command"], HOSTILE[0].decode(), "the command in the data")
    equal(found["roots"], run("roots", path, "--json").json(), "roots with hostile names")


def large():
    """Names that do not pack, more roots, types, keys and roots of one set than have room."""
    numbers = random.Random(4)
    snap = Snap()
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:"

    def name():
        return "".join(numbers.choices(letters, k=900))
    blocks = [snap.block(2 + n % 9, snap.type(name(), 0, 12)) for n in range(3000)]
    shared = snap.block(5000)
    for n, block in enumerate(blocks):
        snap.root(block, name(), file=name(), unit=name())
        snap.edge(block, blocks[n // 2], 0)
        snap.edge(block, shared, 1)
    snap.root(snap.block(100000, snap.type("x" * 30000, 0, 12)), "y" * 30000)
    path = snap.write()
    html = page(path)
    check(len(html) <= MOST_BYTES, f"{len(html)} bytes")
    found = data(html)
    check(0 < len(found["roots"]["roots"]) < 400, "roots that have room")
    check(0 < len(found["keys"]["parent"]) < 6000, "keys that have room")
    check(0 < len(found["set_roots"]) < 3000, "names of a set's roots that have room")
    equal(found["roots"]["roots"][0]["name"], "y" * 300 + CUT, "a long name")
    whole = run("roots", path, "--json").json()
    equal(found["keys"]["words"][0], whole["heap"]["words"], "all words")
    shown = found["roots"]
    equal(sum(row["retained_words"] for row in shown["roots"])
          + sum(row["retained_words"] for row in shown["sets"])
          + shown["other_sets"]["retained_words"] + shown["others"]["retained_words"]
          + shown["unreached"]["words"], whole["heap"]["words"], "the sum of what is shown")


def calls_of(trace):
    """A trace's cells, as the page reads them: (frames, sizes, born, died, objects, samples)."""
    call, found = 0, []
    for i, step in enumerate(trace["cell_call"]):
        call += step
        way, at = [], call
        while at > 0:
            frame = trace["call_frame"][at - 1]
            function = trace["frame_function"][frame - 1] if frame > 0 else None
            way.append(None if frame == 0 else trace["names"][trace["function_name"][function]])
            at = trace["call_parent"][at - 1]
        found.append((way, trace["cell_born"][i], trace["cell_died"][i], trace["cell_samples"][i]))
    return found


def check_line(trace, path):
    """Alive at each point, and in or below each function that stands in the page."""
    cells = calls_of(trace)
    live = run("trace", "live", path, "--points", trace["n_points"], "--json").json()["points"]
    equal([p["time_us"] for p in live], trace["points"], "points")
    for at, point in enumerate(live):
        equal(sum(n for _, born, died, n in cells if born <= at < died), point["live_samples"],
              f"alive at point {at}")
    total = run("trace", "top", path, "--json").json()["total"]
    equal(sum(n for *_, n in cells), total["samples"], "all samples")
    equal(sum(trace["cell_objects"]), total["objects"], "all objects")
    return cells


def traces():
    """What the commands print of a trace, and its allocations in cells that sum to the same."""
    path = os.path.join(os.environ["WORK"], "app.ctf")
    Writer(Program(5, n=2500, n_domains=2), 3, 1e-4).write(path)
    html = page(path)
    found = data(html)
    equal(sorted(found), ["trace", "trace_info", "trace_lifetimes", "trace_top"], "members")
    for what in ["info", "top", "lifetimes"]:
        rows = ["-n400"] if what == "top" else ["-n300"] if what == "lifetimes" else []
        equal(found["trace_" + what], run("trace", what, path, "--json", *rows).json(), what)
    equal(found["trace"]["left_out"], {"call_samples": 0, "site_samples": 0, "size_samples": 0},
          "all has room")
    cells = check_line(found["trace"], path)
    by_function = {}
    for way, _, _, n in cells:
        for name in set(way):
            by_function[name] = by_function.get(name, 0) + n
    expected = {}
    for row in run("trace", "top", path, "--by", "function", "--json").json()["rows"]:
        name = row["function"]
        expected[name] = expected.get(name, 0) + row["samples"]
    equal({name: n for name, n in by_function.items() if name in expected}, expected, "functions")
    check(html == page(path), "a second page differs")
    run("report", path, "other.snap", "-o", "no.html", code=2)
    run("report", path, "--trace", path, "-o", "no.html", code=2)
    run("report", some_heap(), "--trace", "none.ctf", "-o", "no.html", code=5)
    check(not os.path.exists("no.html"), "a page of what is refused")


def hostile_traces():
    """Names that are markup, or of 1 MB; cut and damaged files; more calls than have room."""
    trace = Trace(executable="</script><script>alert(1)</script>")
    codes = [trace.code((name.decode("latin1"), name.decode("latin1"), 7)) for name in HOSTILE]
    for n, code in enumerate(codes):
        trace.alloc(10 * n, 3 + n, [codes[0], code])
    long = trace.code(("x" * 1000000, "y" * 100000, 1))
    trace.alloc(1000, 5, [long])
    path = trace.write(os.path.join(os.environ["WORK"], "hostile.ctf"))
    html = page(path)
    for part in [b"alert", b"onerror", b"drop table", b"\x1b", b"\xff"]:
        check(part not in html, f"{part} got out of the data")
    equal(html.count(b"<script"), 2, "scripts")
    check(len(html) < 200000, f"{len(html)} bytes of a long name")
    check("x" * 300 + CUT in data(html)["trace"]["names"], "a long name")
    check_line(data(html)["trace"], path)
    with open(path, "rb") as file:
        whole = file.read()
    for n in [100, 3000, len(whole) - 7]:
        with open("cut.ctf", "wb") as file:
            file.write(whole[:n])
        if run("trace", "top", "cut.ctf", code=None).code == 0:
            check_line(data(page("cut.ctf"))["trace"], "cut.ctf")
        else:
            run("report", "cut.ctf", "-o", "no.html", code=4)
    numbers = random.Random(7)
    trace = Trace()
    codes = [trace.code(("%040x" % numbers.getrandbits(160), "f.c", n)) for n in range(6000)]
    for n in range(18000):
        trace.alloc(50 * n, numbers.randrange(1, 60000), numbers.choices(codes, k=9))
    path = trace.write(os.path.join(os.environ["WORK"], "wide.ctf"))
    html = page(path)
    check(len(html) <= MOST_BYTES, f"{len(html)} bytes of a wide trace")
    found = data(html)["trace"]
    check(found["left_out"]["call_samples"] > 0, "it says what is left out")
    check_line(found, path)


def beside():
    """A snapshot, its samples' backtraces from the trace, and the trace."""
    begun = 1_500_000_000_000_000
    snap, trace = Snap(), Trace()
    snap.facts.update(taken_ns=(begun + 60_000_000) * 1000, started_ns=(begun - 100_000) * 1000)
    snap.sampler("memprof", 100, 0, 0, "/srv/app.ctf")
    code = trace.code(("Cache.add", "cache.ml", 12))
    for n in range(4):
        block = snap.block(20 + n)
        snap.root(block, f"root {n % 2}")
        snap.sample(trace.alloc(1000 * n, 19 + n, [code]), block)
    heap, path = snap.write("joined.snap"), trace.write(os.path.join(os.environ["WORK"], "j.ctf"))
    found = data(page(heap, "--trace", path))
    equal(found["sites"], run("samples", heap, "--group-by=site,root", "--trace", path,
                              "--json").json(), "sites and roots")
    equal(sorted((row["site"]["function"], row["root"], row["estimated_words"])
                 for row in found["sites"]["groups"]),
          [("Cache.add", "root 0", 100), ("Cache.add", "root 0", 100),
           ("Cache.add", "root 1", 100), ("Cache.add", "root 1", 100)], "who keeps it")
    equal(found["trace_top"]["total"]["samples"], 4, "the trace")
    other = Trace(pid=77)
    other.alloc(1, 2, [other.code(("f", "f.c", 1))])
    other.write(os.path.join(os.environ["WORK"], "other.ctf"))
    run("report", heap, "--trace", os.path.join(os.environ["WORK"], "other.ctf"), "-o", "no.html",
        code=None)
    check(not os.path.exists("no.html"), "a page with a foreign trace")


def refusals():
    snap = some_heap()
    with open("old.html", "w") as file:
        file.write("old")
    for name, code in [("none.snap", 5), ("old.html", 4)]:
        run("report", name, "-o", "new.html", code=code)
        check(not os.path.exists("new.html"), f"a page of {name}")
    with open(snap, "r+b") as file:
        file.truncate(os.path.getsize(snap) // 2)
    run("report", snap, "-o", "old.html", code=4)
    with open("old.html") as file:
        equal(file.read(), "old", "the page that was there")
    empty = Snap()
    found = data(page(empty.write("empty.snap")))
    equal(found["keys"]["words"], [0], "keys of an empty heap")


some = Snap()
some.root(some.block(3), "one")
some.write(os.path.join(os.environ["WORK"], "tiny.snap"))
main(answers, keys, growth, policies, hostile, large, traces, hostile_traces, beside, refusals)
END

# A terminal is no place for it.
script -qec "stty cols 80; '$HEAPSNAP' report '$work/tiny.snap'; echo code \$?" /dev/null \
    </dev/null >"$work/tty" ||
    fail "no terminal: $(cat "$work/tty")"
grep -q 'cannot write a page to a terminal' "$work/tty" || fail "a page on a terminal"
grep -q 'code 2' "$work/tty" || fail "a page on a terminal: $(cat "$work/tty")"
