# 32 calls that block: none of them notices a stop, in any thread, nor in the one that is made to
# call in the process's name, nor a death of ours at any place of it. Left as they were stopped,
# some do: the test can see it.
. "$(dirname "$0")/_stop.sh"

python "$@" <<'END_OF_TEST'
from stop_lib import *

program = compile_c("stop_calls.c", "stop_calls", "-g", "-O1", "-std=gnu2x", "-pthread", "-lrt")
N_CALLS = 32
NOTICING = {"epoll_wait", "epoll_wait, an hour", "epoll_pwait", "recv, SO_RCVTIMEO",
            "accept, SO_RCVTIMEO", "semop", "semtimedop", "sigtimedwait", "sigwaitinfo"}


class Calls(Target):
    def __init__(self, *more):
        file = os.path.join(WORK, "words")
        super().__init__(program, file, *more)
        self.names = [" ".join(line[1:]) for line in self.lines("CALL")]
        check(len(self.names) == N_CALLS, f"{len(self.names)} calls")
        with open(file, "rb") as words:
            self.map = mmap.mmap(words.fileno(), 16 * N_CALLS, prot=mmap.PROT_READ)
        self.wait_asleep("at first")
        for name, interrupted, other in self.counts():
            check(interrupted == 0 and other == 0, f"{name} does not block")

    def wait_asleep(self, what):
        until = time.monotonic() + PATIENCE_SECONDS
        n_asleep = 0 # looks in a row that found all asleep
        while n_asleep < 3:
            letters = [state for _, state, tracer in states(self.pid) if tracer == 0]
            n_asleep = n_asleep + 1 if len(letters) > N_CALLS and set(letters) == {"S"} else 0
            check(time.monotonic() < until, f"{what}: threads are {letters}")
            time.sleep(0.001)

    def counts(self):
        numbers = struct.unpack(f"{2 * N_CALLS}q", self.map[:])
        return list(zip(self.names, numbers[::2], numbers[1::2]))

    def interrupted(self):
        return {name for name, interrupted, _ in self.counts() if interrupted != 0}

    def stop(self, what, mode, *more):
        figures = run(self, what, f"mode={mode}", *more).figures
        check(figures["way"] == mode, f"{what}: {figures}")
        self.wait_asleep(what)
        return figures["restarted"]


def unnoticed(mode):
    target = Calls()
    restarted = sum(target.stop(f"{mode} {i}", mode) for i in range(25))
    seen = [line for line in target.counts() if line[1] + line[2] != 0]
    check(not seen, f"{mode}: {seen}")
    check(restarted > 0, f"{mode}: no call was set to start again")
    target.end()
    return f"25 stops, 0 of {N_CALLS} calls see EINTR, {restarted} set to start again"


def read():
    return unnoticed("read")


def copy():
    return unnoticed("copy")


def main_thread():
    """Each of the calls in the thread that makes the copy."""
    n_stops = storms(2)
    for i in range(N_CALLS):
        target = Calls(i)
        for turn in range(n_stops):
            target.stop(f"main thread in {target.names[i]} {turn}", "copy")
        seen = [line for line in target.counts() if line[1] + line[2] != 0]
        check(not seen, f"main thread in {target.names[i]}: {seen}")
        target.end()
    return f"{n_stops} copies each, 0 of {N_CALLS} calls see EINTR"


def killed():
    """At each place of a stop, with the main thread in a call that only we set to start again."""
    n = 0
    for mode in ("read", "copy"):
        target = Calls(0)
        check(target.names[0] in NOTICING, f"{target.names[0]} is none that notices")
        for point in points_of(target, mode):
            for turn in range(storms(2)):
                what = f"{mode} killed at point {point}, turn {turn}"
                run(target, what, f"mode={mode}", f"at={point}", "act=kill",
                    codes=(-signal.SIGKILL,))
                target.wait_asleep(what)
                seen = [line for line in target.counts() if line[1] + line[2] != 0]
                check(not seen, f"{what}: {seen}")
                n += 1
        target.end()
    return f"{n} deaths, 0 of {N_CALLS} calls see EINTR"


def control():
    """Nobody repairs anything: the calls that notice are those that are known to."""
    for mode in ("read", "copy"):
        target = Calls()
        for i in range(5):
            target.stop(f"control {mode} {i}", mode, "interrupted=1")
        seen = target.interrupted()
        check(seen and seen <= NOTICING, f"control {mode}: {sorted(seen)}")
        target.end()
    return f"{len(seen)} of {N_CALLS} see EINTR: {', '.join(sorted(seen))}"


if len(sys.argv) > 1:
    main(*[globals()[name] for name in sys.argv[1:]])
else:
    main(read, copy, main_thread, killed, control)
END_OF_TEST
