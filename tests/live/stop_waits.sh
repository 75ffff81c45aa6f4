# Waits with a limit, in every call that has one: each takes as long as it would have taken without
# us, however many stops fall into it, in any thread and in the one that makes the copy.
. "$(dirname "$0")/_stop.sh"

python "$@" <<'END_OF_TEST'
import concurrent.futures
import errno
import re

from stop_lib import *

program = compile_c("stop_waits.c", "stop_waits", "-g", "-O1", "-std=gnu2x", "-pthread", "-lrt")
LIMIT_MS = 1500
STOPS_MS = [150 * i for i in range(1, 9)]
# Of a loaded machine, which wakes late; what is wrong is wrong by the time between two stops.
LATE_MS, EARLY_MS = 90, 12
# What the least late of some rounds must keep, beside the longest pause in it, where nobody stops
# it and it does; sockets count in steps of up to 32 ms (kernel/time/timer.c, at 250 a second).
NEAR_MS, NEAR_AT_SOCKETS_MS = 10, 42
# Kept by the kernel, which begins them anew by itself (docs/processes.md).
BEGUN_ANEW = {"terminal, VTIME"}
ARMED, RETURNED = 4, 9 # of the copy's points
STARVED_MS = 600 # far from a whole second more
N_BESIDE = 6 # a stop takes a few milliseconds of a processor
NAMES = re.findall(r'^    \{"([^"]*)", call_', open(f"{FIXTURES}/stop_waits.c").read(), re.M)


beside = Beside()


