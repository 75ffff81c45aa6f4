# Memory that is reserved and not used: a dump reads what is resident and nothing else, and the
# target's page tables do not grow, for a hole that is read becomes a page for good.
. "$(dirname "$0")/_stop.sh"

python "$@" <<'END_OF_TEST'
from stop_lib import *

program = compile_c("stop_sparse.c", "stop_sparse", "-O1", "-std=gnu2x")


def resident_private(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        fields = dict(line.split(":", 1) for line in file if ":" in line)
    return int(fields["Anonymous"].split()[0]) << 10


def shared_bytes(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return sum(int(line.split()[1]) << 10 for line in file if line.startswith("Shared_"))


def page_tables(pid):
    return int(status_of(pid)["VmPTE"].split()[0]) << 10


def measured(what, read):
    """read(target) tells how much it read."""
    target = Target(program)
    touched, = [int(line[0]) for line in target.lines("TOUCHED")]
    resident, tables = resident_private(target.pid), page_tables(target.pid)
    check(resident >= touched, f"{resident} bytes are resident of {touched}")
    n_bytes = read(target)
    grown = page_tables(target.pid) - tables
    target.check_lives(what)
    target.end()
    return n_bytes, n_bytes / resident, grown, touched


def in_bounds(what, read, at_least, table_bytes=0):
    """table_bytes: where the main thread's stack pointer is 40 KiB or less above what one page of a
    page table maps (one start of fifty), a copy's frame needs such a page below."""
    for _ in range(5):
        n_bytes, share, grown, touched = measured(what, read)
        if grown == 0 or grown > table_bytes:
            break
    check(share <= 1.02, f"{what}: {n_bytes} bytes read, {share:.3f} of what is resident")
    check(n_bytes >= touched * at_least, f"{what}: {n_bytes} bytes read of {touched}")
    check(grown == 0, f"{what}: page tables grew by {grown} bytes")
    return f"{share:.4f} of what is resident, page tables +{grown}"


def whole_dump(mode):
    def read(target):
        dump(target, mode, "--stop", mode)
        return look("info")["read_bytes"]
    return in_bounds(f"heapsnap dump --stop {mode}", read, 0.9, 4096 if mode == "copy" else 0)


def by_driver(mode):
    return in_bounds(f"driver {mode}", lambda target: clean(target, mode, mode)["read_bytes"], 1,
                     4096 if mode == "copy" else 0)


def dump_copy():
    return whole_dump("copy")


def dump_read():
    return whole_dump("read")


def copy():
    return by_driver("copy")


def read():
    return by_driver("read")


def lent():
    """Memory that a child shares by a fork stays shared: its parent does not grow when read."""
    grown = {}
    busy = compile_busy()
    for mode in ("read", "copy"):
        target = Busy(busy, mib=64, writers=0)
        target.tell("fork")
        target.wait_word("obeyed", 1)
        before = shared_bytes(target.pid)
        check(before >= 60 << 20, f"only {before} bytes are shared")
        check(clean(target, f"lent {mode}", mode)["read_bytes"] >= 60 << 20, "not all was read")
        dump(target, f"lent, heapsnap {mode}", "--stop", mode)
        grown[mode] = before - shared_bytes(target.pid)
        check(grown[mode] <= 2 << 20, f"{mode}: {grown[mode]} bytes of {before} became its own")
        target.end()
    return f"of 64 MiB that a child shares so many bytes became its own: {grown}"


def control():
    """Holes that are read."""
    n_bytes, share, grown, _ = measured("blind", lambda target: run(
        target, "blind", "mode=read", "blind=1").figures["read_bytes"])
    check(share > 1.02 and grown > 0, f"reading holes: {share} of what is resident, +{grown}")
    return f"reading holes: {share:.1f} of what is resident, page tables +{grown}"


if len(sys.argv) > 1:
    main(*[globals()[name] for name in sys.argv[1:]])
else:
    main(dump_copy, dump_read, copy, read, lent, control)
END_OF_TEST
