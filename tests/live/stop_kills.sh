# parts: watch
# A stop that ends in a kill, at random and at every step of it, or that hangs: the target is as it
# was before, and the next one works at once. HS_STORM=17 for 1,000 random kills of each kind,
# HS_STORM=400 with the names of the storms for 2,000 on writers and on waits with a limit.
. "$(dirname "$0")/_stop.sh"

python "$@" <<'END_OF_TEST'
from stop_lib import *

program = compile_busy()
COPY_POINTS_END = 100 # beyond lie the driver's own
STOPPED, READ_END = 101, 105
RUNNING = range(16, 19) # let_go, read, gone: enum hs_copy_point
ALARM_MS = 800 # half as long again, and the kernel's timer ends us without a word
OVER_LIMIT = 6
EARLY_MS = 2 # epoll_wait counts milliseconds
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


def quiet_gap(target, seconds):
    """The same machine without us."""
    target.set_word("gap_ns", 0)
    time.sleep(seconds)
    return target.word("gap_ns") / 1e6


def storm(way, *words):
    """Writers as fast as they can and waits with a limit among the threads. `way` makes one attempt
    that is killed at a random moment, and says whether it was."""
    n = storms(5)
    target = Busy(program, *words, "gaps", "waits", mib=64, writers=2, rate=50000)
    began, n_killed, longest_ms, alone_ms = time.monotonic(), 0, 0.0, 0.0
    for turn in range(n):
        if turn % 20 == 0:
            alone_ms = max(alone_ms, quiet_gap(target, 0.2 if STORM <= 1 else 2.0))
        target.set_word("gap_ns", 0)
        what = f"{way.__name__} {words} turn {turn}"
        n_killed += way(target, what)
        target.check_unharmed(what)
        longest_ms = max(longest_ms, target.word("gap_ns") / 1e6)
        check(target.word("wait_early_ns") < EARLY_MS * 1e6,
              f"{what}: wait {target.word('wait_early')} ended {target.word('wait_early_ns')} ns "
              "before its limit")
    figures = clean(target, "at last", "copy")
    n_cut, n_waits = target.word("waits_cut"), target.word("waits")
    late_ms = target.word("wait_late_ns") / 1e6
    check(n_cut <= 5 * n_killed, f"{n_cut} waits see EINTR in {n_killed} deaths")
    target.end()
    return (f"{n_killed} of {n} killed in {time.monotonic() - began:.0f} s; longest gap "
            f"{longest_ms:.1f} ms, without us {alone_ms:.1f}; {n_cut} of {n_waits} waits see "
            f"EINTR, late by {late_ms:.1f} ms at most; a whole pause "
            f"{figures['pause_ns'] / 1e6:.1f} ms; load {os.getloadavg()[0]:.0f}")


def driver_dies(mode):
    known = {}

    def way(target, what):
        if what not in known and len(known) % 50 == 0:
            figures = clean(target, what, mode)
            known["whole"] = figures["whole_ns"] / 1000
            known["from"] = (figures["until_frozen_ns"] - figures["pause_ns"]) / 1000
            known["to"] = figures["until_frozen_ns"] / 1000
        known[what] = True
        earliest, latest = (known["from"], known["to"]) if len(known) % 2 else (1, known["whole"])
        die_us = int(random.uniform(max(1, earliest), latest)) + 1
        one = run(target, what, f"mode={mode}", f"die_us={die_us}", codes=(0, -signal.SIGKILL))
        return one.code != 0

    way.__name__ = mode
    return way


