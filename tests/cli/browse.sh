# parts: browse
# browse, driven by keys in a real terminal (tmux): what its screens say, whatever their size, the
# names on them and the moment at which they change; and the terminals that it refuses.
. "$(dirname "$0")/lib.sh"
command -v tmux >/dev/null || skip "there is no tmux"
"$HEAPSNAP" browse --help >/dev/null 2>&1 || skip "built without the command browse"

# Whatever happens, no server of ours stays.
end_terminal()
{
    local socket
    for socket in "$work"/tmux.*; do
        tmux -S "$socket" kill-server 2>/dev/null || true
    done
    cleanup
}
trap end_terminal EXIT

python <<'END'
import base64, fcntl, pty, re, shlex, signal, struct, termios, time
from snapcli import *

ENTER, UP, DOWN, LEFT, ESCAPE, END = "Enter", "Up", "Down", "Left", "Escape", "End"


class Tmux:
    """A server of its own for each terminal: one that ends is still there for a while."""
    socket, n = None, 0


def tmux(*arguments):
    done = subprocess.run(["tmux", "-S", Tmux.socket, "-f", "/dev/null", *arguments],
                          capture_output=True, timeout=60)
    check(done.returncode == 0, f"tmux {arguments}: {done.stderr.decode()}")
    return done.stdout.decode(errors="replace")


class Terminal:
    """heapsnap browse on a terminal of its own; all that it writes is kept in `raw`."""

    def __init__(self, *arguments, size=(80, 24), **env):
        Tmux.n += 1
        Tmux.socket = os.path.join(WORK, f"tmux.{Tmux.n}")
        self.raw_path = os.path.join(WORK, "raw")
        self.go = os.path.join(WORK, "go")
        for path in [self.raw_path, self.go]:
            if os.path.exists(path):
                os.remove(path)
        words = [HEAPSNAP, "browse", *map(str, arguments)]
        settings = " ".join(f"{key}={value}" for key, value in env.items())
        # It begins once all that it writes is listened to.
        command = (f"while [ ! -e {self.go} ]; do sleep 0.02; done; env TERM=screen-256color "
                   f"{settings} {shlex.join(words)}; echo EXIT $?; exec cat")
        tmux("new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), command)
        tmux("set", "-g", "status", "off")
        tmux("set", "-g", "window-size", "manual")
        tmux("resize-window", "-x", str(size[0]), "-y", str(size[1]))
        tmux("pipe-pane", f"cat >{self.raw_path}")
        with open(self.go, "w"):
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["tmux", "-S", Tmux.socket, "kill-server"], capture_output=True)

    def screen(self):
        return tmux("capture-pane", "-p").split("\n")[:-1]

    def shows(self, *wanted, without=(), until=lambda lines: True):
        """Waits until the screen has all these texts, and is as `until` says; gives its lines.

        A screen is drawn from its top, and may be seen half drawn: what the wait is not for,
        below the texts, may not be there yet.
        """
        for _ in range(600):
            lines = self.screen()
            text = "\n".join(lines)
            if (all(want in text for want in wanted) and not any(no in text for no in without)
                    and until(lines)):
                return lines
            time.sleep(0.05)
        raise Failure(f"no {wanted} (or still {without}), or not as expected, on the screen:\n"
                      + "\n".join(lines))

    def press(self, *keys):
        for key in keys:
            tmux("send-keys", "--", key)

    def type(self, text):
        tmux("send-keys", "-l", "--", text)

    def resize(self, columns, lines):
        tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def ends(self, code, *keys):
        """After these keys; the terminal is what it was before. On a large one, to be read."""
        self.resize(80, 24)
        self.press(*keys)
        lines = self.shows(f"EXIT {code}")
        check("? for help" not in "\n".join(lines), f"the screen was not given back: {lines}")
        return "\n".join(lines)

    def raw(self):
        with open(self.raw_path, "rb") as file:
            return file.read()