class Waits(Target):
    def __init__(self, *more):
        super().__init__(program, LIMIT_MS, *more)
        self.names = [" ".join(line[1:]) for line in self.lines("CALL")]

    def round(self, stops_ms, *options, codes=(0,), plain_ms=()):
        """One round with stops at these times, plain copies at others: [(name, ms, result, errno)];
        the main thread's is called so."""
        self.tell()
        began, self.shortened, self.n_stops = time.monotonic(), 0, 0
        self.began, self.pause_ms = began, 0
        for at in sorted((*stops_ms, *plain_ms)):
            time.sleep(max(0, began + at / 1000 - time.monotonic()))
            if time.monotonic() - began > (LIMIT_MS - 100) / 1000:
                break # so busy that the rest would come too late
            is_plain = at in plain_ms
            one = run(self, f"stop at {at}", *(("mode=copy",) if is_plain else options),
                      codes=(0,) if is_plain else codes)
            self.last_ms = 1000 * (time.monotonic() - began) # at the latest
            if one.code != 0:
                continue
            figures = one.figures
            self.shortened += figures["shortened"]
            self.n_stops += 1
            self.pause_ms = max(self.pause_ms, figures["pause_ns"] / 1e6)
            check(figures["broken_off"] == 0, f"{figures['broken_off']} calls return EINTR")
        return self.took()

    def tell(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def took(self):
        took = []
        for line in self.process.stdout:
            if line.startswith("READY"):
                return took
            _, at, us, result, number, _ = line.split()
            name = self.names[int(at)] if int(at) < len(self.names) else "main"
            took.append((name, int(us) / 1000, int(result), int(number)))
        raise Failure("the target ended")


def wrong(alone, found, began):
    """What did not end as it does when nobody stops it. A busy machine is late with both, and with
    a clock here, of which a round has the longest gap."""
    lines, noise_ms = [], 1000 * beside.longest_since(began)
    for (name, ms, result, number), (_, alone_ms, alone_result, alone_number) in zip(found, alone):
        late = ms - LIMIT_MS
        if VERBOSE:
            print(f"    {name:28} {ms:8.1f} ms, alone {alone_ms:8.1f}: {result} {number}")
        if (result, number) != (alone_result, alone_number) or \
                name not in BEGUN_ANEW and not -EARLY_MS < late < LATE_MS + noise_ms:
            lines.append(f"{name}: {ms:.1f} ms, {result}, errno {number}; "
                         f"alone {alone_ms:.1f} ms, {alone_result}, errno {alone_number}")
    return lines


VERBOSE = "HS_VERBOSE" in os.environ


def off(found, pause_ms=0):
    """By how many milliseconds each misses its end beyond what it may."""
    return {name: abs(ms - LIMIT_MS) - pause_ms -
            (NEAR_AT_SOCKETS_MS if "SO_" in name else NEAR_MS)
            for name, ms, _, _ in found if name not in BEGUN_ANEW}


def on_time(*options, more=()):
    """Tried some times: what is late every time is no accident. Nor does a round tell much into
    which a busy machine lets few of the stops fall."""
    target = Waits(*more)
    alone = target.round(())
    always, least = None, {}
    for _ in range(12):
        found = target.round(STOPS_MS, *options)
        lines = wrong(alone, found, target.began)
        names = {line.split(": ")[0] for line in lines}
        always = names if always is None else always & names
        least = {name: min(ms, least.get(name, ms))
                 for name, ms in off(found, target.pause_ms).items()}
        if not always and max(least.values()) <= 0 and target.n_stops > len(STOPS_MS) / 2:
            break
    target.end()
    check(not always, "\n".join(lines))
    far = {name: f"{ms:.1f} ms" for name, ms in least.items() if ms > 0 >= off(alone)[name]}
    check(not far, f"never nearer than that to what each may miss: {far}")
    return f"{len(alone)} calls, {target.n_stops} stops in each, {target.shortened} shortened"


def beside_each_other(rounds):
    """Nearly all of a round is waiting, so some targets wait at a time. Each is begun and ended by
    one thread, with which it would end."""
    with concurrent.futures.ThreadPoolExecutor(N_BESIDE) as pool:
        return [done.result() for done in [pool.submit(*words) for words in rounds]]


def any_thread():
    return "; ".join(beside_each_other(((on_time, "mode=read"), (on_time, "mode=copy"))))


def main_thread():
    """Those that have a limit of their own, in the thread that makes the copy."""
    names = ("epoll_wait", "semtimedop", "io_pgetevents", "ppoll", "nanosleep",
             "recv, SO_RCVTIMEO")
    beside_each_other((on_main_thread, name) for name in names)
    return f"{len(names)} calls"


def on_main_thread(name):
    on_time("mode=copy", more=[NAMES.index(name)])


def killed():
    """In the middle of a copy: the thread that makes it returns by a frame, and the kernel has
    forgotten when its wait ends. Those that it starts again itself, and one that we do. The deaths
    find calls that a stop or another death has broken off before."""
    names = ("nanosleep", "clock_nanosleep", "poll", "futex", "epoll_wait")
    beside_each_other((main_thread_killed, name, point)
                      for name in names for point in (ARMED, RETURNED))
    return f"{len(names)} calls, twice each at two places"


def main_thread_killed(name, point):
    target = Waits(NAMES.index(name))
    for turn in range(6):
        found = target.round((500, 1000), "mode=copy", f"at={point}", "act=kill",
                             codes=(-signal.SIGKILL,), plain_ms=(250, 750))
        took = [(ms, result) for who, ms, result, _ in found if who == "main"]
        if -EARLY_MS < took[0][0] - LIMIT_MS < LATE_MS:
            break
    target.end()
    check(turn < 5 or -EARLY_MS < took[0][0] - LIMIT_MS < LATE_MS,
          f"{name}, killed at point {point}: {took[0][0]:.1f} ms")


def sockets_killed():
    """The limit of these is the socket's: when we die, the wait has all of its time once more, from
    the last death at the most. It never ends early, nor by EINTR, and the socket keeps its
    limit."""
    names = ("recv, SO_RCVTIMEO", "accept, SO_RCVTIMEO")
    found = beside_each_other((socket_killed, name, point)
                              for name in names for point in (ARMED, RETURNED))
    return "longest wait of 1500 ms, killed at 500 and 1000: " \
        f"{max(found):.0f} ms; the next as without us"


def socket_killed(name, point):
    """Late is tried again, as everywhere here; early, or another result, is wrong at once."""
    for _ in range(6):
        rounds, most_ms = socket_killed_once(name, point)
        told = f"{name}, killed at point {point}, and the next: {rounds}, at most {most_ms}"
        check(all(result == -1 and code == errno.EAGAIN and ms > LIMIT_MS - EARLY_MS
                  for ms, result, code in rounds), told)
        if all(ms < most for (ms, _, _), most in zip(rounds, most_ms)):
            return rounds[0][0]
    raise Failure(f"late six times, {told}")


def socket_killed_once(name, point):
    target = Waits(NAMES.index(name))
    rounds = [target.round((500, 1000), "mode=copy", f"at={point}", "act=kill",
                           codes=(-signal.SIGKILL,)), target.round(())]
    target.end()
    most_ms = LIMIT_MS + LATE_MS + target.last_ms, LIMIT_MS + LATE_MS
    return [next(row[1:] for row in found if row[0] == "main") for found in rounds], most_ms


def occupy(cpu, seconds, to_parent):
    """A process that leaves nothing of a processor to those without real-time priority."""
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(30))
    os.write(to_parent, b"!")
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass
    os._exit(0)