def watch_dies(target, what):
    """Whole dumps, one after the other, of the program itself."""
    folder = os.path.join(WORK, "storm")
    process = subprocess.Popen(
        [HEAPSNAP, "watch", str(target.pid), "--every", "50ms", "--keep", "1", "-o", folder, "-q"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(random.uniform(0.02, 0.5))
    process.kill()
    check(process.wait() == -signal.SIGKILL, f"{what}: the watch ended by itself")
    shutil.rmtree(folder, ignore_errors=True)
    return True


def storm_copy():
    return storm(driver_dies("copy"))


def storm_direct():
    return storm(driver_dies("copy"), "subreaper")


def storm_read():
    return storm(driver_dies("read"))


def storm_watch():
    return storm(watch_dies)


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


def stopped_at_random(mode, *words, n=6, allowed_seconds=0.2):
    """SIGSTOP of ours: in the pause that ends us in time, else we go on when told."""
    target = Busy(program, *words, "gaps", mib=8)
    before = [clean(target, "before", mode) for _ in range(3)]
    frozen_us = statistics.median(one["until_frozen_ns"] for one in before) / 1000
    pause_us = statistics.median(one["pause_ns"] for one in before) / 1000
    n_ended, longest = 0, 0.0
    for turn in range(storms(n)):
        stop_us = int(random.uniform(max(1, frozen_us - 1.5 * pause_us), frozen_us * 1.1)) + 1
        what = f"{mode} {words} turn {turn} stopped after {stop_us} us"
        target.set_word("gap_ns", 0)
        one = Run(target.pid, f"mode={mode}", f"stop_us={stop_us}",
                  f"max_pause_ns={int(allowed_seconds * 1e9)}")
        one.wait_stopped(what)
        time.sleep(3 * allowed_seconds)
        if one.process.poll() is None:
            one.process.send_signal(signal.SIGCONT)
        one.finish(what, (0, OVER_LIMIT, -signal.SIGKILL))
        target.check_unharmed(what)
        n_ended += one.code != 0
        longest = max(longest, target.word("gap_ns") / 1e9)
        check(longest < 2 * allowed_seconds + 1, f"{what}: it stood still for {longest:.2f} s")
        clean(target, f"{what}, the next one", mode)
    target.end()
    return (f"{n_ended} of {storms(n)} ended, longest gap {longest:.2f} s at {allowed_seconds} s "
            "allowed")


def stopped_middle():
    return stopped_at_random("copy")


def stopped_direct():
    return stopped_at_random("copy", "subreaper")


def is_held(mode, point):
    """Whether the target stands still there; with a copy it runs while that is read."""
    return point < READ_END if mode == "read" else point <= STOPPED and point not in RUNNING


def ends_itself(target, mode, point):
    """It says that it was ended. On a busy machine it may come too late to that, and the kernel
    ends it: tried again, as who is always late has no word at all."""
    for _ in range(6):
        what = f"{mode} hang at point {point}"
        one = run(target, what, f"mode={mode}", f"at={point}", "act=hang", f"alarm_ms={ALARM_MS}",
                  codes=(OVER_LIMIT, -signal.SIGKILL))
        clean(target, f"{what}, the next one", mode)
        target.check_unharmed(what)
        if one.code == OVER_LIMIT:
            return
    raise Failure(f"{what}: ended by the kernel each time: {one.said}")


def hangs_unharmed(target, mode, point):
    """Nobody waits for us, so nobody ends us."""
    what = f"{mode} hang at point {point}, where nothing is held"
    one = Run(target.pid, f"mode={mode}", f"at={point}", "act=hang", f"alarm_ms={ALARM_MS}")
    time.sleep(ALARM_MS / 1000)
    before = target.turns()
    time.sleep(2 * ALARM_MS / 1000)
    after, code = target.turns(), one.process.poll()
    one.process.kill()
    one.finish(what, (-signal.SIGKILL, code))
    check(code is None, f"{what}: the driver was ended: {code}: {one.said}")
    check(all(now != then for now, then in zip(after, before)), f"{what}: {before} {after}")
    target.check_unharmed(what)
    clean(target, f"{what}, the next one", mode)


def hangs():
    n_held, n_harmless = 0, 0
    for mode, words in (("copy", ()), ("copy", ("subreaper",)), ("read", ())):
        target = Busy(program, *words, mib=16)
        points = points_of(target, mode)
        held = [point for point in points if is_held(mode, point)]
        harmless = [point for point in points if point not in held]
        if STORM <= 1:
            held, harmless = random.sample(held, 1), random.sample(harmless, 1)
        for point in held:
            ends_itself(target, mode, point)
        for point in harmless:
            hangs_unharmed(target, mode, point)
        n_held, n_harmless = n_held + len(held), n_harmless + len(harmless)
        target.end()
    return f"{n_held} ended by the timer, {n_harmless} left alone that harm nobody"


if len(sys.argv) > 1:
    main(*[globals()[name] for name in sys.argv[1:]])
else:
    main(storm_copy, storm_direct, storm_read, storm_watch, random_middle, random_direct,
         random_pid1, random_read, points_middle, points_direct, points_read, stopped_middle,
         stopped_direct, hangs)
END_OF_TEST
