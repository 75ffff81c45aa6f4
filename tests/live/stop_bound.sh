# A bound that binds: however hard a process is to stop or to read, and whatever becomes of heapsnap
# meanwhile, it stands still no longer than --max-pause allows, by its own clock. HS_STORM=5 for
# more points. Limits are coarse: what they keep out are seconds, and for ever. How long the machine
# itself lets nobody run is seen by a clock beside it, in a process that nobody dumps, and added.
. "$(dirname "$0")/_stop.sh"

python "$@" <<'END_OF_TEST'
import ctypes

from stop_lib import *

libc = ctypes.CDLL(None)
SYS_TGKILL = 234
program = compile_busy()
bound = compile_c("stop_bound.c", "stop_bound", "-g", "-O1", "-pthread")
GUARD = "heapsnap-guard"
TARGET_REFUSED, OVER_LIMIT = 3, 6
PAUSE_SECONDS = 0.3
PAUSE_NS = f"max_pause_ns={int(PAUSE_SECONDS * 1e9)}"
NOISE_SECONDS = 0.8 # of a busy machine
NEAR_SECONDS = 0.004 # of a clock, in the best of some rounds
READ_HELD, READ_ALL = 101, 104
SEIZED = 22 # of the copy's points


beside = Beside()


def noise_seconds():
    """What a busy machine may add, since the last reset."""
    return NOISE_SECONDS + beside.gap_seconds


class Bound(Target):
    count = 0

    def __init__(self, *words, **more):
        Bound.count += 1
        path = os.path.join(WORK, f"gap{Bound.count}")
        super().__init__(bound, path, *words, **more)
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 8)
        time.sleep(0.1)
        self.reset()

    def reset(self):
        self.map[:] = bytes(8)
        beside.gap_seconds = 0.0

    def gap_seconds(self):
        return struct.unpack("q", self.map)[0] / 1e9

    def check_gap(self, what, limit=2 * PAUSE_SECONDS):
        """It runs, and has not stood still for longer since the last reset."""
        until = time.monotonic() + PATIENCE_SECONDS
        time.sleep(0.05) # to come to its clock
        self.check_lives(what)
        gap = self.gap_seconds()
        check(gap < limit + noise_seconds(), f"{what}: it stood still for {gap:.2f} s")
        self.reset()
        while struct.unpack("q", self.map)[0] == 0: # it counts on
            check(time.monotonic() < until, f"{what}: its clock stands still")
            time.sleep(0.01)
        return gap

    def stop(self):
        self.kill()
        self.map.close()


def guard_of(pid):
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        for name in os.listdir("/proc"):
            status = status_of(name) if name.isdigit() else {}
            if status and status["PPid"] == str(pid) and status["Name"] == GUARD:
                return int(name)
        check(time.monotonic() < until, "no guard begins")


def told(said):
    return said.splitlines()[0] if said else ""


# ---- targets that are hard to read, or to stop


def sparse():
    """Reserved memory: most of the address space, hardly a page in it."""
    target = Bound("sparse=24")
    one = run(target, "sparse", "mode=read", PAUSE_NS, codes=(0, OVER_LIMIT))
    gap = target.check_gap("sparse", PAUSE_SECONDS)
    target.stop()
    return f"exit {one.code}, gap {gap:.2f} s: {told(one.said)}"


def children(pid):
    return [other for other, _ in relatives(bound, pid)
            if status_of(other).get("PPid") == str(pid)]


def vfork():
    """A thread that waits for a child made by vfork cannot stop; all others run on."""
    said = []
    for options, limit in ((("--max-pause", "200ms"), 0.2), ((), 0.5)):
        target = Bound("vfork=6")
        target.process.stdin.write("\n")
        target.process.stdin.flush()
        until = time.monotonic() + PATIENCE_SECONDS
        while not children(target.pid):
            check(time.monotonic() < until, "no child by vfork")
            time.sleep(0.01)
        time.sleep(0.1) # it waits for it
        target.reset()
        _, why = dump(target, "vfork", *options, codes=(TARGET_REFUSED,))
        child, = children(target.pid)
        check(f"waits for its child {child}, made by vfork" in " ".join(why.split()), why)
        said.append(f"gap {target.check_gap('vfork', limit):.2f} s")
        target.stop()
    return f"{' and '.join(said)}: {told(why)}"


