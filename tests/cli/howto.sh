# parts: ocaml python import sql export record watch push report serve browse
# Every command of docs/howto.md does what it says: looks are run on a heap with the names that the
# document uses, of what needs a process each option is one that the command has.
. "$(dirname "$0")/lib.sh"

python <<'PYTHON'
import re, shlex
from snapcli import *

LIVE = {"dump", "watch", "doctor"}
ADDRESS = 0x55D0C2A3F2A0


def made(name, n_sessions):
    snap = Snap()
    session = snap.type("Session")
    server = snap.block(10, session, address=ADDRESS)
    snap.root(server, "server")
    for _ in range(n_sessions):
        snap.edge(server, snap.block(20, session))
    shared = snap.block(400, session)
    for name_of in ["cache", "index"]:
        snap.root(shared, name_of)
    snap.sampler("memprof", period=100)
    snap.sample(1, server, site=snap.site(("handle", "shop.cpp", 3)), sampler=0)
    return snap.write(name)


def commands():
    with open(os.environ["SOURCE_DIR"] + "/docs/howto.md") as file:
        return [shlex.split(line)[1:] for line in file if line.startswith("    heapsnap ")]


def known_options(command, words):
    told = run(command, "--help").out
    for word in words:
        if re.match("--?[a-z]", word):
            check(re.search(r"(?<![\w-])" + re.escape(word) + r"(?![\w-])", told),
                  f"{command} has no {word}")


def every_command_is_understood():
    os.chdir(os.environ["WORK"])
    made("old.snap", 3)
    made("heap.snap", 8)
    found = commands()
    check(len(found) == 20, f"{len(found)} commands")
    for command, *words in found:
        if command in LIVE:
            known_options(command, words)
        else:
            run(command, *words)
    check(os.path.exists("report.html"), "no report")


main(every_command_is_understood)
PYTHON
