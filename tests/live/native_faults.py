"""Native programs in bad situations: what native_*.sh tests in Python share, on top of faults_lib.

A target says what it knows in lines of words, then READY, and ends well when its standard input
does. A dump of it ends soon, takes little memory, and leaves the target as it was."""
import json
import threading

from faults_lib import *

FIXTURES = os.path.join(SOURCE, "tests/live/fixtures")
MEMORY_KIB = (4 if IS_SANITISED else 1) << 20
SNAP = os.path.join(WORK, "heap.snap")


def compile_c(source, name, *flags, compiler="gcc"):
    """The program WORK/name of a fixture, or of a file with a path."""
    if not shutil.which(compiler):
        skip(f"no {compiler}")
    path = os.path.join(WORK, name)
    subprocess.run([compiler, "-o", path, os.path.join(FIXTURES, source), *flags], check=True)
    return path


class Target:
    def __init__(self, *command, env=None, **more):
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, errors="replace",
                                        env={**os.environ, **(env or {})}, **more)
        self.pid = self.process.pid
        self.said = []
        for line in self.process.stdout:
            if line.startswith("READY"):
                return
            self.said.append(line.split())
        raise Failure(f"{command[0]} ended before it was ready: {self.process.wait()}")

    def lines(self, word):
        """What it said in lines that begin so."""
        return [line[1:] for line in self.said if line and line[0] == word]

    def check_lives(self, what):
        check(self.process.poll() is None, f"{what}: the target ended: {self.process.returncode}")
        for tid, state, tracer in states(self.pid):
            check(state not in "Tt" and tracer == 0,
                  f"{what}: thread {tid} is in state {state}, traced by {tracer}")

    def ask(self, line):
        """Gives it a line and waits until it has answered READY again."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        check(answer.startswith("READY"), f"the target answered {answer!r}")

    def end(self):
        self.process.stdin.close()
        code = self.process.wait(timeout=60)
        self.process.stdout.close()
        check(code == 0, f"the target ended with {code}")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def dump(target, what, *options, codes=(0,), seconds=LIMIT_SECONDS, kib=MEMORY_KIB):
    """Into SNAP: exit code and what was said. All limits are checked, and the file."""
    if os.path.exists(SNAP):
        os.unlink(SNAP)
    process = subprocess.Popen([HEAPSNAP, "dump", str(target.pid), "-o", SNAP, *options],
                               stderr=subprocess.PIPE)
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    said = process.stderr.read().decode(errors="backslashreplace")
    _, status, usage = os.wait4(process.pid, 0)
    in_time = timer.is_alive()
    timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    check(in_time, f"{what}: more than {seconds} s")
    check(process.returncode in codes, f"{what}: exit {process.returncode}: {said}")
    check(usage.ru_maxrss < kib, f"{what}: {usage.ru_maxrss} KiB")
    if process.returncode == 0:
        check_snapshot(SNAP, what)
    else:
        check(said.startswith("heapsnap: cannot "), f"{what}: said {said!r}")
        check(not os.path.exists(SNAP), f"{what}: exit {process.returncode} leaves a file")
    return process.returncode, said


def look(command, *options):
    rows = [] if command == "info" else ["-n", "0"]
    done = subprocess.run([HEAPSNAP, command, SNAP, "--json", *rows, *options], timeout=120,
                          capture_output=True, check=False)
    check(done.returncode == 0, f"{command}: {done.stderr.decode(errors='replace')}")
    return json.loads(done.stdout)


def gaps(info):
    return [note["text"] for note in info["notes"] if note["gap"]]


def certain_leaks(words):
    """How many blocks of so many words are certain leaks."""
    return sum(group["count"] for group in look("leaks")["groups"]
               if group["words_each"] == words and group["certainty"] == "certain")


def check_proofs(info, what):
    """All hold, or a note says that something is inexact."""
    broken = [proof for proof in info["proofs"] if not proof["holds"]]
    check(not broken or gaps(info), f"{what}: {broken} and no word about it")
    return len(broken)