class Frozen:
    """A control group to freeze. None when no such hierarchy can be written here."""

    def __init__(self, is_v1):
        self.is_v1 = is_v1
        self.path = None
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            for line in file:
                point, (kind, _, options) = line.split()[4], line.split(" - ")[1].split()[:3]
                fits = kind == "cgroup" and "freezer" in options if is_v1 else kind == "cgroup2"
                if fits and os.access(point, os.W_OK):
                    self.path = os.path.join(point, f"heapsnap-test-{os.getpid()}")
        try:
            os.mkdir(self.path)
        except (OSError, TypeError):
            self.path = None

    def write(self, name, text):
        with open(os.path.join(self.path, name), "w", encoding="ascii") as file:
            file.write(text)

    def take(self, pid):
        self.write("cgroup.procs", str(pid))

    def freeze(self):
        self.write(*(("freezer.state", "FROZEN") if self.is_v1 else ("cgroup.freeze", "1")))
        time.sleep(0.2)

    def thaw(self):
        self.write(*(("freezer.state", "THAWED") if self.is_v1 else ("cgroup.freeze", "0")))

    def end(self):
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                os.rmdir(self.path)
                return
            except OSError:
                check(time.monotonic() < until, f"cannot remove {self.path}")
                time.sleep(0.05)


def frozen():
    """A frozen control group is named; nobody waits for it. One of v2 can be read."""
    said = []
    for is_v1 in (True, False):
        group = Frozen(is_v1)
        if group.path is None:
            said.append(f"no v{2 - is_v1}")
            continue
        target = Bound()
        group.take(target.pid)
        group.freeze()
        beside.gap_seconds = 0.0
        began = time.monotonic()
        code, why = dump(target, "frozen", codes=(TARGET_REFUSED,) if is_v1 else (0,))
        took = time.monotonic() - began
        group.thaw()
        name = os.path.basename(group.path)
        check(f"control group '/{name}' is frozen" in " ".join(why.split()), why)
        check(took < 1.7 + noise_seconds(), f"it took {took:.2f} s")
        time.sleep(0.2)
        target.reset()
        target.check_gap("thawed")
        target.stop()
        group.end()
        said.append(f"v{2 - is_v1}: exit {code} after {took:.2f} s")
    return ", ".join(said)


def continued():
    """From SIGCONT on it is we who hold one that its user had stopped."""
    said = []
    for nap_us, seconds, allowed, codes in ((20000, 0.0, PAUSE_SECONDS, (OVER_LIMIT,)),
                                            (0, 0.1, 20.0, (0,))):
        target = Bound("blocks=48")
        target.process.send_signal(signal.SIGSTOP)
        while any(state != "T" for _, state, _ in states(target.pid)):
            time.sleep(0.001)
        one = Run(target.pid, "mode=auto", f"at={READ_HELD}", "act=ask", f"nap_us={nap_us}",
                  f"max_pause_ns={int(allowed * 1e9)}")
        one.wait_point("continued")
        time.sleep(1.0 if seconds else 0.1) # its user's own time does not count
        target.reset()
        target.process.send_signal(signal.SIGCONT)
        time.sleep(seconds)
        one.go_on()
        one.finish("continued", codes)
        pause = one.figures["pause_ns"] / 1e9
        check(one.figures["way"] == "stopped" and seconds <= pause < allowed + noise_seconds(),
              f"{one.figures}")
        time.sleep(0.1)
        target.check_lives("continued")
        target.stop()
        said.append(f"exit {one.code}, pause {pause:.2f} s")
    return f"{'; '.join(said)}: {told(one.said)}"


# ---- heapsnap is stopped, frozen, or hangs


