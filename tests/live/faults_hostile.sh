# A program that has the runtime's names and lies in every structure behind them. Whatever it says,
# a dump ends soon, uses little memory, and writes a whole snapshot or says why not.
. "$(dirname "$0")/_faults.sh"

compiler=${CC:-gcc}
command -v "$compiler" >/dev/null || { echo "skipped: no C compiler"; exit 77; }
# Its own name must be made safe, too.
hostile=$WORK/$(printf 'host\033[31mile\a')
"$compiler" -O1 -w -no-pie -rdynamic -pthread -o "$hostile" \
    "$SOURCE_DIR/tests/live/fixtures/hostile.c"
export HOSTILE=$hostile

python <<'END'
from faults_lib import *
import json
import threading

N_LIES = 11  # seeds 1 .. N_LIES are one lie each; see hostile.c
HANG_SECONDS = 10 * LIMIT_SECONDS # at any load
MEMORY_KIB = (4 if IS_SANITISED else 1) << 20


def is_plain(text):
    return all(c == "\n" or ord(c) >= 32 and not 127 <= ord(c) < 160 for c in text)


def dump(pid, path, seed):
    """Exit code and what was said; processor time and memory are checked, and that it ends."""
    process = subprocess.Popen([HEAPSNAP, "dump", str(pid), "-o", path, "--no-names"],
                               stderr=subprocess.PIPE)
    timer = threading.Timer(HANG_SECONDS, process.kill)
    timer.start()
    said = process.stderr.read().decode(errors="backslashreplace")
    _, status, usage = os.wait4(process.pid, 0)
    timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    check(process.returncode in (0, 3), f"seed {seed}: exit {process.returncode}: {said}")
    took = usage.ru_utime + usage.ru_stime
    check(took < LIMIT_SECONDS, f"seed {seed}: {took:.1f} s of processor time")
    check(usage.ru_maxrss < MEMORY_KIB, f"seed {seed}: {usage.ru_maxrss} KiB")
    check(is_plain(said), f"seed {seed}: said {said!r}")
    check(process.returncode == 0 or said.startswith("heapsnap: cannot dump process "),
          f"seed {seed}: said {said!r}")
    return process.returncode, said


def look(path, seed):
    """What is printed of it is safe for a terminal and for a parser."""
    for command in ["roots", "info", "dominators", "types"]:
        for form in ["table", "json", "tsv"]:
            done = subprocess.run([HEAPSNAP, command, path, "--format", form], timeout=120,
                                  capture_output=True, check=False)
            text = done.stdout.decode() # strict
            check(done.returncode == 0, f"seed {seed}: {command}: {done.stderr!r}")
            check(is_plain(text.replace("\t", "")), f"seed {seed}: {command} {form} is not plain")
            if form == "json":
                json.loads(text)


def apart(function, *arguments):
    """In a process of its own: what memory this one takes counts as that of all it starts later."""
    pid = os.fork()
    if pid == 0:
        try:
            function(*arguments)
        except BaseException as failure: # whatever it is, the parent is to fail
            print(f"{failure!r}", flush=True)
            os._exit(1)
        os._exit(0)
    check(os.waitpid(pid, 0)[1] == 0, f"{function.__name__}{arguments}")


def seeds(n):
    named = list(range(N_LIES + 1))
    return named + [random.randrange(N_LIES + 1, 1 << 40) for _ in range(n - len(named))]


def lies():
    target = subprocess.Popen([os.environ["HOSTILE"]], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    path = os.path.join(WORK, "hostile.snap")
    seen = {}
    reasons = set()
    for turn, seed in enumerate(seeds(turns(200))):
        target.stdin.write(f"{seed}\n")
        target.stdin.flush()
        check(target.stdout.readline() == f"READY {seed}\n", "the target is out of step")
        code, said = dump(target.pid, path, seed)
        seen[code] = seen.get(code, 0) + 1
        if seed == 0:
            check(code == 0, f"the right world is refused: {said}")
        if code == 0:
            check_snapshot(path, f"seed {seed}")
            if turn % 20 == 0 and os.path.getsize(path) < 1 << 20: # millions of roots take long
                apart(look, path, seed)
            os.unlink(path)
            for index in glob.glob(path + "*"):
                os.unlink(index)
        check(not os.path.exists(path), f"seed {seed}: exit {code} leaves a file")
        check(target.poll() is None and tracer_of(target.pid) == 0, f"seed {seed}: the target")
    check(seen.get(0, 0) >= 10, f"the lies are too coarse to reach far: {seen}")
    target.kill()
    return f"{sum(seen.values())} dumps, exits {seen}"


main(lies)
END
