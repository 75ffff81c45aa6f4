# Two dumps of one process at once, and a debugger that was there first.
. "$(dirname "$0")/_faults.sh"

python <<'END'
from faults_lib import *

program = compile_ocaml("faults_busy", "unix,threads.posix")


def two_dumps():
    """Each is done, or refused because the other holds the target; both at once never."""
    target = Busy(program, 4, 300000)
    seen = {}
    for turn in range(turns(6)):
        first = Dump(target.pid)
        path = os.path.join(WORK, f"second{turn}.snap")
        if turn % 2:
            first.wait_until_stopping()
        second = subprocess.Popen([HEAPSNAP, "dump", str(target.pid), "-o", path, "--no-names"],
                                  stderr=subprocess.PIPE, text=True)
        first.finish("the first")
        _, said = second.communicate(timeout=LIMIT_SECONDS)
        first.check_result(f"turn {turn}: the first", (0, 3))
        codes = (first.code, second.returncode)
        for code, text in ((codes[0], first.said), (codes[1], said)):
            check(code in (0, 3), f"turn {turn}: {codes}: {text}")
            check(code == 0 or "already traced by " in text and "heapsnap" in text, text)
        check(0 in codes, f"turn {turn}: both refused: {first.said} {said}")
        if second.returncode == 0:
            check_snapshot(path, "the second")
            os.unlink(path)
        check(not os.path.exists(path), "a refused dump left a file")
        target.check_goes_on(f"turn {turn}")
        seen[codes] = seen.get(codes, 0) + 1
    target.end()
    return f"{turns(6)} pairs, exits {seen}"


def debugger():
    if not shutil.which("gdb"):
        return "left out: no gdb"
    target = Busy(program, 2, 1000)
    words = ["gdb", "-q", "-nx", "-batch", "-p", str(target.pid), "-ex", "shell sleep 60"]
    gdb = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, start_new_session=True)
    until = time.monotonic() + 60
    while tracer_of(target.pid) == 0:
        if gdb.poll() is not None or time.monotonic() > until:
            target.end()
            return "left out: gdb does not attach here"
        time.sleep(0.01)
    dump = Dump(target.pid)
    dump.finish("under gdb")
    os.killpg(gdb.pid, signal.SIGKILL)
    gdb.wait()
    os.kill(target.pid, signal.SIGCONT) # a killed gdb leaves it stopped, by the signal it sent
    dump.check_result("under gdb", (3,))
    check(f"it is already traced by 'gdb" in dump.said, dump.said)
    check(f"(pid {gdb.pid})" in dump.said, dump.said)
    target.check_goes_on("after gdb was killed")
    dump = Dump(target.pid)
    dump.finish("after gdb")
    dump.check_result("after gdb", (0,))
    target.check_goes_on("after all")
    target.end()
    return "refused, and named"


def one_thread():
    """Somebody traces one thread alone, not the main one: the tracer is named."""
    target = Busy(program, 4, 1000)
    tid = max(int(name) for name in os.listdir(f"/proc/{target.pid}/task"))
    tracer = subprocess.Popen([sys.executable, "-c", f"""
import ctypes, sys, time
if ctypes.CDLL(None).ptrace(0x4206, {tid}, None, None) != 0: # PTRACE_SEIZE
    sys.exit(1)
print("READY", flush=True)
time.sleep(60)
"""], stdout=subprocess.PIPE, text=True)
    if not tracer.stdout.readline():
        target.end()
        return "left out: one thread cannot be traced here"
    dump = Dump(target.pid)
    dump.finish("one thread is traced")
    dump.check_result("one thread is traced", (3,))
    check("it is already traced by 'python3" in dump.said, dump.said)
    check(f"(pid {tracer.pid})" in dump.said, dump.said)
    tracer.kill()
    tracer.wait()
    tracer.stdout.close()
    dump = Dump(target.pid)
    dump.finish("nobody traces it")
    dump.check_result("nobody traces it", (0,))
    target.check_goes_on("after all")
    target.end()
    return "refused, and named"


main(two_dumps, debugger, one_thread)
END
