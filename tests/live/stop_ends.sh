# What else can happen while a process is stopped, copied and read: it ends, becomes another
# program, forks, crashes, gets a signal, is traced by somebody else; or limits are reached. Each
# has its answer, and nothing is left behind. HS_STORM=10 to do all at every step.
. "$(dirname "$0")/_stop.sh"

python "$@" <<'END_OF_TEST'
from stop_lib import *

program = compile_busy()
LONG_ALARM = "alarm_ms=60000"
TARGET_ENDED, OVER_LIMIT = 3, 6
# What is said of a target that has become none: a call that failed, or what it did.
REASONS = tuple(
    "stop_driver: " + reason
    for reason in ("cannot ", "it ended during the dump", "it executed another program",
                   "its main thread ended or hangs"))


def some(points, n):
    return points if STORM >= 10 else sorted(random.sample(points, min(n, len(points))))


def at_points(mode, n_points, act, after, codes=(0, TARGET_ENDED)):
    """act(target) while the driver waits at a point; after(target, what, code) when it is done."""
    target = Busy(program, mib=8)
    points = points_of(target, mode)
    target.end()
    seen = {}
    for point in some(points, n_points):
        target = Busy(program, mib=8)
        what = f"{mode}, {act.__name__} at point {point}"
        one = Run(target.pid, f"mode={mode}", f"at={point}", "act=ask", LONG_ALARM)
        one.wait_point(what)
        act(target)
        one.go_on()
        one.finish(what, codes)
        check(one.code == 0 or one.said.startswith(REASONS), f"{what}: {one.said}")
        after(target, what)
        seen[one.code] = seen.get(one.code, 0) + 1
    return seen


def both(n_points, act, after, codes=(0, TARGET_ENDED)):
    return (f"copy {at_points('copy', n_points, act, after, codes)}, "
            f"read {at_points('read', 2, act, after, codes)}")


def lives(target, what):
    target.check_unharmed(what)
    target.end()


def killed():
    def kill(target):
        target.process.kill()
    return both(6, kill, lambda target, what: target.check_ended(what, -signal.SIGKILL))


def terminated():
    """A signal that comes meanwhile takes effect."""
    def terminate(target):
        target.process.terminate()
    return both(5, terminate, lambda target, what: target.check_ended(what, -signal.SIGTERM))


def exits():
    def leave(target):
        target.tell("exit")
    return both(5, leave, lambda target, what: target.check_ended(what, 7))


def crashes():
    def crash(target):
        target.tell("crash")
    return both(4, crash, lambda target, what: target.check_ended(what, -signal.SIGILL))


def executes():
    def execute(target):
        target.tell("exec")

    def after(target, what):
        check(target.process.stdout.readline().startswith("ARRAYS"), f"{what}: it did not execute")
        check(target.process.stdout.readline().startswith("READY"), f"{what}: it did not execute")
        clean(target, f"{what}, the next one", "copy")
        target.masks = target.blocked()
        lives(target, what)
    return both(4, execute, after)


def forks():
    def fork(target):
        target.tell("fork")

    def after(target, what):
        target.wait_word("obeyed", 1)
        target.check_unharmed(what, own_children=1)
        target.end()
    return both(4, fork, after, (0,))


def handled():
    """A signal with a handler is neither lost nor handled twice."""
    def signal_it(target):
        target.process.send_signal(signal.SIGCHLD)

    def after(target, what):
        target.check_unharmed(what, sigchlds=1)
        target.end()
    return both(6, signal_it, after, (0,))


def wait_suspended(target, what):
    until = time.monotonic() + PATIENCE_SECONDS
    while any(state != "T" or tracer != 0 for _, state, tracer in states(target.pid)):
        check(time.monotonic() < until, f"{what}: threads are {states(target.pid)}")
        time.sleep(0.001)


def suspended():
    """SIGSTOP comes meanwhile: it is stopped afterwards, and goes on when its user says so."""
    def suspend(target):
        target.process.send_signal(signal.SIGSTOP)

    def after(target, what):
        wait_suspended(target, what)
        target.process.send_signal(signal.SIGCONT)
        lives(target, what)
    return both(6, suspend, after)


def suspended_before():
    target = Busy(program)
    target.process.send_signal(signal.SIGSTOP)
    wait_suspended(target, "at first")
    ways = set()
    for mode in ("auto", "copy", "read"):
        one = run(target, mode, f"mode={mode}")
        check(one.figures["pause_ns"] == 0, f"{mode}: {one.figures}")
        ways.add(one.figures["way"])
        wait_suspended(target, mode)
    target.process.send_signal(signal.SIGCONT)
    lives(target, "suspended")
    return f"by {sorted(ways)}"


def two_of_us():
    """While it is stopped the second is refused by name; while a copy is read it has its own."""
    target = Busy(program)
    first = Run(target.pid, "mode=read", "at=101", "act=ask", LONG_ALARM)
    first.wait_point("two of us")
    for command in ([DRIVER, str(target.pid)], [HEAPSNAP, "dump", str(target.pid), "-o", SNAP]):
        second = subprocess.run(command, capture_output=True, text=True, check=False)
        check(second.returncode == TARGET_ENDED and "stop_driver" in second.stderr.splitlines()[0],
              f"the second: exit {second.returncode}: {second.stderr}")
    first.go_on()
    first.finish("the first")
    first = Run(target.pid, "mode=copy", "at=102", "act=ask")
    first.wait_point("two of us")
    figures = clean(target, "a second copy", "copy")
    first.go_on()
    first.finish("the first copy")
    target.check_unharmed("two of us")
    target.end()
    return f"refused, and a copy beside a copy in {figures['pause_ns'] / 1e6:.1f} ms"