def the_heap(name="heap.snap", growth=0, **more):
    """A server that keeps sessions in a list, shares a table, and loses requests."""
    snap = Snap()
    session = snap.type("struct session")
    text = snap.type("char[]")
    request = snap.type("struct request")
    table = snap.type("struct table")
    cells = [snap.block(6, session) for _ in range(40 + growth)]
    for a, b in zip(cells, cells[1:]):
        snap.edge(a, b, 1)
    for cell in cells:
        snap.edge(cell, snap.block(20, text), 2)
    shared = snap.block(300, table)
    for _ in range(5):
        lost = snap.block(9, request)
        snap.edge(lost, snap.block(4, text), 1)
    snap.root(cells[0], "server.sessions", "global", "shop", "shop.c", module="shop",
              file="shop.c", line=51)
    snap.root(shared, "cache", "global", "shop", "shop.c")
    snap.root(shared, "latest", "global", "shop", "other.c")
    return snap, snap.write(name)


snap, path = the_heap()


def stripped(lines):
    return [line.rstrip() for line in lines]


def screens():
    """To the byte, on a terminal of 80 columns; and the figures are those of the commands."""
    with Terminal("heap.snap") as t:
        first = stripped(t.shows("server.sessions", "by size"))
    equal(first[1:5], [
        "owners: all",
        "   8.1 KiB  74.0% [##########]        80 /server.sessions",
        "   2.3 KiB  21.4% [###       ]         1 /cache",
        "     520 B   4.6% [#         ]        10 /[unreached]",
    ], "the first screen")
    check(first[0].startswith(" heapsnap  heap.snap") and first[0].endswith("firm  ? for help"),
          first[0])
    equal(first[-1], " 1/4  of 11.0 KiB  by size", "the last line")
    roots = run("roots", path, "--json").json()
    equal(roots["roots"][0]["retained_words"], 40 * 26, "the words of the first row")
    equal(first[5], "       0 B   0.0% [          ]            [1 that have no heap words]", "")


def percentages_count_what_is_not_read():
    made, _ = the_heap("unread.snap")
    made.record("memory", "unclaimed", 6, 8 << 20, 8 << 20, 1)
    with Terminal(made.write("unread.snap")) as t:
        lines = stripped(t.shows("[not read]", "by size"))
        equal([lines[2], lines[5], lines[-1]], [
            "   8.1 KiB   0.1% [          ]        80 /server.sessions",
            "   8.0 MiB  99.9% [##########]            [not read]",
            " 1/5  of 8.0 MiB  by size"], "owners")
        t.press("r")
        t.shows("roots and owner sets", "   8.0 MiB  99.9% ")
        t.press(LEFT, ENTER)
        t.shows("owners: server.sessions", "of 8.1 KiB, 0.1% of heap and unread memory")


def two_keys_to_the_leak():
    with Terminal("heap.snap") as t:
        t.shows("[unreached]")
        t.press("L")
        t.shows("lost: no root reaches these", "certain  struct request")
        t.press(LEFT, END, UP, ENTER)
        t.shows("owners: [unreached]", "struct request", "char[]")


def goes_everywhere():
    with Terminal("heap.snap") as t:
        t.shows("server.sessions")
        t.press(ENTER)
        t.shows("owners: server.sessions", "struct session")
        t.press("t")
        t.shows("types in server.sessions > struct session", "char[]", "6.3 KiB")
        t.press("h", ENTER)
        t.shows("owners: server.sessions > struct session", "[its own blocks]", "char[]")
        t.press("p")
        t.shows("paths to #", "global server.sessions (shop.c:51)", "struct session")
        t.press(LEFT, "o")
        t.shows("who holds #")
        t.press(LEFT, LEFT, LEFT, "r")
        t.shows("roots and owner sets", "set:1: 2 roots: cache, latest")
        t.press("/")
        t.shows(without=["by size"])
        t.type("set")
        t.press(ENTER, ENTER)
        t.shows("dominated by set:1", "struct table")
        t.press("i")
        t.shows("this row", "kept by      set:1", "heapsnap object heap.snap '#")
        t.press("q", LEFT, "o", LEFT, LEFT, "d")
        t.shows("dominated by all roots", "globals")
        t.press("w", "g")
        lines = t.shows("1340 words", without=["["])
        check(any(" 1340 " in line for line in lines), f"words: {lines}")
        t.press("?")
        t.shows("Enter, Right, l")
        t.press("q", "f")
        t.shows("conservative  ?", "policy conservative")
        t.press("&")
        t.type("nothing like it")
        t.press(ENTER)
        t.shows("no row contains 'nothing like it'")
        t.ends(0, "q")