def held_by_stopped(target, *options, act="stop", codes=(-signal.SIGKILL,), more=PAUSE_NS):
    """Runs a driver that stops itself in the pause; the target must be let go."""
    what = f"{options} {act}"
    one = Run(target.pid, *options, f"act={act}", more)
    one.finish(what, codes)
    check(f"process '{target.pid}'" in one.said and "stood still" in one.said,
          f"{what}: it said {one.said!r}")
    return one


def seized():
    """SIGSTOP of heapsnap when it has seized those threads, which wait, that it seizes first: a
    signal makes them stand, also one that is ignored, and nobody would let them go on. It does
    nothing where a busy machine lets it come too late."""
    for _ in range(20):
        gap, said = seized_once()
        if gap > PAUSE_SECONDS / 2:
            break
    check(gap > PAUSE_SECONDS / 2, f"the signals did not hold it: {gap:.2f} s")
    return f"gap {gap:.2f} s: {told(said)}"


def seized_once():
    target = Bound("epoll=20")
    one = Run(target.pid, "mode=read", f"at={SEIZED}", "act=stop", PAUSE_NS)
    until = time.monotonic() + PATIENCE_SECONDS
    while status_of(one.process.pid).get("State", "T")[0] not in "TZ":
        check(time.monotonic() < until, "it does not come to be stopped")
        time.sleep(0.001)
    for tid in threads_of(target.pid):
        check(libc.syscall(SYS_TGKILL, target.pid, tid, int(signal.SIGWINCH)) == 0, "no signal")
    one.finish("seized", (-signal.SIGKILL,))
    check(f"process '{target.pid}'" in one.said and "was about to stop it" in one.said, one.said)
    gap = target.check_gap("seized")
    target.stop()
    return gap, one.said


def stop_once(target, point, seconds):
    """How long the target stood still when its holder was stopped; None: it never came to that."""
    target.reset()
    one = Run(target.pid, "mode=read", f"at={point}", "act=stop",
              f"max_pause_ns={int(seconds * 1e9)}")
    until = time.monotonic() + PATIENCE_SECONDS
    while one.process.poll() is None and point == SEIZED and \
            status_of(one.process.pid).get("State", "T")[0] != "T":
        check(time.monotonic() < until, "it does not come to be stopped")
    for tid in threads_of(target.pid) if point == SEIZED else ():
        libc.syscall(SYS_TGKILL, target.pid, tid, int(signal.SIGWINCH))
    one.finish("a short limit", (-signal.SIGKILL, TARGET_REFUSED, OVER_LIMIT))
    if one.code != -signal.SIGKILL:
        return None
    check("stood still" in one.said or "was about to stop it" in one.said, one.said)
    time.sleep(0.02)
    return target.gap_seconds()


def short():
    """Twice the limit holds for short ones, too. The least of some rounds is told by the clocks,
    not by the machine."""
    target = Bound()
    said = []
    for point in (READ_HELD, SEIZED):
        for seconds in (0.02, 0.05, 0.1):
            gaps = []
            for _ in range(60): # on a busy machine it may be over before, or not begun
                gap = stop_once(target, point, seconds)
                if gap is not None and (point == SEIZED or gap > seconds):
                    gaps.append(gap)
                if len(gaps) >= 7 and min(gaps) < 2 * seconds + NEAR_SECONDS:
                    break
            check(gaps, f"{seconds} s: it never stopped while it held the target")
            check(min(gaps) < 2 * seconds + NEAR_SECONDS,
                  f"{seconds} s at {point}: it stood still for {min(gaps):.3f} s")
            said.append(f"{seconds * 1000:.0f} ms: {min(gaps) * 1000:.0f} to "
                        f"{max(gaps) * 1000:.0f}")
    target.check_lives("short")
    target.stop()
    return "; ".join(said)


