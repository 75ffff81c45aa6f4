# Calls that do their work in parts. None of them fails for a stop, nor the one after it; those that
# are often over are not cut short, as another moment is chosen; what is cut all the same is told.
. "$(dirname "$0")/_stop.sh"

python "$@" <<'END_OF_TEST'
from stop_lib import *

program = compile_c("stop_partial.c", "stop_partial", "-g", "-O1", "-std=gnu2x", "-pthread",
                    "-lutil")
N_STOPS = 12


class Calls(Target):
    def __init__(self, *names):
        super().__init__(program, *names)
        time.sleep(0.2)

    def counts(self):
        """{name: (calls, short, wrong)}"""
        self.process.stdin.write("count\n")
        self.process.stdin.flush()
        found = {}
        for line in self.process.stdout:
            if line.startswith("READY"):
                return found
            name, *numbers = line.split()
            found[name] = tuple(int(number) for number in numbers)
        raise Failure("the target ended")

    def counts_when(self, is_told):
        """What is told of a call is counted when that has returned, which a busy machine lets wait:
        the first counts that are as they must be, or those at the end of our patience."""
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            counts = self.counts()
            if is_told(counts) or time.monotonic() > until:
                return counts
            time.sleep(0.05)

    def stops(self, what, *words):
        """Some stops, and what they told in all."""
        told = {"cut": 0, "anew": 0, "unsent": 0}
        for i in range(N_STOPS):
            figures = run(self, f"{what} {i}", "empty=1", *words).figures
            for name in told:
                told[name] += figures[name]
            time.sleep(0.03)
        return told


def both(names):
    for mode in ("copy", "read"):
        target = Calls(*names)
        yield mode, target
        target.end()


def n_short_of(counts):
    return sum(short for _, short, _ in counts.values())


def next_call():
    """What is cut leaves no error for the call after it."""
    names = ["recvmmsg", "recv_all", "marked", "line"]
    for mode, target in both(names):
        told = target.stops(mode, f"mode={mode}")
        counts = target.counts_when(lambda counts: n_short_of(counts) == told["cut"] and
                                    all(counts[name][0] > N_STOPS / 2 for name in names))
        time.sleep(0.1) # for what nobody told of
        counts = target.counts()
        n_short = n_short_of(counts)
        check(all(wrong == 0 for _, _, wrong in counts.values()), f"{mode}: {counts}")
        check(all(counts[name][0] > N_STOPS / 2 for name in names),
              f"{mode}: {counts}")
        check(n_short == told["cut"], f"{mode}: told {told['cut']} of {counts}")
    return f"{n_short} calls cut short by the last {N_STOPS} stops, none failed"


def another_moment():
    """As a rule none is cut that is over soon; many are where nobody looks. How many a few stops
    meet is chance: more of them, until it is clear."""
    careful = careless = n_rounds = 0
    while not 2 * careful < careless and n_rounds < 6:
        n_rounds += 1
        careful += n_cut()
        careless += n_cut("interrupted=1")
    told = f"{careful} of {n_rounds * N_STOPS} cut, {careless} by who does not look"
    check(2 * careful < careless, told)
    return told


def n_cut(*words):
    """How many of some stops cut a call that is over soon."""
    target = Calls("burst")
    told = target.stops("moment", "mode=read", *words)
    is_counted = lambda counts: words or told["cut"] == counts["burst"][1]
    n_calls, n_short, n_wrong = target.counts_when(is_counted)["burst"]
    check(n_wrong == 0 and n_calls > N_STOPS / 2, f"{n_calls} calls, {n_wrong} wrong")
    check(words or told["cut"] == n_short, f"told {told['cut']} of {n_short}")
    target.end()
    return n_short


def closed():
    """A close that waits for its data is cut, and told; not when that is soon with its peer."""
    for mode, target in both(["linger"]):
        told = target.stops(mode, f"mode={mode}")
        n_calls, n_short, n_wrong = target.counts_when(
            lambda counts: counts["linger"][1] == told["unsent"])["linger"]
        check(n_wrong == 0 and 0 < n_short == told["unsent"] <= N_STOPS and told["cut"] == 0,
              f"{mode}: {told} of {n_calls} calls, {n_short} short, {n_wrong} wrong")
    target = Calls("linger_soon")
    soon = target.stops("soon", "mode=read")
    n_calls, _, n_wrong = target.counts()["linger_soon"]
    check(n_wrong == 0 and n_calls > 0 and soon["unsent"] < N_STOPS / 2,
          f"{soon} of {n_calls} calls, {n_wrong} wrong")
    target.end()
    return f"{told['unsent']} told of {n_short}; {soon['unsent']} of {n_calls} that are soon over"


def told():
    """Those of which one is always under way; and small writes to a pipe are none of them."""
    for mode, target in both(["crowd", "small", "terminal"]):
        figures = target.stops(mode, f"mode={mode}")
        counts = target.counts_when(lambda counts: figures["cut"] == counts["crowd"][1])
        check(0 < figures["cut"] <= N_STOPS and figures["cut"] == counts["crowd"][1],
              f"{mode}: {figures}, {counts}")
        check(figures["anew"] > 0, f"{mode}: {figures}")
        check(counts["small"][1:] == (0, 0) and counts["small"][0] > 0, f"{mode}: {counts}")
        check(counts["terminal"][2] == 0, f"{mode}: {counts}")
    return f"{figures['cut']} cut, {figures['anew']} anew"


main(next_call, another_moment, closed, told)
END_OF_TEST
