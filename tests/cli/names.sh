# parts: export
# Names come from a hostile target: whatever they hold, no escape, no line and no direction of ours
# is theirs to give, and every format stays well-formed.
. "$(dirname "$0")/lib.sh"

python <<'END'
import re
from snapcli import *

HOSTILE = [b"\x1b[31mred\x1b[0m", b"\x1b]0;title\x07", b"two\nlines", b"tab\there", b"back\\slash",
           b"carriage\rreturn", b"bell\x07", b"del\x7f", b"c1\xc2\x9b31m", b"bad\xff\xfe",
           b"cut\xe2\x80", b"surrogate\xed\xa0\x80", b"overlong\xc0\xaf", "rtl\u202egnp".encode(),
           "isolate\u2066x\u2069".encode(), "zero\u200bwidth".encode(), "line\u2028sep".encode(),
           "tag\U000e0041".encode(), b"quote\"s' and <b>&amp;", "wide漢字".encode(),
           "combining e\u0301".encode(), b"x" * 5000, b"%s%n%d", b"$(reboot)`id`", b" ", b"-"]
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"
                       "\U000e0000-\U000e007f]")
snap = Snap()
for at, name in enumerate(HOSTILE):
    kind = snap.type(name, at)
    block = snap.block(10 + at, kind)
    snap.root(block, name, "global", binary=name, unit=name, module=name, symbol=name, file=name,
              function=name, line=7)
    snap.sample(at, block)
snap.facts["command"] = HOSTILE[0] + HOSTILE[2]
snap.facts["tool_version"] = HOSTILE[9]
for name in HOSTILE:
    snap.record("note", name, 1)
    snap.record("proof", name, 1, 2, 0)
    snap.record("runtime", name, name, 0)
    snap.record("binary", name, name, 0x1000, 1, 1)
path = snap.write()
COMMANDS = [["roots", path], ["roots", path, "--group-by", "unit"], ["info", path],
            ["types", path], ["dominators", path, "-n", "0"], ["samples", path],
            ["paths", path, "--to", "0"], ["object", path, "0"], ["object", path, "5"]]


def clean(result):
    text = result.raw.decode("utf-8", errors="strict") # valid UTF-8, or this raises
    for line in text.split("\n"):
        bad = FORBIDDEN.search(line.replace("\t", ""))
        check(bad is None, f"{result.arguments}: {bad and hex(ord(bad.group()))} in {line[:80]!r}")
    return text


def tables():
    for command in COMMANDS:
        text = clean(run(*command))
        check("\t" not in text, f"{command}: a tab in a table")
    lines = run("roots", path, "-n", "0").lines()
    equal(len(lines), len(HOSTILE) + 5, "a name cannot make lines")
    check(any("red" in line and "\\x1b" in line for line in lines), "an escape is shown as \\x1b")


def one_long_name():
    """It does not make every line of a table as long as itself."""
    long = a_snap()
    for at in range(60):
        long.root(0, ("x" * 12000 if at == 0 else f"name {at}"), "global", unit="U")
    where = long.write("long.snap")
    for command in ["roots", "dominators", "types"]:
        size = len(run(command, where, "-n", "0").raw)
        check(size < 200000, f"{command}: {size} bytes of a table")
    check("x" * 12000 in run("roots", where, "-n", "0", "--json").out, "whole in JSON")


def tsv():
    for command in COMMANDS:
        text = clean(run(*command, "--format", "tsv"))
        widths = {line.count("\t") for line in text.splitlines()}
        equal(len(widths), 1, f"{command}: cells per line")


def json_():
    for command in COMMANDS:
        clean(run(*command, "--json"))
        run(*command, "--json").json()
        for line in clean(run(*command, "--format", "ndjson")).splitlines():
            json.loads(line)
    names = {r["name"] for r in run("roots", path, "--json").json()["roots"]}
    for name in HOSTILE:
        try:
            check(name.decode() in names, f"{name!r} does not come back from JSON")
        except UnicodeDecodeError:
            pass # each bad byte is U+FFFD
    check(any("\ufffd" in name for name in names), "bad bytes are replaced")


def exported():
    run("export", path, "--to", "graph", "-o", os.path.join(WORK, "graph"))
    raw = open(os.path.join(WORK, "graph", "nodes.tsv"), "rb").read()
    text = raw.decode("utf-8", errors="strict")
    equal({line.count("\t") for line in text.splitlines()}, {7}, "cells of nodes.tsv")
    equal(len(text.splitlines()), 1 + len(snap.tree()) + len(HOSTILE), "lines of nodes.tsv")
    check(FORBIDDEN.search(text.replace("\t", "")) is None, "nodes.tsv is printable")


def in_messages():
    for what in ["root:\x1b[31m", "type:\u202e", "root:a\nb"]:
        found = run("paths", path, "--to", what, code=2)
        check(FORBIDDEN.search(found.err) is None, repr(found.err))
        check(found.err.count("\n") <= 2, repr(found.err))
    # Hints that list names of the target.
    snap.root(0, b"\x1b[31mred.same", unit="a")
    snap.root(0, b"\x1b[32mgreen.same", unit="b")
    again = snap.write("again.snap")
    found = run("paths", again, "--to", "root:same", code=2)
    check("2 roots are called 'same'" in found.err, found.err)
    check(FORBIDDEN.search(found.err) is None, repr(found.err))


main(tables, one_long_name, tsv, json_, exported, in_messages)
END