def sorts():
    with Terminal("heap.snap") as t:
        def names():
            return [line.split("/")[-1] for line in stripped(t.screen())[2:5]]
        t.shows("by size")
        equal(names(), ["server.sessions", "cache", "[unreached]"], "by size")
        t.press("s")
        t.shows("by size, reversed")
        equal(names(), ["[unreached]", "cache", "server.sessions"], "by size, reversed")
        t.press("n")
        t.shows("by name")
        equal(names(), ["[unreached]", "cache", "server.sessions"], "by name")
        t.press("C")
        t.shows("by count")
        equal(names(), ["server.sessions", "[unreached]", "cache"], "by count")


def compares():
    the_heap("new.snap", growth=10)
    with Terminal("new.snap", "--baseline", "heap.snap") as t:
        t.shows("server.sessions", "since heap.snap", until=lambda lines:
                any("+2.0 KiB" in line and "server.sessions" in line for line in lines)
                and any(re.search(r" = .*cache", line) for line in lines))
        t.press("m")
        t.shows("server.sessions", without=["since", "+2.0"])
        t.press("m")
        t.shows("compare with")
        t.type("no such file")
        t.press(ENTER)
        t.shows("no such file", "No such file or directory")
        t.press("m")
        t.type("heap.snap.keys")
        t.press(ENTER)
        t.shows("+2.0 KiB", "by growth")
        t.press("y")
        t.shows("heapsnap diff heap.snap.keys new.snap --by key")
        t.ends(0, "q")


def side_by_side():
    """Two rows of two lists: words, objects, who keeps them, types; and the older key stays."""
    with Terminal("heap.snap") as t:
        t.shows("server.sessions")
        t.press("M")
        t.shows("marked: server.sessions. M on another row", "*server.sessions")
        t.press(DOWN)
        t.shows("*server.sessions", "2/4")
        t.press("M")
        t.shows("side by side", until=lambda lines: stripped(lines)[2:20] == [
            "marked: server.sessions",
            "here:   cache",
            "",
            "      marked         here           +-",
            "     8.1 KiB      2.3 KiB     -5.8 KiB  with all below",
            "         0 B          0 B          0 B  itself",
            "          80            1          -79  objects",
            "",
            "kept by   marked: server.sessions",
            "          here:   cache",
            "",
            "types of what each keeps:",
            "     6.3 KiB          0 B     -6.3 KiB  char[]",
            "         0 B      2.3 KiB     +2.3 KiB  struct table",
            "     1.9 KiB          0 B     -1.9 KiB  struct session",
            "", "", ""])
        t.press("q", "r", "w")
        t.shows("roots and owner sets", "words")
        t.press("/")
        t.shows(without=["by size"])
        t.type("set:1")
        t.press(ENTER, "M")
        t.shows("here:   set:1: 2 roots", "        1040          300         -740  with all below",
                "         240            0         -240  struct session")
        t.press("q", LEFT, "Home", "M")
        t.shows("nothing is marked any more", without=["*server"])
        t.press("m")
        t.shows("compare with snapshot or key file")
        t.press(ESCAPE)
        t.ends(0, "q")


def copies_the_command():
    with Terminal("heap.snap") as t:
        t.shows("by size")
        t.press("r", "y")
        t.shows("heapsnap roots heap.snap")
        t.press("L", "y")
        t.shows("heapsnap leaks heap.snap")
        t.press("t", "y") # in the first block that is lost
        t.shows("heapsnap types heap.snap --of '#")
        t.press(LEFT, LEFT, LEFT, "d", "y")
        t.shows("heapsnap dominators heap.snap --from '#0' --depth 1")
        t.press(LEFT, ENTER, "y")
        t.shows("the command that prints this list")
        t.ends(0, "q", "q")
        found = re.findall(rb"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07", t.raw())
    commands = [base64.b64decode(code).decode() for code in found]
    equal(commands[:2], ["heapsnap roots heap.snap", "heapsnap leaks heap.snap"], "what is copied")
    for command in commands: # each runs
        words = shlex.split(command)[1:]
        check(run(*words).out != "", command)
    check("struct session" in run(*shlex.split(commands[-1])[1:]).out, commands[-1])


KEYS = ["Down", "Enter", "o", "Left", "p", "Left", "t", "Left", "d", "d", "r", "End", "Home",
        "NPage", "PPage", "L", "Left", "i", "Escape", "?", "Down", "Escape", "s", "C", "n", "g",
        "w", "y", "Escape", "M", "Down", "M", "Escape", "Left", "Left", "Left"]


