# Four writers keep pairs: what a stop shows is of one moment, while reading the running process is
# not. HS_STORM=5 for 100 snapshots.
. "$(dirname "$0")/_stop.sh"

python "$@" <<'END_OF_TEST'
from stop_lib import *

program = compile_busy()
N_WRITERS = 4
MIB = 32


def snapshots(mode, n, *words):
    """Through `mode`: at most one pair of each writer differs, by one."""
    target = Busy(program, *words, mib=MIB, writers=N_WRITERS, rate=0)
    most = 0
    for turn in range(n):
        what = f"{mode} {words} turn {turn}"
        figures = run(target, what, f"mode={mode}", target.arrays, "nap_us=500").figures
        check(figures["way"] == mode, f"{what}: {figures}")
        check(figures["torn"] <= N_WRITERS and figures["wild"] == 0, f"{what}: {figures}")
        most = max(most, figures["torn"])
    target.check_unharmed(mode)
    target.end()
    return f"0 of {n} are torn, at most {most} of {N_WRITERS} pairs differ"


def copy():
    return snapshots("copy", storms(20))


def copy_huge():
    return snapshots("copy", storms(3), "huge")


def direct():
    return snapshots("copy", storms(3), "subreaper")


def read():
    return snapshots("read", storms(3))


def control():
    target = Busy(program, mib=MIB, writers=N_WRITERS, rate=0)
    counts = [] # of five reads, of more where no writer had a turn
    while len(counts) < 5 or max(counts) <= N_WRITERS and len(counts) < 50:
        one = run(target, "unlocked", "unlocked=1", target.arrays, "nap_us=500")
        counts.append(one.figures["torn"])
    check(max(counts) > N_WRITERS, f"an unlocked reader saw only {counts} differ")
    target.end()
    return f"reading the running process: {counts} pairs differ"


if len(sys.argv) > 1:
    main(*[globals()[name] for name in sys.argv[1:]])
else:
    main(copy, copy_huge, direct, read, control)
END_OF_TEST
