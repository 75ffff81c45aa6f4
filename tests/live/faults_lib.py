"""Ending dumps and targets at bad moments: what the faults_*.sh tests share.

A target counts in a shared file. After each fault its counters must go on, no thread of it may be
stopped or traced, and there is no file under the name that was asked for unless the dump was done.
HS_FAULTS_TIMES multiplies the number of turns."""
import atexit
import ctypes
import glob
import mmap
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time

HEAPSNAP = os.environ["HEAPSNAP"]
SOURCE = os.environ["SOURCE_DIR"]
WORK = os.environ["WORK"]
TIMES = float(os.environ.get("HS_FAULTS_TIMES", "1"))
IS_SANITISED = bool(os.environ.get("SANITIZED")) # as the build was configured
LIMIT_SECONDS = 60 if IS_SANITISED else 20
SEED = int(os.environ.get("HS_FAULTS_SEED", str(time.time_ns() & 0xFFFF)))
random.seed(SEED)
# What a shell begins in the background ignores it, and so would all that is started here.
signal.signal(signal.SIGINT, signal.default_int_handler)


class Failure(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failure(message)


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def turns(n):
    return max(1, int(n * TIMES))


def compile_ocaml(name, packages):
    """The program in WORK, stripped too: path and path.stripped."""
    if not shutil.which("ocamlfind"):
        skip("no OCaml compiler")
    version = subprocess.run(["ocamlfind", "ocamlopt", "-version"], capture_output=True,
                             text=True, check=True).stdout
    if not version.startswith(("4.13.", "4.14.")):
        skip("the compiler is not OCaml 4.13 or 4.14")
    shutil.copy(os.path.join(SOURCE, "tests/live/fixtures", name + ".ml"), WORK)
    subprocess.run(["ocamlfind", "ocamlopt", "-w", "-a", "-g", "-thread", "-package", packages,
                    "-linkpkg", name + ".ml", "-o", name], cwd=WORK, check=True)
    return os.path.join(WORK, name)


def wait_ready(process):
    line = process.stdout.readline()
    check(line.startswith("READY"), f"the target said {line!r}")


class Busy:
    """A running faults_busy."""
    count = 0

    def __init__(self, program, threads, blocks, *more):
        Busy.count += 1
        self.file = os.path.join(WORK, f"beat{Busy.count}")
        self.threads = threads
        self.process = subprocess.Popen([program, self.file, str(threads), str(blocks),
                                         *map(str, more)], stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        atexit.register(self.process.kill) # one that a failure leaves would hold the test's output
        wait_ready(self.process)
        with open(self.file, "rb") as file:
            self.map = mmap.mmap(file.fileno(), 8 * threads, prot=mmap.PROT_READ)

    def counters(self):
        return struct.unpack(f"{self.threads}q", self.map[:])

    def check_goes_on(self, what):
        before = self.counters()
        waiting = set(range(self.threads))
        until = time.monotonic() + 30
        while waiting:
            now = self.counters()
            waiting = {i for i in waiting if now[i] == before[i]}
            check(self.process.poll() is None,
                  f"{what}: the target ended: {self.process.returncode}")
            check(time.monotonic() < until,
                  f"{what}: threads {waiting} stand still: {states(self.pid)}")
            time.sleep(0.002)
        for tid, state, tracer in states(self.pid):
            check(state not in "Tt" and tracer == 0,
                  f"{what}: thread {tid} is in state {state}, traced by {tracer}")

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.map.close()
        os.unlink(self.file)


def states(pid):
    """(tid, state, tracer) of each thread."""
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/status"):
        try:
            text = open(path, encoding="ascii", errors="replace").read()
            lines = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
        except (OSError, ValueError):
            continue
        found.append((int(lines["Pid"]), lines["State"].split()[0], int(lines["TracerPid"])))
    return found


def tracer_of(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith("TracerPid:"):
                    return int(line.split()[1])
    except OSError:
        pass
    return 0


class Dump:
    """A running dump to `name` in a directory of its own."""

    def __init__(self, pid, *more):
        self.directory = os.path.join(WORK, "out")
        shutil.rmtree(self.directory, ignore_errors=True)
        os.mkdir(self.directory)
        self.path = os.path.join(self.directory, "heap.snap")
        self.pid = pid
        self.process = subprocess.Popen([HEAPSNAP, "dump", str(pid), "-o", self.path, "--no-names",
                                         *more], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        text=True, errors="backslashreplace")

    def wait_until_stopping(self):
        """Until the target is seized, or the dump has ended."""
        while self.process.poll() is None and tracer_of(self.pid) == 0:
            pass

    def finish(self, what):
        try:
            _, self.said = self.process.communicate(timeout=LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise Failure(f"{what}: the dump hangs")
        self.code = self.process.returncode
        return self.code

    def left(self):
        return sorted(os.listdir(self.directory))

    def check_result(self, what, codes):
        """One of `codes`; the whole snapshot with 0, otherwise nothing at all and a message."""
        check(self.code in codes, f"{what}: exit {self.code}: {self.said}")
        if self.code == 0:
            check(self.left() == ["heap.snap"], f"{what}: exit 0 leaves {self.left()}")
            check_snapshot(self.path, what)
        else:
            check(self.left() == [], f"{what}: exit {self.code} leaves {self.left()}")
        if self.code > 0:
            check(self.said.startswith("heapsnap: cannot "), f"{what}: said {self.said!r}")


def check_snapshot(path, what):
    done = subprocess.run([HEAPSNAP, "check", path], capture_output=True, timeout=120, check=False)
    check(done.returncode == 0, f"{what}: check says {done.stderr.decode(errors='replace')}")


def main(*tests):
    print(f"seed {SEED}")
    try:
        for test in tests:
            print(f"{test.__name__}: {test()}", flush=True)
    except Failure as failure:
        print(f"FAILED: {failure} (HS_FAULTS_SEED={SEED})")
        sys.exit(1)