def crowd():
    """Four of us again and again: done or refused."""
    target = Busy(program)
    seen = {}
    for turn in range(storms(4)):
        runs = [Run(target.pid, f"mode={random.choice(['copy', 'copy', 'read'])}", "cycles=3")
                for _ in range(4)]
        for one in runs:
            one.finish(f"crowd {turn}", (0, TARGET_ENDED))
            check(one.code == 0 or "stop_driver" in one.said.splitlines()[0], one.said)
            seen[one.code] = seen.get(one.code, 0) + 1
    target.check_unharmed("crowd")
    target.end()
    return f"exits {seen}"


def refused_for(tracer, command, farewell):
    if not shutil.which(command[0]):
        return f"no {command[0]}"
    target = Busy(program)
    process = subprocess.Popen([word.replace("PID", str(target.pid)) for word in command],
                               stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, text=True)
    try:
        until = time.monotonic() + PATIENCE_SECONDS
        while tracer_of(target.pid) == 0:
            check(time.monotonic() < until and process.poll() is None, f"{tracer} does not attach")
            time.sleep(0.01)
        for words in ([DRIVER, str(target.pid)], [HEAPSNAP, "dump", str(target.pid), "-o", SNAP]):
            one = subprocess.run(words, capture_output=True, text=True, check=False)
            check(one.returncode == TARGET_ENDED and tracer in one.stderr.splitlines()[0],
                  f"under {tracer}: exit {one.returncode}: {one.stderr}")
    finally:
        if farewell is None:
            process.terminate()
        process.communicate(farewell, timeout=PATIENCE_SECONDS)
    target.end()
    return f"refused for {tracer}"


def traced():
    return "; ".join([refused_for("strace", ["strace", "-f", "-o", "/dev/null", "-p", "PID"], None),
                      refused_for("gdb", ["gdb", "-nx", "-q", "-p", "PID"],
                                  "detach\nquit\n")])


def closes():
    """A copy keeps no file open: the other end of a pipe sees its end at once."""
    read_end, write_end = os.pipe()
    target = Busy(program, f"fd={write_end}", pass_fds=[write_end])
    os.close(write_end)
    del target.files[write_end]
    one = Run(target.pid, "mode=copy", "at=102", "act=ask")
    one.wait_point("closes")
    target.tell("close")
    target.wait_word("obeyed", 1)
    readable, _, _ = select.select([read_end], [], [], PATIENCE_SECONDS)
    check(readable and os.read(read_end, 1) == b"", "the copy keeps a closed file open")
    one.go_on()
    one.finish("closes")
    os.close(read_end)
    lives(target, "closes")
    return "end of file while the copy lives"


def gone_while_read():
    """A target that ends is not kept by its copy: that ends, too, and the files are closed."""
    read_end, write_end = os.pipe()
    target = Busy(program, f"fd={write_end}", pass_fds=[write_end])
    os.close(write_end)
    one = Run(target.pid, "mode=copy", "at=102", "act=ask", "nap_us=50000")
    one.wait_point("gone")
    target.process.kill()
    target.process.wait()
    one.go_on()
    readable, _, _ = select.select([read_end], [], [], PATIENCE_SECONDS)
    alone = one.process.poll() is not None
    check(readable and os.read(read_end, 1) == b"", "the copy keeps files of a dead process open")
    one.finish("gone", (TARGET_ENDED,))
    check("ended" in one.said, f"said {one.said!r}")
    os.close(read_end)
    target.check_ended("gone", -signal.SIGKILL)
    when = "when" if alone else "before"
    return f"its files are closed {when} we end: {one.said.splitlines()[0]}"


def growth():
    """The target writes to all its pages while they are read slowly."""
    said = []
    for max_growth, code in ((8 << 20, OVER_LIMIT), (1 << 30, 0)):
        target = Busy(program, mib=64)
        one = Run(target.pid, "mode=copy", "at=102", "act=ask", "nap_us=20000",
                  f"max_growth={max_growth}")
        one.wait_point("growth")
        target.tell("dirty")
        target.wait_word("obeyed", 1)
        one.go_on()
        one.finish(f"growth of at most {max_growth}", (code,))
        target.check_unharmed("growth")
        target.end()
        said.append(f"{one.figures['growth_bytes'] >> 20} MiB seen of at most {max_growth >> 20}")
        check(code != 0 or one.figures["growth_bytes"] >= 32 << 20, said[-1])
        check(code == 0 or "gave up the copy" in one.said, f"said {one.said!r}")
    return "; ".join(said)


def pauses():
    """Over the longest pause that is allowed: given up, and the target runs."""
    target = Busy(program, mib=256)
    for options in (("--stop", "read"), ()):
        _, said = dump(target, f"{options}", *options, "--max-pause", "10us", codes=(OVER_LIMIT,))
        target.check_unharmed(f"{options}")
    one = run(target, "pauses", "mode=read", "max_pause_ns=1000000", codes=(OVER_LIMIT,))
    target.check_unharmed("pauses")
    run(target, "pauses", "mode=read", f"max_pause_ns={60 * 10**9}")
    target.end()
    return f"{said.splitlines()[0]}; {one.said.splitlines()[0]}"


if len(sys.argv) > 1:
    main(*[globals()[name] for name in sys.argv[1:]])
else:
    main(killed, terminated, exits, crashes, executes, forks, handled, suspended, suspended_before,
         two_of_us, crowd, traced, closes, gone_while_read, growth, pauses)
END_OF_TEST
