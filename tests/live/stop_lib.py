"""What the stop_*.sh tests share, on top of native_faults: a target that notices harm, the driver
that stops it, and the list of what must be as before.

HS_STORM multiplies the number of turns; HS_FAULTS_SEED repeats a run."""
import resource
import select
import statistics
import threading

from native_faults import *

DRIVER = os.environ["STOP_DRIVER"]
STORM = float(os.environ.get("HS_STORM", "1"))
PATIENCE_SECONDS = 60
SIGTERM_BIT = 1 << (signal.SIGTERM - 1)
WORDS = {"broken": 0, "children": 1, "sigchlds": 2, "sleeper_calls": 3, "main_calls": 4,
         "main_turns": 5, "gap_ns": 6, "obeyed": 7, "waits_cut": 8, "wait_early_ns": 9,
         "wait_late_ns": 10, "waits": 11, "wait_early": 12}
FIRST_TURN = 13


resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # targets that crash


def storms(n):
    return max(1, int(n * STORM))


def compile_busy():
    return compile_c("stop_busy.c", "stop_busy", "-g", "-O1", "-std=gnu2x", "-pthread", "-lm")


def status_of(pid, tid=None):
    """The lines of a status file; empty when it is gone."""
    path = f"/proc/{pid}/status" if tid is None else f"/proc/{pid}/task/{tid}/status"
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    except OSError:
        return {}


def threads_of(pid):
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


def open_files(pid):
    """What every descriptor leads to."""
    found = {}
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            found[int(name)] = os.readlink(f"/proc/{pid}/fd/{name}")
    except OSError:
        pass
    return found


def relatives(program, pid):
    """(pid, state) of the children of a process, and of all others that run its program."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == pid:
            continue
        try:
            exe = os.readlink(f"/proc/{name}/exe")
        except OSError:
            exe = None
        status = status_of(name)
        if status and (exe == program or status["PPid"] == str(pid)):
            found.append((int(name), status["State"][0]))
    return found


class Beside(threading.Thread):
    """A clock here, which nobody stops: the longest that it missed since it was set to 0."""

    def __init__(self):
        super().__init__(daemon=True)
        self.gap_seconds = 0.0
        self.gaps = []  # (when it ended, how long) of those that one may notice
        self.start()

    def run(self):
        last = time.monotonic()
        while True:
            time.sleep(0.005)
            now = time.monotonic()
            self.gap_seconds = max(self.gap_seconds, now - last)
            if now - last > 0.02:
                self.gaps.append((now, now - last))
            last = now

    def longest_since(self, began):
        return max((gap for at, gap in self.gaps if at > began), default=0.0)


class Busy(Target):
    """A running stop_busy, and how it was at first."""
    count = 0

    def __init__(self, program, *words, mib=32, writers=2, rate=2000, nappers=2, sleepers=3,
                 spinners=0, below=(), **more):
        """`below` is a command that runs it as its only child."""
        Busy.count += 1
        self.program = program
        self.file = os.path.join(WORK, f"words{Busy.count}")
        self.n_turning = writers + nappers + spinners
        super().__init__(*below, program, self.file, mib, writers, rate, nappers, sleepers,
                         spinners, *words, **more)
        if below:
            self.pid, = [pid for pid, _ in relatives(program, self.pid)]
        with open(self.file, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 8 * (FIRST_TURN + self.n_turning))
        first, second, n_pairs, stride, _ = self.lines("ARRAYS")[0]
        self.arrays = f"arrays={first},{second},{n_pairs},{stride}"
        self.files = open_files(self.pid)
        until = time.monotonic() + PATIENCE_SECONDS
        while True: # a thread begins with all signals blocked
            self.masks = self.blocked()
            if not any(mask & SIGTERM_BIT for mask in self.masks.values()):
                break
            check(time.monotonic() < until, "the target's threads do not begin")

    def word(self, name):
        return struct.unpack_from("q", self.map, 8 * WORDS[name])[0]

    def set_word(self, name, value):
        struct.pack_into("q", self.map, 8 * WORDS[name], value)

    def turns(self):
        return (self.word("main_turns"),
                *struct.unpack_from(f"{self.n_turning}q", self.map, 8 * FIRST_TURN))

    def blocked(self):
        statuses = {tid: status_of(self.pid, tid) for tid in threads_of(self.pid)}
        return {tid: int(status["SigBlk"], 16) for tid, status in statuses.items() if status}

    def harm(self, turns_before, own_children=0):
        """What is not as it was, for now."""
        found = []
        for tid, state, tracer in states(self.pid):
            if state in "Tt" or tracer != 0:
                found.append(f"thread {tid} is in state {state}, traced by {tracer}")
        if self.blocked() != self.masks:
            found.append(f"signal masks {self.blocked()} instead of {self.masks}")
        if open_files(self.pid) != self.files:
            found.append(f"open files {open_files(self.pid)} instead of {self.files}")
        others = relatives(self.program, self.pid)
        if sum(state != "Z" for _, state in others) != own_children or \
                len(others) > own_children + 1:
            found.append(f"left are {others}")
        turns_now = self.turns()
        if any(now == before for now, before in zip(turns_now, turns_before)):
            found.append(f"turns stand still: {turns_before} {turns_now}")
        return found

    def check_unharmed(self, what, own_children=0, sigchlds=0):
        """Soon all is as it was; what a kernel does after a kill takes some time."""
        until = time.monotonic() + PATIENCE_SECONDS
        before = self.turns()
        while True:
            check(self.process.poll() is None,
                  f"{what}: the target ended: {self.process.returncode}")
            check(self.word("broken") == 0, f"{what}: broken: {self.word('broken')}")
            check(self.word("children") == 0 or own_children != 0,
                  f"{what}: waitpid saw {self.word('children')} children")
            # a sleeper may be who handles a signal
            check(self.word("sleeper_calls") <= sigchlds,
                  f"{what}: {self.word('sleeper_calls')} sleepers saw EINTR")
            check(self.word("sigchlds") <= sigchlds, f"{what}: {self.word('sigchlds')} SIGCHLDs")
            found = self.harm(before, own_children)
            if self.word("sigchlds") < sigchlds:
                found.append(f"{self.word('sigchlds')} SIGCHLDs of {sigchlds}")
            if not found:
                return
            check(time.monotonic() < until, f"{what}: {found}")
            time.sleep(0.001)

    def tell(self, line):
        """Does not wait until it has obeyed."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def wait_word(self, name, value):
        until = time.monotonic() + PATIENCE_SECONDS
        while self.word(name) < value:
            check(time.monotonic() < until, f"{name} stays at {self.word(name)}")
            time.sleep(0.001)

    def check_ended(self, what, code):
        """It has ended so, and nothing of it is left."""
        until = time.monotonic() + PATIENCE_SECONDS
        found = self.process.wait(timeout=PATIENCE_SECONDS)
        check(found == code, f"{what}: the target ended with {found}")
        while relatives(self.program, self.pid):
            check(time.monotonic() < until, f"{what}: left are {relatives(self.program, self.pid)}")
            time.sleep(0.001)
        self.kill()

    def end(self):
        super().end()
        self.map.close()

    def kill(self):
        super().kill()
        self.map.close()


