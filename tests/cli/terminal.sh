# On a terminal: human units, its width, colour unless NO_COLOR or TERM=dumb; a snapshot is never
# written to one; progress shows there only.
. "$(dirname "$0")/lib.sh"

python <<'END'
import fcntl, pty, re, select, signal, struct, subprocess, termios, time, unicodedata
from snapcli import *

snap = a_snap()
big = snap.block(400000)
snap.root(big, "Univ.table with a name that is much longer than any terminal is wide, " * 3)
path = snap.write()
ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def on_terminal(*arguments, columns=80, stderr_too=False, **env):
    """What heapsnap writes to a terminal of so many columns, and its exit code."""
    pid, fd = pty.fork()
    if pid == 0:
        if not stderr_too:
            os.dup2(os.open(os.path.join(WORK, "talk"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        os.environ.update({"TERM": "xterm", **env})
        time.sleep(0.05) # until the size is set
        os.execv(HEAPSNAP, [HEAPSNAP, *map(str, arguments)])
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    text = b""
    while True:
        if not select.select([fd], [], [], 60)[0]:
            raise Failure("nothing more from the terminal")
        try:
            more = os.read(fd, 65536)
        except OSError: # the other side is closed
            break
        if not more:
            break
        text += more
    return text.decode(errors="strict").replace("\r\n", "\n"), os.waitstatus_to_exitcode(
        os.waitpid(pid, 0)[1])


def plain_lines(*arguments, **more):
    text, code = on_terminal(*arguments, **more)
    equal(code, 0, f"exit code of {arguments}")
    return ESCAPE.sub("", text).splitlines()


def columns_of(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def human_and_wide():
    plain = run("roots", path).out
    check("400000" in plain, "plain integers when it is no terminal")
    check("\x1b" not in plain, "no escapes when it is no terminal")
    for command in ["roots", "types", "dominators", "samples", "info"]:
        for columns in [20, 80, 132]:
            text, code = on_terminal(command, path, columns=columns)
            equal(code, 0, "exit code")
            check(re.search(r"\d (B|KiB|MiB)\b", text), f"{command}: no human units")
            for line in ESCAPE.sub("", text).splitlines():
                check(columns_of(line) <= max(columns, 80), f"{command}: {columns_of(line)} "
                      f"columns on a terminal of {columns}: {line}")


def nothing_that_counts_is_cut():
    """Ids, addresses and closing rows whole, at 80 columns, with names as long as they get."""
    snap = a_snap()
    blocks = [snap.block(1000 + i) for i in range(3)]
    for i, block in enumerate(blocks):
        snap.root(block, f"A_rather_long_module_name.with_a_variable_{i}", "dynamic_global",
                  file="plugins/deep/down/in/a/tree.ml", line=1234)
        snap.sample(123456 + i, block, words=1000 + i)
    both = snap.block(5000)
    for block in blocks:
        snap.edge(block, both)
    here = snap.write("cut.snap")
    lines = plain_lines("roots", here)
    for label in ["[unreached]", "TOTAL"]:
        check(any(line.endswith(" " + label) for line in lines), f"{label} is cut: {lines}")
    check(any(" set:1 " in line and "  A_ra" in line and line.endswith("  3 roots")
              for line in lines), f"{lines}")
    names = [line for line in lines if "…" in line and " set:" not in line]
    check(all(re.search(r"A_rath\w+….*variable_\d  ….*tree.ml:1234$", line) for line in names),
          f"{names}")
    equal(len(names), 3, "rows that are cut")
    lines = plain_lines("samples", here)
    for i in range(3):
        check(any(line.split()[0] == str(123456 + i) for line in lines), f"{123456 + i}: {lines}")
    graph = run("object", here, f"sample:{123456}", "--json").json()["object"]
    lines = plain_lines("paths", here, "--to", graph["address"])
    check(graph["id"] in lines[0] and graph["address"] in lines[0], lines[0])
    for command in [["roots"], ["types"], ["samples"], ["dominators"], ["info"], ["leaks"],
                    ["object", graph["address"]], ["paths", "--to", graph["address"]],
                    ["samples", "--group-by", "site,root,type"], ["roots", "--sites"]]:
        for line in plain_lines(command[0], here, *command[1:]):
            check(columns_of(line) <= 80, f"{command}: {columns_of(line)} columns: {line}")


def forty_columns_hold_all_tables():
    """What is too wide even so is left out, not broken: ids, sizes and names stay."""
    snap = a_snap()
    record = snap.sampler("record", 64)
    site = snap.site(("malloc", "", 0), ("an::allocating_function", "server/of/it.c", 1234))
    blocks = [snap.block(1000000 + i, snap.type("struct with_a_long_name", 0, 12))
              for i in range(3)]
    both, lost = snap.block(50000, snap.type("struct shared_by_all", 0, 12)), snap.block(70000)
    for i, block in enumerate(blocks):
        snap.root(block, f"A_rather_long_module_name.variable_{i}", "dynamic_global",
                  file="plugins/deep/down/in/a/tree.ml", line=1234)
        snap.edge(block, both)
        snap.sample(123456 + i, block, sampler=record, site=site)
    here = snap.write("forty.snap")
    big = f"#{len(snap.tree()) + blocks[0]}"
    kept = f"#{len(snap.tree()) + both}"
    for command in [["roots"], ["roots", "--group-by", "module"], ["roots", "--sites"], ["types"],
                    ["leaks"], ["dominators"], ["object", big], ["object", "set:1"],
                    ["paths", "--to", kept], ["paths", "--to", "type:struct shared_by_all"],
                    ["paths", "--to", kept, "--cut"], ["samples"], ["info"], ["suspects"],
                    ["samples", "--group-by", "site,root"], ["roots", "--best", "2"],
                    ["paths", "--to", "site:allocating_function"]]:
        for line in plain_lines(command[0], here, *command[1:], columns=40):
            is_row = re.search(r"\S  +\S.*\S  +\S|\[\w+\]$|TOTAL$", line)
            check(columns_of(line) <= 40 or not is_row, # a terminal breaks sentences itself
                  f"{command}: {columns_of(line)} columns: {line}")
    lines = plain_lines("roots", here, columns=40)
    check(any(re.search(r"7.6 MiB +\S+% +#\d+ +A_.*e_2$", line) for line in lines), f"{lines}")
    check(any(re.search(r" set:1 +A_\S+, \.\.\.$", line) for line in lines), f"{lines}")


def names_of_a_set_are_whole():
    """As many as there is room for; none is cut through the middle of two."""
    snap = Snap()
    kind = snap.type("t", 0, 12)
    blocks = [snap.block(10, kind) for _ in range(4)]
    shared = snap.block(1000, kind)
    for name, block in zip(["server", "cache", "std::map<int, long>::nodes", "fourth"], blocks):
        snap.root(block, name, file="server.c", line=1)
        snap.edge(block, shared)
    here = snap.write("names.snap")
    for columns, expected in [(120, "server, cache, std::map<int, long>::nodes, fourth"),
                              (78, "server, cache, ..."), (62, "server, ...")]:
        row, = [line for line in plain_lines("roots", here, columns=columns) if " set:1 " in line]
        check(f"  {expected}  4 roots" in re.sub(" {2,}", "  ", row), f"{columns}: {row}")


def units_and_numbers():
    """On a terminal sizes have units and counts are whole; elsewhere both are numbers."""
    snap = a_snap()
    kind = snap.type("struct item", 0, 12)
    first = snap.block(100000, kind)
    for i in range(12345):
        snap.edge(first, snap.block(3, kind), i)
    snap.root(first, "items", file="a.c", line=1)
    for _ in range(3000):
        snap.block(4, kind)
    here = snap.write("units.snap")
    to = f"#{len(snap.tree()) + first}"
    for command in [["roots"], ["types"], ["leaks"], ["dominators", "--depth", "2", "-n", "3"],
                    ["suspects"], ["info"], ["object", to], ["paths", "--to", to],
                    ["paths", "--to", "type:struct item"], ["roots", "--without", "items"],
                    ["roots", "--best", "1"]]:
        text = "\n".join(plain_lines(command[0], here, *command[1:]))
        check(re.search(r"\d (B|KiB|MiB)\b", text), f"{command}: no units: {text}")
        check(not re.search(r"\d [kMG]\b", text), f"{command}: a rounded count: {text}")
        check(command == ["info"] or not re.search(r"\d words?\b|\bWORDS\b", text),
              f"{command}: words beside units: {text}")
        plain = run(command[0], here, *command[1:]).out
        check("\x1b" not in plain, f"{command}: escapes")
        if command[0] != "suspects" and command[0] != "info":
            check(not re.search(r"\d (KiB|MiB)\b", plain), f"{command}: units: {plain}")
    for command, count in [("types", "12346"), ("leaks", "3000")]:
        check(any(count in line.split() for line in plain_lines(command, here)), command)


def the_locale():
    """ASCII where the locale has nothing else; the same figures in all of them."""
    snap = a_snap()
    for i in range(3):
        snap.root(snap.block(1500 + i), f"A_very_long_name_of_a_module.with_a_variable_{i}",
                  file="a/deep/tree/of/files/and_a_long_name_of_one.ml", line=12)
    snap.root(snap.block(9000), "gr\u00f6\u00dfe_\u65e5\u672c", file="\u00e4.c", line=1)
    snap.facts["taken_ns"] = 10**18
    old = snap.write("old.snap")
    snap.root(snap.block(3000, snap.type("struct new", 0, 12)), "grown")
    snap.facts["taken_ns"] = 10**18 + 3600 * 10**9
    here = snap.write("locale.snap")

    def numbers(lines):
        return [re.findall(r"\d[\d.,]*", line) for line in lines]

    for command in [["roots", here], ["types", here], ["suspects", here], ["info", here],
                    ["dominators", here, "--depth", "2"], ["diff", old, here],
                    ["paths", here, "--to", "grown"]]:
        by = {}
        for locale in ["C", "POSIX", "C.UTF-8", "de_DE.UTF-8", "en_US.ISO-8859-1"]:
            by[locale] = plain_lines(*command, LC_ALL=locale)
        for locale in ["C", "POSIX", "en_US.ISO-8859-1"]:
            for line in by[locale]:
                check(line.isascii(), f"{command} in {locale}: {line}")
        equal(by["de_DE.UTF-8"], by["C.UTF-8"], f"{command} in German")
        equal(numbers(by["C"]), numbers(by["C.UTF-8"]), f"figures of {command} in C")
    check(any("gr\u00f6\u00dfe_\u65e5\u672c" in line for line in
              plain_lines("roots", here, LC_ALL="C.UTF-8", columns=120)), "a name in UTF-8")
    for form in ["json", "ndjson", "tsv"]:
        equal(run("roots", here, "--format", form, env={"LC_ALL": "C"}).raw,
              run("roots", here, "--format", form, env={"LC_ALL": "de_DE.UTF-8"}).raw, form)


def hints_of_roots():
    """Under the table, where most of the heap is lost, or is kept by what has no name."""
    def hint(snap):
        here = snap.write("hints.snap")
        text, _ = on_terminal("roots", here, columns=300, stderr_too=True)
        found = [line for line in ESCAPE.sub("", text).splitlines() if line.startswith("hint: ")]
        return " ".join(found)

    def heap(lost, **place):
        snap = Snap()
        kind = snap.type("t", 0, 12)
        snap.root(snap.block(100, kind), place.pop("name", "server"), **place)
        for _ in range(lost):
            snap.block(50, kind)
        return snap

    equal(hint(heap(0)), "", "nothing to say of a heap that is kept by names")
    said = hint(heap(30))
    check(re.fullmatch(r"hint: .*'heapsnap leaks \S+' .*", said), f"most is lost: {said}")
    said = hint(heap(0, name=".bss+0x40", module="app", symbol=".bss", offset=64))
    check(said.startswith("hint: most of the heap is kept by roots without a name"), said)
    check(re.search(r"'heapsnap info \S+'", said), said)
    snap = heap(30)
    snap.record("runtime", "ocaml", "4.14.1", 0)
    equal(hint(snap), "", "a collector's garbage is not lost")


def hint_of_leaks():
    """It names the block that the first row names, not the one on which that hangs."""
    lost = Snap()
    node = lost.type("node", 0, 12)
    first, head = lost.block(3, node), lost.block(3, node)
    lost.edge(head, first, 1, EXACT)
    shown, _ = on_terminal("leaks", lost.write("lost.snap"), columns=300, stderr_too=True)
    lines = ESCAPE.sub("", shown).splitlines()
    heading, = (i for i, line in enumerate(lines) if line.startswith("LEAK"))
    hint, = (line for line in lines if line.startswith("hint: "))
    address, *_ = re.findall("0x[0-9a-f]+", lines[heading + 1])
    check(f" {address}'" in hint, f"{address}: {hint}")


def long_help_is_paged():
    """Through PAGER, where it is longer than the terminal; else, and for no terminal, as it is."""
    pager = os.path.join(WORK, "pager")
    with open(pager, "w") as file:
        file.write("#!/bin/sh\necho PAGED $LESS\nexec cat\n")
    os.chmod(pager, 0o755)
    long = run("dump", "--help").out
    check(len(long.splitlines()) > 24, "a help that is long")
    equal(on_terminal("dump", "--help", PAGER=pager)[0], "PAGED FRX\n" + long, "dump --help")
    equal(on_terminal("help", "dump", PAGER=pager, LESS="S")[0], "PAGED S\n" + long, "help dump")
    text, code = on_terminal("dump", "--help", PAGER=os.path.join(WORK, "no such pager"),
                             stderr_too=False)
    equal((text, code), (long, 0), "a pager that is not there")
    for empty in ["", "cat"]:
        equal(on_terminal("dump", "--help", PAGER=empty)[0], long, f"PAGER={empty}")
    for arguments in [["roots", "-h"], ["version", "--help"]]:
        equal(on_terminal(*arguments, PAGER=pager)[0], run(*arguments).out, "what fits")
    equal(run("dump", "--help", env={"PAGER": pager}).out, long, "no terminal, no pager")


def interrupted():
    """Ctrl-C ends with 130, SIGTERM with 143, and a word."""
    slow = os.path.join(WORK, "slow.snap")
    for number in [signal.SIGINT, signal.SIGTERM]:
        fifo = os.path.join(WORK, f"core.{number}")
        os.mkfifo(fifo)
        process = subprocess.Popen([HEAPSNAP, "dump", "--core", fifo, "-o", slow],
                                   stderr=subprocess.PIPE, text=True)
        with open(fifo, "wb") as core:
            core.write(b"\x7fELF")
            core.flush()
            time.sleep(0.3)
            process.send_signal(number)
            time.sleep(0.1)
        equal(process.wait(timeout=60), 128 + number, process.stderr.read())


def colour():
    check("\x1b[" in on_terminal("roots", path)[0], "a heading stands out")
    for env in [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}]:
        text, _ = on_terminal("roots", path, stderr_too=True, **env)
        check("\x1b" not in text, f"escapes with {env}")
        check("MiB" in text, f"human units with {env}")
    check("\x1b[" in on_terminal("roots", path, NO_COLOR="")[0], "an empty NO_COLOR is none")
    for command in ["info", "types", "dominators", "samples"]:
        check("\x1b" not in on_terminal(command, path, NO_COLOR="1")[0], f"{command}: escapes")
    for format in ["json", "ndjson", "tsv"]:
        text, _ = on_terminal("roots", path, "--format", format)
        equal(text, run("roots", path, "--format", format).out, f"--format {format} anywhere")


def no_snapshot_to_a_terminal():
    text, code = on_terminal("dump", os.getpid(), stderr_too=True)
    equal(code, 2, "exit code")
    check("cannot write a snapshot to a terminal" in text, text)
    check("hint: heapsnap dump" in text, text)


def progress():
    env = {"TERM": "xterm"}
    # Short work shows nothing even on a terminal.
    text, _ = on_terminal("index", path, "--rebuild", stderr_too=True, **env)
    check("%" not in text, f"progress of short work: {text!r}")
    found = run("index", path, "--rebuild", env=env)
    equal(found.err, "", "talk when it is no terminal")
    found = run("index", path, "--rebuild", "--progress", "always")
    for line in found.err.splitlines():
        check(line.startswith("heapsnap: "), line)
    check("\x1b" not in found.err and "\r" not in found.err, "plain lines")
    text, _ = on_terminal("index", path, "--rebuild", "--progress", "never", stderr_too=True)
    check("\x1b" not in text and "%" not in text, "--progress never")


def hints_come_last():
    text, _ = on_terminal("leaks", path, stderr_too=True)
    lines = [ESCAPE.sub("", line) for line in text.splitlines()]
    first = next(i for i, line in enumerate(lines) if line.startswith("hint:"))
    said = " ".join(line.strip() for line in lines[first:]) # a long path has a line of its own
    check(any("TOTAL" in line for line in lines[:first]), text)
    check(said.startswith(f"hint: 'heapsnap object {path} 0x"), text)
    check(all(line.startswith("  ") for line in lines[first + 1:]), f"nothing behind it: {text}")
    words = said.split("'")[1].split()[1:]
    equal(run(*words, "--json").json()["object"]["reached"], False, "the block of the hint")
    text, code = on_terminal("leaks", path, "-o", "/dev/full", stderr_too=True)
    check(code != 0 and "hint: 'heapsnap object" not in text, "no hint after a failure")


main(human_and_wide, nothing_that_counts_is_cut, forty_columns_hold_all_tables,
     names_of_a_set_are_whole, units_and_numbers, the_locale, hints_of_roots, hint_of_leaks,
     long_help_is_paged, interrupted, colour, no_snapshot_to_a_terminal, hints_come_last, progress)
END
