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


def long_help_is_paged():
    """Through PAGER, where it is longer than the terminal; else, and for no terminal, as it is."""
    pager = os.path.join(WORK, "pager")
    with open(pager, "w") as file:
        file.write("#!/bin/sh\necho PAGED $LESS\nexec cat\n")
    os.chmod(pager, 0o755)
    long = run("trace", "--help").out
    check(len(long.splitlines()) > 24, "a help that is long")
    equal(on_terminal("trace", "--help", PAGER=pager)[0], "PAGED FRX\n" + long, "trace --help")
    equal(on_terminal("help", "trace", PAGER=pager, LESS="S")[0], "PAGED S\n" + long, "help trace")
    text, code = on_terminal("trace", "--help", PAGER=os.path.join(WORK, "no such pager"),
                             stderr_too=False)
    equal((text, code), (long, 0), "a pager that is not there")
    for empty in ["", "cat"]:
        equal(on_terminal("trace", "--help", PAGER=empty)[0], long, f"PAGER={empty}")
    for arguments in [["roots", "-h"], ["version", "--help"]]:
        equal(on_terminal(*arguments, PAGER=pager)[0], run(*arguments).out, "what fits")
    equal(run("trace", "--help", env={"PAGER": pager}).out, long, "no terminal, no pager")


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


main(human_and_wide, nothing_that_counts_is_cut, long_help_is_paged, interrupted, colour,
     no_snapshot_to_a_terminal, hints_come_last, progress)
END
