# Every command with a disk that fails: each read, write, open, sync, close and rename in turn. It
# ends with the exit code of the documentation and one line, what it writes is whole or absent, and
# nothing else is left; what can be tried again (EINTR, short counts) is. A sample of the calls,
# all of them with HS_LONG=1.
. "$(dirname "$0")/lib.sh"

export IO_FAULTS=$BUILD_DIR/bin/io_faults.so
[ -e "$IO_FAULTS" ] || fail "no $IO_FAULTS"

python <<'END'
import base64
import gzip
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from snapcli import *

IO_FAULTS, LONG = os.environ["IO_FAULTS"], os.environ.get("HS_LONG") == "1"
SOURCE = os.environ["SOURCE_DIR"]
CORPUS = os.path.join(SOURCE, "tests", "fuzz", "corpus")
REFUSAL = "heapsnap: cannot "
OLD = b"what was there"

# What a call may fail with, and whether heapsnap must try again rather than give up.
FAULTS = [("open", "eio", False), ("read", "eio", False), ("read", "eio+", False),
          ("read", "eintr", True), ("read", "short", True),
          ("write", "enospc", False), ("write", "enospc+", False), ("write", "eio", False),
          ("write", "eintr", True), ("write", "short", True), ("sync", "eio", False),
          ("close", "eio", False), ("rename", "eio", False), ("rename", "enospc+", False),
          ("map", "eio", False)]

snap = a_snap().write("master.snap")
tables, v8 = os.path.join(WORK, "tables"), os.path.join(WORK, "js")
run("export", snap, "--to", "graph", "-o", tables)
run("export", snap, "--to", "v8", "-o", v8)
for left in [snap + ".idx"]:
    if os.path.exists(left):
        os.unlink(left)
SUPPRESSIONS = os.path.join(WORK, "known")
with open(SUPPRESSIONS, "w", encoding="utf-8") as known:
    known.write("# known\ntype:nothing of this name\n")

# The command line of each; SNAP and OUT are put in.
COMMANDS = {
    "info": ["info", "SNAP", "--json", "-o", "OUT"],
    "roots": ["roots", "SNAP", "-o", "OUT"],
    "dominators": ["dominators", "SNAP", "--json", "-o", "OUT"],
    "paths": ["paths", "SNAP", "--to", "1234", "-o", "OUT"],
    "types": ["types", "SNAP", "-o", "OUT"],
    "object": ["object", "SNAP", "1234", "--json", "-o", "OUT"],
    "leaks": ["leaks", "SNAP", "--suppressions", SUPPRESSIONS, "-o", "OUT"],
    "samples": ["samples", "SNAP", "-o", "OUT"],
    "suspects": ["suspects", "SNAP", "--json", "-o", "OUT"],
    "report": ["report", "SNAP", "-o", "OUT"],
    "index": ["index", "SNAP"],
    "check": ["check", "SNAP"],
    "export v8": ["export", "SNAP", "--to", "v8", "-o", "OUT"],
    "export graph": ["export", "SNAP", "--to", "graph", "-o", "OUT"],
    "import graph": ["import", "--from", "graph", tables, "-o", "OUT"],
    "import v8": ["import", "--from", "v8", v8, "-o", "OUT"],
    "import hprof": ["import", "--from", "hprof",
                     os.path.join(CORPUS, "importhprof", "id8.hprof"), "-o", "OUT"],
    "help": ["help", "dump"],
    "version": ["version"],
    "completion": ["completion", "zsh"],
}


def content(path):
    """Of a file, or of all files of a directory; None when it is not there."""
    if os.path.isdir(path):
        return {name: content(os.path.join(path, name)) for name in sorted(os.listdir(path))}
    if not os.path.exists(path):
        return None
    with open(path, "rb") as file:
        return file.read()


class Place:
    """A directory with the snapshot, with or without its index."""

    def __init__(self, name, words, with_index, old, source=snap):
        self.directory = os.path.join(WORK, name)
        shutil.rmtree(self.directory, ignore_errors=True)
        os.mkdir(self.directory)
        self.snap, self.out = (os.path.join(self.directory, n) for n in ("heap.snap", "out"))
        self.count = os.path.join(WORK, name + ".count")
        shutil.copy(source, self.snap)
        if with_index:
            shutil.copy(source + ".idx", self.snap + ".idx")
        self.old = old
        if old is not None:
            with open(self.out, "wb") as file:
                file.write(old)
        put = {"SNAP": self.snap, "OUT": self.out, "DIR": self.directory}
        self.words = [put.get(word, word) for word in words]

    def run(self, fault, mark=""):
        if os.path.exists(self.count):
            os.unlink(self.count)
        done = subprocess.run([HEAPSNAP] + self.words, capture_output=True, timeout=100,
                              stdin=subprocess.DEVNULL,
                              env={**os.environ, "LD_PRELOAD": IO_FAULTS, "IO_FAULT": fault,
                                   "IO_FAULT_MARK": mark, "IO_FAULT_COUNT": self.count,
                                   "XDG_CACHE_HOME": "/dev/null"})
        with open(self.count, encoding="utf-8") as file:
            return done, int(file.read())


