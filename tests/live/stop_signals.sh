# Waits in every call that has a limit, while signals come all the time, to the process and to its
# threads: handled, ignored, blocked, and of children that end. EINTR is due to the thread that runs
# a handler in its wait, and to no other; and each ends when it would have ended. HS_LONG=1: 200
# stops of each way, 200 dumps, and as many rounds of waits without us.
. "$(dirname "$0")/_stop.sh"

python "$@" <<'END_OF_TEST'
import collections
import concurrent.futures
import errno

from stop_lib import *

program = compile_c("stop_waits.c", "stop_waits", "-g", "-O1", "-std=gnu2x", "-pthread", "-lrt")
IS_LONG = os.environ.get("HS_LONG") == "1"
LIMIT_MS = 600
STOPS_MS = (110, 220, 330, 440)
EARLY_MS = 12
LATE_MS = 80 # less than the first stop: a wait that begins anew is later than that
BEGUN_ANEW = {"terminal, VTIME", "io_pgetevents"} # the latter when any signal wakes it, alone, too
# What a busy machine does to each of a few rounds it does not do to all of many.
MORE_ROUNDS = 12
# The kernel wakes a thread for a signal to the process that another is quicker to take, and that
# one's call returns EINTR: a few in a hundred, on a busy machine. All of them did in each stop.
MORE_NOT_DUE = 0.1
# Rounds without us go on until each call was seen to end by its limit: a handler runs in some
# waits of a round, and may run in the same call's in each of the first.
ALONE_ROUNDS = 200 if IS_LONG else 3
MOST_ALONE_ROUNDS = ALONE_ROUNDS + 20
Row = collections.namedtuple("Row", "name ms result number n_handled")


class Storm(Target):
    def __init__(self):
        super().__init__(program, LIMIT_MS, "storm")
        self.names = [" ".join(line[1:]) for line in self.lines("CALL")]

    def round(self, stop):
        """One round with stops, or without: its rows, and how many stops fell into it."""
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        began, n_stops = time.monotonic(), 0
        for at_ms in STOPS_MS if stop else ():
            time.sleep(max(0, began + at_ms / 1000 - time.monotonic()))
            if time.monotonic() - began > (LIMIT_MS - 50) / 1000:
                break
            stop(self)
            n_stops += 1
        rows = []
        for line in self.process.stdout:
            if line.startswith("READY"):
                return rows, n_stops
            _, at, us, *numbers = line.split()
            rows.append(Row(self.names[int(at)], int(us) / 1000, *map(int, numbers)))
        raise Failure("the target ended")


class Counts:
    """What all rounds of one way came to."""

    def __init__(self):
        self.waits = self.stops = self.not_due = self.due = 0
        self.wrong, self.least, self.late = [], {}, collections.Counter()

    def add(self, rows, n_stops, alone):
        self.stops += n_stops
        for row in rows:
            if row.number == errno.EINTR and row.name != "alarm":
                self.add_interrupted(row)
                continue
            late = row.ms - LIMIT_MS
            self.waits += row.n_handled >= 0
            if alone is not None and (row.result, row.number) != alone[row.name]:
                self.wrong.append(f"{row}, alone {alone[row.name]}")
            if row.name in BEGUN_ANEW or row.n_handled > 0:
                continue # a handler ran, and the kernel began the call anew
            if late < -EARLY_MS:
                self.wrong.append(f"{row.name}: {-late:.1f} ms early")
            self.late[row.name] += late > LATE_MS
            self.least[row.name] = min(late, self.least.get(row.name, late))

    def add_interrupted(self, row):
        """Those that block what is handled ignore all else."""
        self.waits += row.n_handled >= 0
        self.due += row.n_handled > 0
        self.not_due += row.n_handled == 0
        if row.n_handled < 0:
            self.wrong.append(f"{row.name}: EINTR after {row.ms:.1f} ms, and no signal")

    def __str__(self):
        late = {name: n for name, n in self.late.items() if n}
        return f"{self.stops} stops: of {self.waits} waits that may handle a signal {self.due} " \
            f"did, {self.not_due} saw another's; late {late}"


def results_alone(target, base):
    """What each call returns without us where no handler ran in it, by name."""
    results = collections.defaultdict(collections.Counter)
    names = set(target.names)
    for n_rounds in range(MOST_ALONE_ROUNDS):
        if n_rounds >= ALONE_ROUNDS and names <= results.keys():
            break
        rows, _ = target.round(None)
        base.add(rows, 0, None)
        for row in rows:
            if row.number != errno.EINTR or row.name == "alarm":
                results[row.name][(row.result, row.number)] += 1
    never = sorted(names - results.keys())
    check(not never, f"{MOST_ALONE_ROUNDS} rounds without us, each interrupted: {never}")
    return {name: of.most_common(1)[0][0] for name, of in results.items()}


def never_in_time(found):
    return {name: f"{ms:.0f} ms" for name, ms in found.least.items() if ms > LATE_MS}


def sees_others(found, base):
    """Whether more calls than without us return for a signal that another thread handled."""
    return found.not_due / found.waits > base.not_due / base.waits + MORE_NOT_DUE


def judge(stop, n_stops):
    """A busy machine is late with all: what is so each time is no accident."""
    target, base, found = Storm(), Counts(), Counts()
    alone = results_alone(target, base)
    while found.stops < n_stops:
        found.add(*target.round(stop), alone)
    for _ in range(MORE_ROUNDS):
        if not never_in_time(found) and not sees_others(found, base):
            break
        base.add(*target.round(None), None)
        found.add(*target.round(stop), alone)
    target.end()
    told = f"{found}; without us {base}"
    check(not found.wrong, f"{told}: {found.wrong}")
    check(not sees_others(found, base), told)
    check(not never_in_time(found), f"{told}: never in time: {never_in_time(found)}")
    return told


def by_driver(mode):
    def stop(target):
        figures = run(target, "stop", f"mode={mode}", "empty=1").figures
        check(figures["broken_off"] == 0, f"{figures['broken_off']} calls return EINTR")
    return judge(stop, 200 if IS_LONG else 24)


def by_dump():
    return judge(lambda target: dump(target, "a dump in the storm"), 200 if IS_LONG else 8)


def storm():
    """Nearly all of it is waiting. A target is begun and ended by one thread, with which it would
    end."""
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        ways = [pool.submit(by_driver, "read"), pool.submit(by_driver, "copy"),
                pool.submit(by_dump)]
        return "".join(f"\n  {way.result()}" for way in ways)


main(storm)
END_OF_TEST