def any_size():
    """Every key on every size: it is alive afterwards, and ends well."""
    for size in [(80, 24), (40, 10), (1, 1), (200, 50), (2, 3), (13, 2), (300, 4)]:
        with Terminal("heap.snap", size=size) as t:
            if size[0] >= 40:
                t.shows("server.sessions")
            for key in KEYS:
                t.press(key)
            t.resize(80, 24)
            t.press("r")
            for line in t.shows("roots and owner sets"):
                check(len(line) <= 80, f"wider than the terminal: {line!r}")
            t.ends(0, "q")


def small_screens():
    with Terminal("heap.snap", size=(40, 10)) as t:
        lines = stripped(t.shows("server.sessions"))
        equal(len(lines), 10, "lines")
        equal(lines[2], "   8.1 KiB  74.0% /server.sessions", "a narrow row")
    with Terminal("heap.snap", size=(20, 3)) as t:
        lines = stripped(t.shows("server"))
        check("server" in lines[1], f"one row: {lines}")
        t.press(DOWN)
        t.shows("cache", without=["server"])
    with Terminal("heap.snap", size=(200, 50)) as t:
        lines = t.shows("server.sessions")
        equal(len(lines), 50, "lines")


def resized_while_it_draws():
    with Terminal("heap.snap") as t:
        t.shows("server.sessions")
        sizes = [(80, 24), (1, 1), (200, 50), (5, 40), (40, 2), (120, 3)]
        for i in range(60):
            t.resize(*sizes[i % len(sizes)])
            t.press(*[KEYS[(i * 3 + k) % len(KEYS)] for k in range(3)])
        t.resize(80, 24)
        t.press("Escape")
        t.ends(0, "q")


HOSTILE = [b"\x1b]0;owned\x07title", b"\x1b[2Jcleared", b"line\nbreak\rreturn", b"\xff\xfe bad",
           "\u202egnp.exe".encode(), "\u2066isolated\u2069".encode(), "世界 wide 世界".encode(),
           "e\u0301\u0301\u0301 combining".encode(), "\u0301 first".encode(), b"\xc2\x9b31m C1",
           b"'; rm -rf /; echo '", b"long " + b"x" * 20000, "\U000e0041tag".encode(),
           b"%s%n%d", "👩‍👩‍👧 family".encode()]


def hostile_names():
    bad = Snap()
    for at, name in enumerate(HOSTILE):
        type_ = bad.type(name)
        block = bad.block(100 + at, type_)
        bad.edge(block, bad.block(50, bad.type(b"below " + name)), 0)
        bad.root(block, name, "global", name, name, file=name, line=3)
        bad.sample(at, block)
    bad.write("bad.snap")
    for size in [(80, 40), (33, 40), (8, 5)]:
        with Terminal("bad.snap", size=size) as t:
            if size[0] == 80:
                def columns_stand(lines): # wide letters or not
                    return all(re.match(r" +[\d.]+ (B|KiB) +[\d.]+% \[", line)
                               for line in lines[2:17])
                lines = t.shows("\\x1b]0;owned", "\\x1b[2Jcleared", "line\\x0abreak\\x0dreturn",
                                "\\xff\\xfe bad", "\\u{202e}gnp.exe", "世界 wide 世界",
                                "combining", "\\u{9b}31m C1", "%s%n%d", until=columns_stand)
                check(any(line.rstrip().endswith("/世界 wide 世界") for line in lines), f"{lines}")
            for _ in range(len(HOSTILE)):
                t.press("Enter", "t", "Enter", "o", "Left", "Left", "Left", "Left", "i", "Escape",
                        "y", "Escape", "Down")
            t.press("L", "Left", "r", "d", "Left", "Left")
            t.resize(80, 40)
            t.press("r")
            t.shows("roots and owner sets")
            t.ends(0, "q")
            raw = t.raw()
        for no in [b"\x1b]0;owned", b"\x1b[2Jcleared", b"\xff", "\u202e".encode(),
                   "\u2066".encode(), b"\xc2\x9b", "\U000e0041".encode()]:
            check(no not in raw, f"{no!r} went to the terminal")
        for code in re.findall(rb"\x1b\]52;c;([^\x07]*)\x07", raw):
            check(b"\x1b" not in base64.b64decode(code, validate=True), "an escape was copied")


