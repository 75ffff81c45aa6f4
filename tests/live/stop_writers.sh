# Programs that write while they are dumped: a copy of them is made and read all the same, as long
# as there is memory for what they write.
. "$(dirname "$0")/_stop.sh"

python "$@" <<'END_OF_TEST'
import re

from stop_lib import *

program = compile_busy()
MIB, OVER_LIMIT = 1 << 20, 6


def copies_of(target):
    return [state for _, state in relatives(program, target.pid) if state == "t"]


def suspended_beside_a_copy(target, *options):
    """A dump that stands still while its copy lives, and the process runs; None: it was too
    quick."""
    one = subprocess.Popen([HEAPSNAP, "dump", str(target.pid), *options, "-o", SNAP],
                           stderr=subprocess.PIPE, text=True)
    while one.poll() is None:
        if not copies_of(target):
            continue
        one.send_signal(signal.SIGSTOP)
        while states(one.pid)[0][1] != "T":
            time.sleep(0.001)
        if copies_of(target) and all(tracer == 0 for _, _, tracer in states(target.pid)):
            return one
        one.send_signal(signal.SIGCONT)
        time.sleep(0.002)
    one.communicate()
    return None


def rewritten():
    """A process writes to all that it has while its copy lives: more than any share of it."""
    target = Busy(program, mib=160, writers=1)
    for _ in range(20):
        one = suspended_beside_a_copy(target)
        if one is not None:
            break
    check(one is not None, "no dump was caught beside its copy")
    target.tell("dirty")
    target.wait_word("obeyed", 1)
    one.send_signal(signal.SIGCONT)
    _, said = one.communicate(timeout=PATIENCE_SECONDS)
    check(one.returncode == 0, f"exit {one.returncode}: {said}")
    about = look("info")
    check(about["stop"] == "copy", f"the way was {about['stop']}: {said}")
    target.check_unharmed("rewritten")
    target.end()
    return said.splitlines()[0]


def at_random():
    """A process that writes all it can: a copy is made, read by several threads, and of one
    moment."""
    target = Busy(program, mib=256, writers=3, rate=0)
    for turn in range(3):
        dump(target, f"turn {turn}")
        about = look("info")
        check(about["stop"] == "copy", f"turn {turn}: {about['stop']}")
        figures = run(target, f"turn {turn}", "mode=copy", target.arrays, "threads=2").figures
        check(figures["torn"] <= 3 and figures["wild"] == 0, f"turn {turn}: {figures}")
    target.check_unharmed("at random")
    target.end()
    return f"it grew by {about['growth_bytes'] // MIB} MiB of 256, {figures['torn']} of 3 differ"


def kept(word):
    """100 MiB that the process keeps from its children are read in the stop; the rest by a
    copy."""
    target = Busy(program, word, mib=200, writers=3, rate=0)
    for turn in range(3):
        figures = run(target, f"{word} {turn}", "mode=auto", target.arrays, "threads=2").figures
        check(figures["way"] == "copy", f"{word} {turn}: {figures}")
        check(figures["torn"] <= 3 and figures["wild"] == 0, f"{word} {turn}: {figures}")
    dump(target, word)
    check(look("info")["stop"] == "copy", f"{word}: no copy was made")
    target.check_unharmed(word)
    target.end()
    return f"{figures['pause_ns'] / 1e6:.1f} ms, foreseen {figures['predicted_ns'] / 1e6:.1f}"


def dontfork():
    return kept("dontfork")


def wipeonfork():
    return kept("wipeonfork")


def foreseen():
    """The range is told, and what would be too long is not begun."""
    target = Busy(program, mib=64, writers=1)
    _, said = dump(target, "foreseen", "-v")
    check(re.search(r"foreseen [0-9.]+ ?(ms|µs|us|s)? to [0-9.]+ (ms|µs|us|s);", said), said)
    target.set_word("gap_ns", 0)
    for options in (("--stop", "read"), ("--stop", "auto")):
        _, said = dump(target, f"{options}", *options, "--max-pause", "10us", codes=(OVER_LIMIT,))
        check("it would be stopped for" in said, said)
    one = run(target, "no stop", "mode=read", "max_pause_ns=10000", codes=(OVER_LIMIT,))
    check(one.figures["pause_ns"] == 0 and one.figures["stopping_ns"] == 0, one.figures)
    target.check_unharmed("foreseen")
    target.end()
    return said.splitlines()[0]


def join(group):
    with open(f"{group}/cgroup.procs", "w", encoding="ascii") as file:
        file.write(str(os.getpid()))


def limited():
    """Under the limit of a control group: the copy is given up before the group has no more."""
    group = f"/sys/fs/cgroup/memory/heapsnap-writers-{os.getpid()}"
    limit = 240 * MIB
    try:
        os.mkdir(group)
    except OSError as error:
        return f"NOT TESTED: no memory controller that we may use: {error}"
    try:
        with open(f"{group}/memory.limit_in_bytes", "w", encoding="ascii") as file:
            file.write(str(limit))
        target = Busy(program, mib=128, writers=4, rate=5000, preexec_fn=lambda: join(group))
        for nap_us in (20000, 80000, 320000): # where the writers get little of the processors
            one = run(target, "limited", "mode=copy", f"nap_us={nap_us}", codes=(0, OVER_LIMIT))
            if one.code == OVER_LIMIT:
                break
        check(one.code == OVER_LIMIT and "of memory are left to it" in one.said, one.said)
        target.check_unharmed("limited")
        target.end()
        with open(f"{group}/memory.max_usage_in_bytes", encoding="ascii") as file:
            most = int(file.read())
        return f"{most // MIB} MiB at most of {limit // MIB}: {one.said.splitlines()[0]}"
    finally:
        for _ in range(100):
            try:
                os.rmdir(group)
                break
            except OSError:
                time.sleep(0.05)


def bounded():
    """A limit that is set is kept, or not passed by much."""
    target = Busy(program, mib=256, writers=2, rate=20000)
    limit = 16 * MIB
    grown = 256 * MIB
    for _ in range(5): # a busy machine looks late, but not each time
        one = run(target, "bounded", "mode=copy", "nap_us=10000", f"max_growth={limit}",
                  codes=(OVER_LIMIT,))
        check("gave up the copy" in one.said, one.said)
        grown = min(grown, one.figures["growth_bytes"])
        if grown < 3 * limit:
            break
    check(0 < grown < 3 * limit, f"{grown / MIB:.1f} MiB of {limit / MIB}")
    target.check_unharmed("bounded")
    target.end()
    return f"{grown / MIB:.1f} MiB of {limit // MIB}"


if len(sys.argv) > 1:
    main(*[globals()[name] for name in sys.argv[1:]])
else:
    main(rewritten, at_random, dontfork, wipeonfork, foreseen, limited, bounded)
END_OF_TEST