def stopped():
    """SIGSTOP of heapsnap at every point where it holds the target."""
    n, gaps = 0, []
    for mode, words in (("copy", ()), ("copy", ("subreaper",)), ("read", ())):
        busy = Busy(program, *words, "gaps", mib=8)
        points = [point for point in points_of(busy, mode)
                  if point <= 15 or 18 < point <= 101 and point != SEIZED]
        for point in points if STORM >= 5 else random.sample(points, min(3, len(points))):
            time.sleep(0.05)
            busy.set_word("gap_ns", 0)
            beside.gap_seconds = 0.0
            held_by_stopped(busy, f"mode={mode}", f"at={point}")
            busy.check_unharmed(f"{mode} stopped at {point}")
            time.sleep(0.05)
            gaps.append(busy.word("gap_ns") / 1e9)
            check(gaps[-1] < 2 * PAUSE_SECONDS + noise_seconds(),
                  f"{mode} stopped at {point}: it stood still for {gaps[-1]:.2f} s")
            n += 1
        clean(busy, "the next one", mode)
        busy.end()
    return f"{n} of {n}, longest gap {max(gaps):.2f} s at {PAUSE_SECONDS} s allowed"


def dump_stopped():
    """The same of heapsnap itself: it says why it was ended."""
    target = Bound("blocks=150") # few, as a slow machine would refuse more of them in a second
    command = [HEAPSNAP, "dump", str(target.pid), "-o", SNAP, "--stop", "read", "--max-pause",
               "1s"]
    for _ in range(20): # as it lets go, or is about to stop, is another matter
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        until = time.monotonic() + PATIENCE_SECONDS
        while tracer_of(target.pid) != process.pid and process.poll() is None:
            check(time.monotonic() < until, "it never stops the target")
        process.send_signal(signal.SIGSTOP)
        said = process.communicate(timeout=PATIENCE_SECONDS)[1] if process.poll() is not None or \
            tracer_of(target.pid) == process.pid else None
        if said is not None and process.returncode == -signal.SIGKILL and "stood still" in said:
            break
        process.send_signal(signal.SIGCONT) # too late
        process.communicate()
    check(said is not None and process.returncode == -signal.SIGKILL and
          f"cannot dump process '{target.pid}': it stood still" in said and "hint: " in said,
          f"exit {process.returncode}: {said}")
    gap = target.check_gap("dump stopped", 2.0)
    target.stop()
    return f"gap {gap:.2f} s: {told(said)}"


def tracer_frozen():
    """The control group of heapsnap is frozen, its guard with it."""
    group = Frozen(False)
    if group.path is None:
        return "no cgroup v2"
    target = Bound()
    one = Run(target.pid, "mode=read", f"at={READ_HELD}", "act=ask", PAUSE_NS)
    one.wait_point("frozen")
    for pid in (one.process.pid, guard_of(one.process.pid)):
        group.take(pid)
    group.freeze()
    time.sleep(2 * PAUSE_SECONDS)
    gap = target.check_gap("frozen")
    group.thaw()
    one.finish("frozen", (-signal.SIGKILL,))
    group.end()
    target.stop()
    return f"gap {gap:.2f} s: {told(one.said)}"


def hangs():
    """One that runs, and comes to no end: it says so itself. That is a quarter after the limit, and
    the kernel's timer, which says nothing, another quarter later: time enough to come to speak."""
    allowed = 3.0
    target = Bound()
    for _ in range(3): # a busy machine may let it come too late to speak
        one = held_by_stopped(target, "mode=read", f"at={READ_HELD}", act="hang",
                              codes=(OVER_LIMIT, -signal.SIGKILL),
                              more=f"max_pause_ns={int(allowed * 1e9)}")
        gap = target.check_gap("hangs", 1.5 * allowed)
        if one.code == OVER_LIMIT:
            break
    check(one.code == OVER_LIMIT, f"ended by the kernel each time: {one.said}")
    target.stop()
    return f"gap {gap:.2f} s: {told(one.said)}"


