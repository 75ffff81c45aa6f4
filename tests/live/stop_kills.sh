# A stop that ends in a kill, at random and at every step of it, or that hangs: the target is as it
# was before, and the next one works at once. HS_STORM=17 for 1,000 random kills of each kind.
. "$(dirname "$0")/_stop.sh"

python "$@" <<'END_OF_TEST'
from stop_lib import *

program = compile_busy()
COPY_POINTS_END = 100 # beyond lie the driver's own
ALARM_MS = 400
NAMESPACE = ("unshare", "--pid", "--fork", "--kill-child")


def killed_at_random(mode, *words, n=20, **more):
    n = storms(n)
    target = Busy(program, *words, mib=8, **more)
    before = [clean(target, "before", mode) for _ in range(5)]
    whole_us = statistics.median(one["whole_ns"] for one in before) / 1000
    frozen_us = statistics.median(one["until_frozen_ns"] for one in before) / 1000
    n_killed = 0
    for turn in range(n):
        die_us = int(random.uniform(1, frozen_us if turn % 2 else whole_us * 1.1)) + 1
        what = f"{mode} {words} turn {turn} killed after {die_us} us"
        one = run(target, what, f"mode={mode}", f"die_us={die_us}", codes=(0, -signal.SIGKILL))
        n_killed += one.code != 0
        clean(target, f"{what}, the next one", mode)
        target.check_unharmed(what)
    main_calls = target.word("main_calls")
    target.end()
    return (f"{n_killed} of {n} killed, within {whole_us / 1000:.1f} ms, half of them within "
            f"{frozen_us / 1000:.1f}; "
            f"{main_calls} calls of the main thread saw EINTR")


def random_middle():
    return killed_at_random("copy")


def random_direct():
    return killed_at_random("copy", "subreaper")


def random_pid1():
    """As most containers have it: the first of a pid namespace, seen from outside."""
    if subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode != 0:
        return "left out: no pid namespace can be made here"
    return killed_at_random("copy", n=5, below=NAMESPACE)


def random_read():
    return killed_at_random("read")


def at_points(mode, act, n, points, target, codes, *more):
    for point in points:
        for turn in range(n):
            what = f"{mode} {act} at point {point}, turn {turn}"
            run(target, what, f"mode={mode}", f"at={point}", f"act={act}", *more, codes=codes)
            clean(target, f"{what}, the next one", mode)
            target.check_unharmed(what)


def killed_at_points(mode, *words):
    target = Busy(program, *words, mib=16)
    points = points_of(target, mode)
    check(mode == "read" or any(point < COPY_POINTS_END for point in points), f"only {points}")
    at_points(mode, "kill", storms(3), points, target, (-signal.SIGKILL,))
    at_points(mode, "term", 1, random.sample(points, 2), target, (-signal.SIGTERM,))
    at_points(mode, "int", 1, random.sample(points, 2), target, (-signal.SIGINT,))
    main_calls = target.word("main_calls")
    target.end()
    return f"{storms(3)} at each of {points}; {main_calls} calls of the main thread saw EINTR"


def points_middle():
    return killed_at_points("copy")


def points_direct():
    return killed_at_points("copy", "subreaper")


def points_read():
    return killed_at_points("read")


def hangs():
    """Where the target is held; afterwards nobody waits for us."""
    n = 0
    for mode, words in (("copy", ()), ("copy", ("subreaper",)), ("read", ())):
        target = Busy(program, *words, mib=16)
        points = [point for point in points_of(target, mode)
                  if point <= 101 or mode == "read" and point < 105]
        if STORM <= 1:
            points = random.sample(points, 1)
        at_points(mode, "hang", 1, points, target, (-signal.SIGALRM,), f"alarm_ms={ALARM_MS}")
        n += len(points)
        target.end()
    return f"{n} of {n} ended by the timer"


if len(sys.argv) > 1:
    main(*[globals()[name] for name in sys.argv[1:]])
else:
    main(random_middle, random_direct, random_pid1, random_read, points_middle, points_direct,
         points_read, hangs)
END_OF_TEST