def many_children():
    """Only the largest of a node's children are rows, and more of them when they are asked for."""
    wide = Snap()
    hub = wide.block(3000)
    for i in range(2500):
        wide.edge(hub, wide.block(1 + i % 9), i)
    wide.root(hub, "hub", "global", "m", "u")
    wide.write("wide.snap")
    with Terminal("wide.snap") as t:
        t.shows("hub")
        t.press("r", ENTER)
        t.shows("dominated by", "1/1") # the hub itself
        t.press(ENTER)
        t.shows("1/1002")
        t.press(END)
        t.shows("[1500 others]")
        t.press(ENTER)
        t.shows("/2501", without=["others"])
        t.ends(0, "q")


def no_heap_at_all():
    empty = Snap()
    empty.root(None, "nothing", "global", "m", "u")
    empty.write("empty.snap")
    with Terminal("empty.snap") as t:
        t.shows("owners: all")
        for key in KEYS:
            t.press(key)
        t.press("Escape", "Left", "r")
        t.shows("roots and owner sets")
        t.ends(0, "q")


def signals():
    for key, number in [("C-c", signal.SIGINT), (None, signal.SIGTERM)]:
        with Terminal("heap.snap") as t:
            t.shows("server.sessions")
            if key is None:
                shell = tmux("display-message", "-p", "#{pane_pid}").strip()
                with open(f"/proc/{shell}/task/{shell}/children") as file:
                    os.kill(int(file.read().split()[0]), number)
            text = t.ends(128 + number, *([key] if key else []))
            check("heapsnap: interrupted" in text, text)


def a_file_cut_under_it():
    wide = random_snap(5, n_blocks=200)
    here = wide.write("cut.snap")
    run("index", here)
    with Terminal("cut.snap") as t:
        t.shows("owners: all")
        os.truncate(here, 0)
        t.press("r", "d", "L", "d", "t")
        text = t.shows("EXIT 5")
        check("a file was cut short" in "\n".join(text), text)


def on_terminal(term, *arguments, stdin=None, stdout=None):
    """Exit code and standard error where a stream may be something else than a terminal."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    env = {key: value for key, value in os.environ.items() if key != "TERM"}
    if term is not None:
        env["TERM"] = term
    done = subprocess.run([HEAPSNAP, "browse", *arguments], stdin=stdin or slave,
                          stdout=stdout or slave, stderr=subprocess.PIPE, env=env, timeout=60)
    os.close(slave)
    os.set_blocking(master, False)
    try:
        written = os.read(master, 65536)
    except OSError: # nothing was
        written = b""
    os.close(master)
    equal(written, b"", "what a terminal got that is refused")
    return done.returncode, done.stderr.decode()


def refused():
    here = os.path.join(WORK, "fresh.snap")
    the_heap("fresh.snap")
    for term, why in [("dumb", "TERM=dumb: the terminal cannot move its cursor"),
                      ("", "TERM does not say what the terminal is"),
                      (None, "TERM does not say what the terminal is"),
                      ("no-such-terminal", "nothing is known of a terminal of this TERM")]:
        code, err = on_terminal(term, here)
        equal(code, 2, f"exit code with TERM={term}: {err}")
        check(f"heapsnap: cannot browse '{here}': {why}\n" in err, err)
        check(f"hint: 'heapsnap dominators {here}' prints" in err, err)
    for which in ["stdin", "stdout"]:
        with open(os.devnull, "r+b") as null:
            code, err = on_terminal("xterm", here, **{which: null})
        equal(code, 2, f"exit code without {which}: {err}")
        name = {"stdin": "standard input", "stdout": "standard output"}[which]
        check(f"{name} is no terminal" in err, err)
    code, err = on_terminal("xterm", os.path.join(WORK, "nowhere.snap"))
    equal(code, 5, err)
    code, err = on_terminal("xterm", os.path.join(WORK, "go"))
    equal(code, 4, err)


os.chdir(WORK)
main(screens, percentages_count_what_is_not_read, two_keys_to_the_leak, goes_everywhere, sorts,
     compares, side_by_side, copies_the_command, small_screens, any_size, resized_while_it_draws,
     hostile_names, many_children, no_heap_at_all, signals, a_file_cut_under_it, refused)
END
