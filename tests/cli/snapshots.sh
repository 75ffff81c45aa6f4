# Files that are no snapshot, damaged, cut or too new: exit 4, each with its own message; and an
# empty heap is no error.
. "$(dirname "$0")/lib.sh"

python <<'END'
import os, struct
from snapcli import *

READERS = ["roots", "types", "dominators", "samples", "index", "check", "info"]
good = a_snap().write("good.snap")
bytes_ = open(good, "rb").read()
messages = {}


def put(name, data):
    path = os.path.join(WORK, name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def refused(path, pattern, code=4, readers=READERS):
    for command in readers:
        found = run(command, path, code=code)
        line = found.err.splitlines()[0]
        check(line.startswith(f"heapsnap: cannot read '{path}'"), f"{command}: {line}")
        check(pattern in line, f"{command}: no '{pattern}' in: {line}")
        check(found.out == "", f"{command} printed something of a bad file")
    found = run("paths", path, "--to", "#0", code=code)
    found = run("object", path, "#0", code=code)
    if has_part("export"):
        run("export", path, "--to", "graph", "-o", os.path.join(WORK, "never"), code=code)
    check(not os.path.exists(os.path.join(WORK, "never")), "export made a directory for a bad file")


def sections(data):
    """(begin, end) of each section; docs/format.md: a head of 40 bytes, stored_bytes at 24."""
    at, found = 32, []
    while at + 40 <= len(data) - 32:
        stored = struct.unpack_from("<Q", data, at + 24)[0]
        found.append((at, at + 40 + stored))
        at += 40 + stored
    equal(at, len(data) - 32, "the sections end at the footer")
    return found


def empty():
    refused(put("empty.snap", b""), "empty")


def a_c_file():
    refused(put("main.c", open(os.path.join(os.environ["SOURCE_DIR"], "tools/heapsnap.c"),
                               "rb").read()), "not a snapshot")
    refused(put("zeros", bytes(100000)), "not a snapshot")
    refused(put("short", b"\x89HSN"), "")


def missing():
    for command in READERS:
        found = run(command, os.path.join(WORK, "no-such-file"), code=5)
        check(found.err.startswith("heapsnap: cannot open '"), found.err)
        check("No such file or directory" in found.err, found.err)
    found = run("roots", WORK, code=5)
    check("directory" in found.err, found.err)


def cut():
    places = set()
    for begin, end in sections(bytes_):
        places |= {begin, begin + 1, begin + 39, begin + 40, (begin + 40 + end) // 2, end - 1, end}
    places |= set(range(1, 33)) | {len(bytes_) - 1, len(bytes_) - 31, len(bytes_) - 32}
    opened = 0
    places = {place for place in places if 0 < place < len(bytes_)}
    places = sorted(places)[::max(1, len(places) // rounds(2 * len(places)))]
    for place in places:
        path = put("cut.snap", bytes_[:place])
        found = run("roots", path, code=4)
        check("cut" in found.err or "not a snapshot" in found.err, f"cut at {place}: {found.err}")
        found = run("info", path, "--json", code=4)
        if found.out:
            opened += 1
            equal(found.json()["complete"], False, f"cut at {place}: complete")
            check(f"'{path}' is cut" in found.err, found.err)
    # All that follows the three front sections is enough to look at.
    third = sections(bytes_)[2][1]
    check(opened >= sum(third <= p < len(bytes_) for p in places),
          f"only {opened} cut files were still opened by info")
    path = put("cut.snap", bytes_[:len(bytes_) - 20])
    facts = run("info", path, "--json", code=4).json()
    equal(facts["pid"], 4242, "pid of a cut file")
    equal(facts["command"], "coqtop -q", "command of a cut file")
    check("no: the file is cut" in run("info", path, code=4).out, "the table says that it is cut")


def flipped():
    """Every byte matters: whatever bit is turned, check refuses, and nothing crashes."""
    refused_by_roots = 0
    step = max(1, len(bytes_) // rounds(150))
    at_ends = max(1, 32 // rounds(64))
    for place in sorted(set(range(0, len(bytes_), step)) | set(range(0, 32, at_ends)) |
                        set(range(len(bytes_) - 32, len(bytes_), at_ends))):
        data = bytearray(bytes_)
        data[place] ^= 1 << place % 8
        path = put("flipped.snap", bytes(data))
        found = run("check", path, code=4)
        check(found.err.startswith("heapsnap: cannot "), found.err)
        found = run("roots", path, code=None)
        check(found.code in (0, 4), f"bit {place}: roots exits {found.code}: {found.err}")
        refused_by_roots += found.code == 4
        found = run("info", path, code=None)
        check(found.code in (0, 4), f"bit {place}: info exits {found.code}: {found.err}")
        for name in os.listdir(WORK):
            if name.startswith("flipped.snap.idx"):
                os.unlink(os.path.join(WORK, name))
    check(refused_by_roots > rounds(50), f"roots refused only {refused_by_roots} damaged files")


def appended():
    for more in [b"\0", b"x" * 100, bytes_]:
        run("check", put("more.snap", bytes_ + more), code=4)


def future():
    data = bytearray(bytes_)
    version = struct.unpack_from("<I", data, 8)[0]
    equal(version, 5, "the version stands after the magic")
    for number in [6, 99, 0xFFFFFFFF]:
        struct.pack_into("<I", data, 8, number)
        path = put("future.snap", bytes(data))
        refused(path, "format version")
        found = run("roots", path, code=4)
        check(str(number) in found.err, found.err)
        check("\nhint: " in found.err, found.err)


def nothing_in_it():
    path = Snap().write("nothing.snap")
    found = run("roots", path, "--json").json()
    equal(found["roots"], [], "roots of an empty heap")
    equal(found["heap"]["words"], 0, "words of an empty heap")
    check("TOTAL" in run("roots", path).out, "an empty table closes")
    for command in READERS:
        run(command, path)
    run("object", path, "#0")
    if has_part("export"):
        run("export", path, "--to", "graph", "-o", os.path.join(WORK, "nothing"))
    snap = Snap()
    for words in [3, 4, 5]:
        snap.block(words)
    found = run("roots", snap.write("rootless.snap"), "--json").json()
    equal(found["unreached"], {"words": 12}, "blocks without any root")
    equal(found["roots"], [], "no roots")


def from_a_pipe():
    expected = run("roots", good, "--json").json()
    found = run("roots", "-", "--json", stdin=bytes_).json()
    expected["snapshot"] = found["snapshot"] = None
    equal(found, expected, "roots of standard input")


def check_says_sound():
    found = run("check", good)
    check(found.out.startswith(f"{good}: sound: "), found.out)


main(empty, a_c_file, missing, cut, flipped, appended, future, nothing_in_it, from_a_pipe,
     check_says_sound)
END
