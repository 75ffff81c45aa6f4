# parts: record
# A trace whose program, functions and files are called by terminal escapes, line breaks, tabs,
# direction overrides and broken UTF-8: no command passes one of them on, in any format, to a pipe
# or to a terminal.
. "$(dirname "$0")/lib.sh"

python <<'END'
import json, os, pty, re

import ctf
from snapcli import *

EVIL = (b"\x1b]0;t\x07\x1b[31m\n\t\r\xc2\x9b\xe2\x80\xae\xe2\x81\xa6\xff\x7f\xe2\x80\x8b")
# C0 but the line's end, DEL, C1; directions, isolates, marks, separators, zero width, tags.
FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e"
                       "\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]")
OURS = re.compile("\x1b\\[[012]?m|\x1b\\[K") # bold, dim, plain, erase
HEAPSNAP = os.environ["HEAPSNAP"]
seen = set()
ctf.text = lambda name: (name if isinstance(name, bytes) else name.encode()) + b"\0"


def evil(what):
    return EVIL + what.encode() + b"zz"


def judge(raw, what, allowed=""):
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        check(False, f"{what}: {error}")
    bad = FORBIDDEN.search(text.translate({ord(c): None for c in allowed}))
    check(bad is None, f"{what} passes on "
          f"{bad and ascii(bad.string[max(bad.start() - 40, 0):bad.end() + 20])}")
    seen.update(name for name in ("program", "function", "inlined", "file") if name + "zz" in text)
    return text


def told(*words, codes=(0,), allowed=""):
    done = subprocess.run([HEAPSNAP, *words], capture_output=True)
    check(done.returncode in codes, f"{words}: exit {done.returncode}: {done.stderr!r}")
    judge(done.stderr, f"{words}: talk")
    return judge(done.stdout, f"{words}", allowed)


def on_terminal(*words):
    child, fd = pty.fork()
    if child == 0:
        os.environ.update(TERM="xterm")
        os.execv(HEAPSNAP, [HEAPSNAP, *map(os.fsencode, words)])
    raw = b""
    while True:
        try:
            more = os.read(fd, 65536)
        except OSError:
            break
        if not more:
            break
        raw += more
    os.waitpid(child, 0)
    os.close(fd)
    text = raw.replace(b"\r\n", b"\n").replace(b"\r", b"").decode("utf-8", errors="replace")
    judge(OURS.sub("", text).encode(), f"{words}: on a terminal", "\t")


trace = ctf.Trace(rate=1, executable=evil("program"))
outer = trace.code((evil("function"), evil("file"), 3))
inner = trace.code((evil("function") + b"2", evil("file"), 7), (evil("inlined"), evil("file"), 8))
ids = [trace.alloc(1000 * i, 20 + i, (outer, inner) if i % 2 else (outer,)) for i in range(200)]
for id in ids[::3]:
    trace.collect(300_000 + id, id)
path = os.path.join(os.fsencode(WORK), EVIL + b"named.ctf")
trace.write(path)

for what, *options in [("info",), ("dump",), ("top",), ("top", "--by", "function"), ("tree",),
                       ("tree", "--depth", "9"), ("lifetimes",)]:
    told("trace", what, path, *options, codes=(0, 2))
    told("trace", what, path, *options, "--progress", "always", "-v", codes=(0, 2))
    on_terminal("trace", what, path, *options)
    for format in ("table", "json", "ndjson", "tsv"):
        text = told("trace", what, path, *options, "--format", format, codes=(0, 2),
                    allowed="\t" if format == "tsv" else "")
        for line in [text] if format == "json" else text.splitlines() if format == "ndjson" else []:
            if line:
                json.loads(line)
for format in ("folded", "speedscope", "callgrind"): # a tab, as a name's, has been escaped, too
    text = told("trace", "export", path, "--to", format)
    if format == "speedscope":
        json.loads(text)
for word in (EVIL, b"/" + EVIL.replace(b"[", b"") + b"/"):
    told("trace", "top", path, "--inside", word, codes=(0, 2))
    told("trace", word, path, codes=(2,))
told("trace", "top", path + b".none", codes=(5,))
with open(path, "r+b") as file:
    file.truncate(os.path.getsize(path) - 7)
told("trace", "info", path, codes=(0, 4))
on_terminal("trace", "info", path)
equal(seen, {"program", "function", "inlined", "file"}, "names that some output has")
print("no command passes on a control of a name")
END
