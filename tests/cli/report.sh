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
                                 "set_roots"]), "members")
    for command in ["info", "roots", "suspects", "types", "leaks", "samples"]:
        equal(found[command], run(command, snap, "--json").json(), f"what {command} prints")
    for text in [b"struct link", b"src/list.c"]:
        check(text not in html, f"{text} stands in the markup")
    check(html == page(snap), "a second page differs")
    check(run("report", snap).out.encode() == html, "the page on standard output differs")


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
main(answers, keys, growth, policies, hostile, large, refusals)
END

# A terminal is no place for it.
script -qec "stty cols 80; '$HEAPSNAP' report '$work/tiny.snap'; echo code \$?" /dev/null \
    </dev/null >"$work/tty" ||
    fail "no terminal: $(cat "$work/tty")"
grep -q 'cannot write a page to a terminal' "$work/tty" || fail "a page on a terminal"
grep -q 'code 2' "$work/tty" || fail "a page on a terminal: $(cat "$work/tty")"