class Run:
    """One run of the driver: code, said, and the figures it gave."""

    def __init__(self, pid, *options):
        self.process = subprocess.Popen([DRIVER, str(pid), *options], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait_point(self, what):
        """Until it asks at its point."""
        line = self.process.stdout.readline()
        check(line.startswith("POINT"), f"{what}: no such point: {line!r}")

    def wait_stopped(self, what):
        """Until a signal has stopped it, or it has ended: on a slow machine either takes its
        time."""
        until = time.monotonic() + PATIENCE_SECONDS
        while self.process.poll() is None:
            with open(f"/proc/{self.process.pid}/stat", encoding="ascii", errors="replace") as stat:
                if stat.read().rpartition(")")[2].split()[0] == "T":
                    return
            check(time.monotonic() < until, f"{what}: neither stopped nor ended")
            time.sleep(0.001)

    def go_on(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def finish(self, what, codes=(0,)):
        try:
            text, self.said = self.process.communicate(timeout=PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise Failure(f"{what}: the driver hangs")
        self.code = self.process.returncode
        check(self.code in codes, f"{what}: exit {self.code}: {self.said}")
        lines = dict(line.split(" ", 1) for line in text.splitlines() if " " in line)
        self.figures = {key: int(value) if value.isdigit() else value
                        for key, value in lines.items()}
        return self


def run(target, what, *options, codes=(0,)):
    return Run(target.pid, *options).finish(what, codes)


def clean(target, what, mode):
    """A good one; it must be by the way that was asked for. Where the machine is so busy that the
    target gets no processor for seconds, that is said, and tried again."""
    for _ in range(10):
        one = run(target, what, f"mode={mode}", codes=(0, 3))
        if one.code == 0 or "too long" not in one.said:
            break
    check(one.code == 0, f"{what}: exit {one.code}: {one.said}")
    check(one.figures["way"] == mode, f"{what}: {one.figures}: {one.said}")
    return one.figures


def points_of(target, mode):
    """The moments at which something can be done to a stop: its own, and the driver's."""
    figures = clean(target, "points", mode)
    return [int(word) for word in str(figures["points"]).split()]