def unpacked(product):
    """A page of report, with its data unpacked: it holds the name of the snapshot."""
    page = re.fullmatch(rb'(<!doctype html>.*id="data">\n)([A-Za-z0-9+/=\n]*)(</script>.*)',
                        product, re.S)
    return product if page is None else \
        page[1] + gzip.decompress(base64.b64decode(page[2])) + page[3]


def same(found, expected, place, reference):
    if isinstance(expected, bytes) and isinstance(found, bytes):
        return unpacked(found).replace(place.directory.encode(), b"@") == \
            unpacked(expected).replace(reference.directory.encode(), b"@")
    return found == expected


def check_files(what, place, reference, done, whole_index):
    """The product is whole, as before, or absent; so is the index; nothing else is there."""
    found, expected = content(place.out), content(reference.out)
    if done.returncode == 0:
        check(same(found, expected, place, reference), f"{what}: exit 0 with another product")
        if place.words[0] not in ("index", "check"): # which say what was done and found
            check(same(done.stdout, reference.said, place, reference),
                  f"{what}: said {done.stdout!r}, without it {reference.said!r}")
    elif isinstance(expected, dict):
        for name, data in (found or {}).items():
            check(data == expected[name], f"{what}: half of {name}")
    else:
        check(found == place.old or same(found, expected, place, reference),
              f"{what}: half a product")
    index = content(place.snap + ".idx")
    check(index in (None, whole_index), f"{what}: a wrong index")
    allowed = {"heap.snap", "heap.snap.idx", "heap.snap.idx.part", "heap.snap.keys", "out"}
    left = set(os.listdir(place.directory)) - allowed
    check(not left, f"{what}: left {left}")
    check(content(place.snap) == content(snap), f"{what}: the snapshot was changed")


def try_one(name, words, with_index, old, reference, fault, nth, codes, whole_index):
    kind, how, retries = fault
    what = f"{name}, {kind} {nth} {how}, {'with' if with_index else 'without'} an index"
    place = Place(f"{name} {kind} {nth} {how} {with_index} {old is None}".replace(" ", "_"), words,
                  with_index, old)
    done, _ = place.run(f"{kind}:{nth}:{how}")
    said = done.stderr.decode(errors="backslashreplace")
    check(done.returncode in codes, f"{what}: exit {done.returncode}: {said}")
    check(not retries or done.returncode == 0, f"{what}: not tried again: {said}")
    lines = [line for line in said.splitlines() if line.startswith(REFUSAL)]
    if done.returncode != 0:
        check(len(lines) == 1 and len(said.splitlines()) <= 3, f"{what}: said {said!r}")
    check_files(what, place, reference, done, whole_index)
    shutil.rmtree(place.directory)
    return done.returncode