def may_occupy():
    """Two processors, and the right to real-time priority."""
    if len(os.sched_getaffinity(0)) < 2:
        return False
    child = os.fork()
    if child == 0:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(30))
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


STARVED = {f"{name}TIMEO" for name in
           ("read, SO_RCV", "accept, SO_RCV", "send, SO_SND", "connect, SO_SND")}


def starve(dies):
    """Two rounds by name, one in which the threads find no processor for 0.2 s after a stop in its
    middle, and one without a stop; and when what happened in the first, by our clock."""
    cpu = max(os.sched_getaffinity(0))
    target = Waits()
    for tid in threads_of(target.pid):
        os.sched_setaffinity(tid, {cpu})
    began, at_ms = time.monotonic(), {}

    def happens(what):
        at_ms[what] = round(1000 * (time.monotonic() - began))

    target.tell()
    time.sleep(1)
    stop = Run(target.pid, "mode=read", "empty=1", "at=104", "act=ask")
    stop.wait_point("starved")
    happens("stands")
    ends = os.pipe()
    hog = os.fork()
    if hog == 0:
        occupy(cpu, 0.2, ends[1])
    os.read(ends[0], 1)
    stop.go_on()
    happens("let go")
    if dies:
        time.sleep(0.08)
        stop.process.kill()
        happens("killed")
    stop.finish("starved", (0, -signal.SIGKILL))
    os.waitpid(hog, 0)
    happens("processor free")
    for end in ends:
        os.close(end)
    rounds = [{row[0]: row[1] for row in found if row[0] in STARVED}
              for found in (target.took(), target.round(()))]
    target.end()
    return *rounds, at_ms


def starve_in_time(dies):
    """What the waits took. Early is wrong at once; late is tried again, as a machine that stands
    still itself makes waits late, too."""
    most = LIMIT_MS + (2 * LIMIT_MS if dies else STARVED_MS)
    for _ in range(6):
        stopped, alone, at_ms = starve(dies)
        told = f"{'killed' if dies else 'stopped'}: {stopped}, the next {alone}, {at_ms}"
        check(len(stopped) == len(alone) == len(STARVED), told)
        check(min(*stopped.values(), *alone.values()) > LIMIT_MS - EARLY_MS, told)
        if max(stopped.values()) < most and max(alone.values()) < LIMIT_MS + STARVED_MS:
            return stopped
        print(f"late, {told}")
    raise Failure(f"late six times, {told}")


def starved():
    """Waits at sockets of their own end in time, or late when we die meanwhile; never early, and
    the sockets keep their limits."""
    if not may_occupy():
        return "not tried: it takes two processors, and the right to real-time priority"
    stopped, killed = starve_in_time(dies=False), starve_in_time(dies=True)
    return f"{', '.join(f'{ms:.0f}' for ms in stopped.values())} ms of {LIMIT_MS}; when we die, " \
        f"{max(killed.values()):.0f}"


if len(sys.argv) > 1:
    main(*[globals()[name] for name in sys.argv[1:]])
else:
    main(any_thread, main_thread, killed, sockets_killed, starved)
END_OF_TEST
