# Targets that end, or execute another program, at any moment of a dump: a whole snapshot, or exit 3
# with a message and no file; never a hang.
. "$(dirname "$0")/_faults.sh"

python <<'END'
from faults_lib import *

program = compile_ocaml("faults_busy", "unix,threads.posix")


def ends(n, how):
    seen = {}
    messages = set()
    for turn in range(5 * turns(n)):
        if turn >= turns(n) and 3 in seen:
            break # more turns only for a machine on which none of the first met the moment
        blocks = random.choice([2000, 100000, 300000])
        milliseconds = random.uniform(0, 120) * (blocks / 300000) ** 0.5
        if how == "killed":
            target = Busy(program, 3, blocks)
        else:
            target = Busy(program, random.choice([1, 3]), blocks, how,
                          resident_ms(blocks) + milliseconds)
        dump = Dump(target.pid)
        if how == "killed":
            if turn % 2:
                dump.wait_until_stopping()
                time.sleep(random.choice([0, 0.001, 0.003]))
            else:
                time.sleep(milliseconds / 1000)
            target.process.kill()
        what = f"{how} turn {turn}: {blocks} blocks, {milliseconds:.1f} ms"
        dump.finish(what)
        dump.check_result(what, (0, 3))
        if dump.code == 3:
            messages.add(dump.said.splitlines()[0].split(": ")[-1])
        seen[dump.code] = seen.get(dump.code, 0) + 1
        target.process.wait(timeout=60)
        target.end()
    check(3 in seen, f"{how}: no dump met it: {seen}")
    return f"{turns(n)} dumps, exits {seen}, {sorted(messages)}"


def resident_ms(blocks):
    """Processor time that a target has used when it says READY."""
    target = Busy(program, 1, blocks)
    fields = open(f"/proc/{target.pid}/stat").read().rsplit(")", 1)[1].split()
    target.end()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def killed():
    return ends(10, "killed")


def exits():
    return ends(8, "exit")


def executes():
    return ends(8, "exec")


main(killed, exits, executes)
END