def sample(n):
    return range(1, n + 1) if LONG else sorted({1, n // 2, n} - {0})


def settings(words):
    """With an index or without, over an old product or not; in short one of each command."""
    if "SNAP" not in words:
        return [(False, None)] + ([(False, OLD)] if LONG else [])
    if LONG:
        return [(with_index, old) for with_index in (False, True) for old in (None, OLD)]
    return [(words[0] not in ("roots", "index", "export"), OLD if words[0] != "export" else None)]


def try_command(name, whole_index):
    words, n_tried, n_failed = COMMANDS[name], 0, 0
    for with_index, old in settings(words):
        if old is not None and ("OUT" not in words or name == "export graph"):
            old = None
        reference = Place(name.replace(" ", "_") + ".reference", words, with_index, old)
        n_calls = {}
        for fault in FAULTS:
            if not LONG and (fault[1].endswith("+") or fault[0] == "map"):
                continue
            if fault[0] not in n_calls:
                first = Place(name.replace(" ", "_") + ".count", words, with_index, old)
                done, n_calls[fault[0]] = first.run(f"{fault[0]}:0:{fault[1]}")
                check(done.returncode == 0, f"{name}: exit {done.returncode}: {done.stderr}")
            if fault is FAULTS[0]:
                reference.run("none:0:eio")
                reference.said = done.stdout.replace(first.directory.encode(),
                                                     reference.directory.encode())
            for nth in sample(n_calls[fault[0]]):
                n_failed += try_one(name, words, with_index, old, reference, fault, nth,
                                    (0, 4, 5, 6), whole_index) != 0
                n_tried += 1
    return name, n_tried, n_failed


def every_command():
    run("index", snap)
    whole_index = content(snap + ".idx")
    with ThreadPoolExecutor(2) as pool:
        for name, n_tried, n_failed in pool.map(lambda n: try_command(n, whole_index), COMMANDS):
            print(f"{name}: {n_tried} failures, of which {n_failed} ended it")
            check(n_failed > 0 or name in ("help", "version"), f"{name}: nothing ever failed")


SPILLED = "(deleted)" # what the kernel adds to the name of a file without one


def temporary_files():
    """An index by passes over temporary files, each of whose calls fails: 5, and a next time."""
    big = os.path.join(WORK, "big.snap")
    subprocess.run([os.path.join(os.environ["BUILD_DIR"], "bin", "make_heap"), "100000", big],
                   check=True, stdout=subprocess.DEVNULL)
    words = ["index", "SNAP", "--memory", "24Mi", "--spill-dir", "DIR", "--threads", "1"]
    run("index", big)
    whole_index = content(big + ".idx")
    n_failed = 0
    for kind, how, retries in FAULTS:
        if kind not in ("read", "write") or (how.endswith("+") and not LONG):
            continue
        place = Place("big", words, False, None, big)
        done, n = place.run(f"{kind}:0:{how}", SPILLED)
        check(done.returncode == 0 and n > 20, f"by files: {n} calls: {done.stderr}")
        check(content(place.snap + ".idx") == whole_index, "by files: another index")
        for nth in range(1, n + 1) if LONG else (2, n):
            what = f"by files, {kind} {nth} {how}"
            place = Place("big", words, False, None, big)
            done, _ = place.run(f"{kind}:{nth}:{how}", SPILLED)
            left = set(os.listdir(place.directory)) - {"heap.snap", "heap.snap.idx.part"}
            if not retries and nth == n and left == {"heap.snap.idx"}:
                # The last ones are of the key file: the index is whole without.
                check(content(place.snap + ".idx") == whole_index, f"{what}: another index")
                check(done.returncode == 0, f"{what}: exit {done.returncode}")
                continue
            check(done.returncode == (0 if retries else 5), f"{what}: exit {done.returncode}")
            n_failed += not retries
            check(retries or done.stderr.startswith(REFUSAL.encode()), f"{what}: {done.stderr}")
            left -= {"heap.snap.keys"}
            check(left == ({"heap.snap.idx"} if retries else set()), f"{what}: left {left}")
            run("index", place.snap)
            check(content(place.snap + ".idx") == whole_index, f"{what}: another index afterwards")
    print(f"temporary files: {n_failed} failures")


class Target:
    """A process with more memory than a dump of it may take."""

    PROGRAM = "$| = 1; my @kept = map { chr($_ % 250 + 1) x 4000 } 1 .. 12000; " \
              "print qq(ready\\n); <STDIN>;"

    def __enter__(self):
        self.process = subprocess.Popen(["perl", "-e", self.PROGRAM], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        check(self.process.stdout.readline() == "ready\n", "the target did not start")
        return self

    def __exit__(self, *_):
        self.process.stdin.write("\n")
        self.process.stdin.close()
        check(self.process.wait(timeout=100) == 0, "the target did not go on")
        self.process.stdout.close()


def try_dump(target, fault, nth, mark, codes):
    """A dump with a failure; what it wrote is sound, or nothing is there."""
    kind, how, retries = fault
    what = f"dump, {kind} {nth} {how}, {mark or 'any file'}"
    words = ["dump", str(target.process.pid), "--memory", "72Mi", "--spill-dir", "DIR", "-o", "OUT"]
    place = Place("dump", words, False, None)
    done, n = place.run(f"{kind}:{nth}:{how}", mark)
    said = done.stderr.decode(errors="backslashreplace")
    check(done.returncode in codes, f"{what}: exit {done.returncode}: {said}")
    left = set(os.listdir(place.directory)) - {"heap.snap", "out"}
    check(not left, f"{what}: left {left}")
    if done.returncode == 0:
        run("check", place.out)
    else:
        check(not os.path.exists(place.out) or kind == "close", f"{what}: a product")
        check(sum(line.startswith(REFUSAL) for line in said.splitlines()) == 1, f"{what}: {said}")
    check(target.process.poll() is None, f"{what}: the target is gone")
    with open(f"/proc/{target.process.pid}/stat", encoding="utf-8") as stat:
        check(stat.read().rsplit(")", 1)[1].split()[0] in "SR", f"{what}: the target is stopped")
    return done.returncode, n


def dumps():
    n_failed, n_tried, n_calls = 0, 0, {}
    with Target() as target:
        done = run("dump", target.process.pid, "-o", os.path.join(WORK, "try"), code=None)
        if done.code == 3:
            print(f"dump is left out: {done.err}")
            return
        for fault in FAULTS:
            for mark in ("", SPILLED):
                if mark and fault[0] not in ("read", "write"):
                    continue
                if not LONG and (fault[1].endswith("+") or (mark and fault[0] == "write") or
                                 fault[0] in ("sync", "map")):
                    continue
                if (fault[0], mark) not in n_calls:
                    _, n_calls[fault[0], mark] = try_dump(target, fault, 0, mark, (0,))
                n = n_calls[fault[0], mark]
                # A part of the copy that is lost is never taken for zeros.
                codes = (0,) if fault[2] else (5,) if mark else (0, 3, 4, 5, 6)
                for nth in range(1, n + 1, 1 + n // 400) if LONG else {n // 2} - {0}:
                    code, _ = try_dump(target, fault, nth, mark, codes)
                    n_failed, n_tried = n_failed + (code != 0), n_tried + 1
    print(f"dump: {n_tried} failures, of which {n_failed} ended it")
    check(n_failed > 0, "dump: nothing ever failed")


main(every_command, temporary_files, dumps)
END
