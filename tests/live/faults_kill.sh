# Dumps that end before they are done: the target goes on, and nothing is left that is not whole.
. "$(dirname "$0")/_faults.sh"

python <<'END'
from faults_lib import *

program = compile_ocaml("faults_busy", "unix,threads.posix")
INTERRUPTED = 128  # and the number of the signal, as shells say it


def catches(pid, number):
    """Whether a process has a handler for a signal; not when it is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            caught = [int(line.split()[1], 16) for line in file if line.startswith("SigCgt:")]
    except OSError:
        return False
    return bool(caught) and caught[0] >> (number - 1) & 1 == 1


def one(target, number, what, when):
    """Sends a signal to a dump after `when` seconds, or at the moment when it stops the target."""
    dump = Dump(target.pid)
    if when is None:
        dump.wait_until_stopping()
        time.sleep(random.choice([0, 0, 0.0005, 0.002, 0.005]))
    else:
        time.sleep(when)
    seized = tracer_of(target.pid) != 0
    is_caught = catches(dump.process.pid, number)
    dump.process.send_signal(number)
    code = dump.finish(what)
    target.check_goes_on(what)
    if number == signal.SIGKILL:
        check(code in (0, -number), f"{what}: exit {code}: {dump.said}")
        # Nobody can remove the neighbour for it, but under the asked name is all or nothing.
        if "heap.snap" in dump.left():
            check_snapshot(dump.path, what)
    else: # -number: in the first moments, before it is caught
        dump.check_result(what, (0, INTERRUPTED + number, -number))
        if code == -number:
            check(not is_caught and not seized, f"{what}: died of it after {when} s")
    return code, seized


def storm(number, n, blocks):
    target = Busy(program, 4, blocks)
    seen = {}
    n_seized = 0
    for turn in range(turns(n)):
        when = None if turn % 3 == 0 else random.uniform(0, 0.4 if turn % 3 == 1 else 0.05)
        code, seized = one(target, number, f"{number.name} turn {turn} after {when}", when)
        seen[code] = seen.get(code, 0) + 1
        n_seized += seized
    target.end()
    return f"{turns(n)} dumps, exits {seen}, {n_seized} while the target was held"


def killed():
    return storm(signal.SIGKILL, 24, 400000)


def interrupted():
    return storm(signal.SIGINT, 9, 400000)


def terminated():
    return storm(signal.SIGTERM, 9, 400000)


def stays_dumpable():
    target = Busy(program, 4, 400000)
    for turn in range(3):
        dump = Dump(target.pid)
        dump.wait_until_stopping()
        dump.process.kill()
        dump.finish("before a good one")
    dump = Dump(target.pid)
    dump.finish("after three killed ones")
    dump.check_result("after three killed ones", (0,))
    target.check_goes_on("after all")
    target.end()
    return "a good dump after three killed ones"


main(killed, interrupted, terminated, stays_dumpable)
END
