# Dumps of a native program that are killed at any moment, or that meet a full disk: it lives on, is
# neither stopped nor traced, and under the asked name is a whole snapshot or nothing.
. "$(dirname "$0")/_faults.sh"

python <<'END_OF_TEST'
from native_faults import *

program = compile_c("native_storm.c", "storm", "-g", "-O1", "-pthread")


def killed():
    target = Target(program, "malloc")
    began = time.monotonic()
    dump(target, "before")
    whole = time.monotonic() - began
    seen = {}
    n_seized = 0
    for turn in range(turns(30)):
        one = Dump(target.pid)
        if turn % 3 == 0:
            one.wait_until_stopping()
            time.sleep(random.choice([0, 0, 0.0005, 0.002, 0.005]))
        else:
            time.sleep(random.uniform(0, whole if turn % 3 == 1 else whole / 8))
        n_seized += tracer_of(target.pid) != 0
        one.process.kill()
        code = one.finish(f"turn {turn}")
        check(code in (0, -signal.SIGKILL), f"turn {turn}: exit {code}: {one.said}")
        if "heap.snap" in one.left():
            check_snapshot(one.path, f"turn {turn}")
        until = time.monotonic() + 60 # the kernel lets go of a target some time after the kill
        while time.monotonic() < until and any(state in "Tt" or tracer
                                               for _, state, tracer in states(target.pid)):
            time.sleep(0.002)
        target.check_lives(f"turn {turn}")
        seen[code] = seen.get(code, 0) + 1
    dump(target, "afterwards")
    target.end()
    return f"{turns(30)} dumps, exits {seen}, {n_seized} while the target was held"


def target_ends():
    """Killed, or gone by itself: a whole snapshot, or a message and nothing."""
    seen = {}
    messages = set()
    for turn in range(turns(12)):
        target = Target(program, "malloc")
        one = Dump(target.pid)
        if turn % 2:
            one.wait_until_stopping()
            time.sleep(random.choice([0, 0.001, 0.003]))
        else:
            time.sleep(random.uniform(0, 0.1))
        if turn % 3:
            target.process.kill()
        else:
            target.process.stdin.close()
        code = one.finish(f"ending {turn}")
        one.check_result(f"ending {turn}", (0, 3))
        seen[code] = seen.get(code, 0) + 1
        if code == 3:
            messages.add(one.said.splitlines()[0].split(": ")[-1])
        target.kill()
    return f"{turns(12)} dumps, exits {seen}, {sorted(messages)}"


def full_disk():
    if os.geteuid() != 0:
        return "left out: mounting needs root"
    tiny = os.path.join(WORK, "tiny")
    os.mkdir(tiny)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", tiny],
                      stderr=subprocess.DEVNULL, check=False).returncode != 0:
        return "left out: tmpfs cannot be mounted here"
    try:
        target = Target(program, "malloc")
        path = os.path.join(tiny, "heap.snap")
        with open(path, "w", encoding="ascii") as file:
            file.write("old")
        with open(os.path.join(tiny, "ballast"), "wb") as file:
            try:
                file.write(bytes(1 << 20))
            except OSError:
                pass
        done = subprocess.run([HEAPSNAP, "dump", str(target.pid), "-o", path], timeout=120,
                              capture_output=True, text=True, check=False)
        check(done.returncode == 5, f"exit {done.returncode}: {done.stderr}")
        check("No space left on device" in done.stderr, f"said {done.stderr!r}")
        check(open(path, encoding="ascii").read() == "old", "the old snapshot is gone")
        check(sorted(os.listdir(tiny)) == ["ballast", "heap.snap"], f"left: {os.listdir(tiny)}")
        target.check_lives("full disk")
        target.end()
    finally:
        subprocess.run(["umount", "-l", tiny], check=False)
    return done.stderr.splitlines()[0].split(": ")[-1]


main(killed, target_ends, full_disk)
END_OF_TEST