def continued_while_stopped():
    """The user lets the target go on, and heapsnap, which was stopped, does not see it."""
    target = Bound()
    target.process.send_signal(signal.SIGSTOP)
    while any(state != "T" for _, state, _ in states(target.pid)):
        time.sleep(0.001)
    one = Run(target.pid, "mode=read", f"at={READ_HELD}", "act=ask", PAUSE_NS)
    one.wait_point("continued")
    one.process.send_signal(signal.SIGSTOP)
    time.sleep(3 * PAUSE_SECONDS) # harmless until here
    check(one.process.poll() is None, "a harmless dump was ended")
    target.reset()
    target.process.send_signal(signal.SIGCONT)
    one.finish("continued", (-signal.SIGKILL,))
    check("stood still" in one.said, one.said)
    time.sleep(0.05)
    target.check_lives("continued")
    target.stop()
    return told(one.said)


# ---- the guard


def without_signals():
    """Where no signal may wait the kernel gives no timer."""
    resource.setrlimit(resource.RLIMIT_SIGPENDING,
                       (0, resource.getrlimit(resource.RLIMIT_SIGPENDING)[1]))


def guard_killed():
    """Each of the two guards does alone, and the target lives without both, too."""
    said = []
    for kills, has_timer, act in ((True, True, "stop"), (False, False, "stop"),
                                  (True, False, "kill")):
        target = Bound()
        limit = resource.getrlimit(resource.RLIMIT_SIGPENDING)
        if not has_timer:
            without_signals()
        one = Run(target.pid, "mode=read", f"at={READ_HELD}", "act=ask", PAUSE_NS)
        resource.setrlimit(resource.RLIMIT_SIGPENDING, limit)
        one.wait_point("guard")
        guard = guard_of(one.process.pid)
        if kills:
            os.kill(guard, signal.SIGKILL)
        one.process.send_signal(signal.SIGSTOP if act == "stop" else signal.SIGKILL)
        one.finish("guard", (-signal.SIGKILL,))
        time.sleep(0.05)
        target.check_gap(f"guard {kills} {has_timer} {act}")
        check(kills or "stood still" in one.said, one.said)
        target.stop()
        said.append(f"{'no guard' if kills else 'guard'}, {'timer' if has_timer else 'no timer'}")
    return "; ".join(said)


def guard_leaves():
    """It ends with the dump, and with heapsnap; it is no child that anybody sees afterwards."""
    target = Bound()
    for act in ("ask", "kill"):
        one = Run(target.pid, "mode=auto", "at=102", "act=ask", PAUSE_NS)
        one.wait_point("guard")
        pid = guard_of(one.process.pid)
        check(os.getsid(pid) == pid, "it has no session of its own")
        check([file for file in open_files(pid).values() if "pipe" in file] ==
              [open_files(one.process.pid)[2]], f"it holds {open_files(pid)}")
        one.go_on() if act == "ask" else one.process.kill()
        one.finish("guard", (0, -signal.SIGKILL))
        until = time.monotonic() + PATIENCE_SECONDS
        while status_of(pid).get("State", "Z")[0] != "Z":
            check(time.monotonic() < until, "the guard lives on")
            time.sleep(0.01)
    target.stop()


def harmless():
    """Nothing ends a dump while its target runs, however long that takes."""
    target = Bound()
    one = Run(target.pid, "mode=copy", "at=103", "act=ask", "max_pause_ns=300000000",
              "alarm_ms=200")
    one.wait_point("harmless")
    one.process.send_signal(signal.SIGSTOP)
    time.sleep(1.0)
    target.check_gap("harmless")
    one.process.send_signal(signal.SIGCONT)
    time.sleep(0.3)
    one.go_on()
    one.finish("harmless")
    target.stop()
    return f"stopped for 1 s, {one.figures['pause_ns'] / 1e6:.1f} ms of pause"


if len(sys.argv) > 1:
    main(*[globals()[name] for name in sys.argv[1:]])
else:
    main(sparse, vfork, frozen, continued, seized, short, stopped, dump_stopped, tracer_frozen,
         hangs, continued_while_stopped, guard_killed, guard_leaves, harmless)
END_OF_TEST
