"""What the watch_*.sh tests share: a watch at work on a small busy program, its log, its files.

Nothing here waits for a time to pass: it polls for what must come, with a limit that only a hang
reaches."""
import atexit
import re
import shlex

from faults_lib import *

NAME = re.compile(r"heap-\d{8}T\d{6}Z-(\d{6,12})\.snap")
PATIENCE_SECONDS = 120


def compile_c(name):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        skip("no C compiler")
    program = os.path.join(WORK, name)
    source = os.path.join(SOURCE, "tests/live/fixtures", name + ".c")
    subprocess.run([compiler, "-O1", "-g", "-pthread", source, "-o", program], check=True)
    return program


def until(condition, what):
    """Polls; the first answer that is true."""
    limit = time.monotonic() + PATIENCE_SECONDS
    while True:
        answer = condition()
        if answer:
            return answer
        check(time.monotonic() < limit, f"{what}: it does not come")
        time.sleep(0.01)


def parse_line(line):
    """time=... event=... key="quoted value": as a shell would split it."""
    return dict(word.split("=", 1) for word in shlex.split(line))


class Watch:
    """A running watch. Its log is read from the file, and what it says apart from it."""

    def __init__(self, pid, directory, *more, program=None, **popen):
        self.directory = directory
        self.said = os.path.join(WORK, "said")
        with open(self.said, "w", encoding="ascii") as said:
            self.process = subprocess.Popen(
                [program or HEAPSNAP, "watch", str(pid), "-o", directory, "--no-names", *more],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said, **popen)
        self.pid = self.process.pid
        atexit.register(self.process.kill) # a test that fails leaves nobody behind

    def talk(self):
        with open(self.said, encoding="utf-8", errors="backslashreplace") as said:
            return said.read()

    def files(self):
        """number -> name"""
        try:
            names = os.listdir(self.directory)
        except FileNotFoundError:
            return {}
        return {int(NAME.fullmatch(name)[1]): name for name in names if NAME.fullmatch(name)}

    def log(self, event=None):
        """The lines of the log, the one that was moved away included."""
        found = []
        for name in ("watch.log.1", "watch.log"):
            try:
                with open(os.path.join(self.directory, name), encoding="utf-8") as log:
                    lines = log.read().split("\n")
            except FileNotFoundError:
                continue
            found += [parse_line(line) for line in lines[:-1]] # the last may be in the making
        return [line for line in found if event in (None, line["event"])]

    def wait_log(self, event, n, what):
        """The first n lines of one kind."""
        def enough():
            lines = self.log(event)
            if len(lines) < n and self.process.poll() is not None:
                raise Failure(f"{what}: the watch ended with {self.process.returncode}: "
                              f"{self.talk()}")
            return len(lines) >= n and lines
        return until(enough, what)

    def dump_pid(self):
        """The process of the dump that is at work, or None."""
        path = f"/proc/{self.pid}/task/{self.pid}/children"
        try:
            with open(path, encoding="ascii") as children:
                pids = children.read().split()
        except OSError:
            return None
        return int(pids[0]) if pids else None

    def finish(self, what, code=0):
        try:
            self.process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Failure(f"{what}: the watch hangs")
        check(self.process.returncode == code,
              f"{what}: exit {self.process.returncode}: {self.talk()}")
        return self.talk()

    def stop(self, what, number=signal.SIGTERM):
        self.process.send_signal(number)
        said = self.finish(what)
        end = self.log("end")[-1]
        check(end["why"] == signal.Signals(number).name, f"{what}: the log ends with {end}")
        self.check_no_half(what)
        return said

    def check_no_half(self, what):
        half = [name for name in os.listdir(self.directory) if name.startswith(".")]
        check(not half, f"{what}: left {half}")

    def check_sound(self, what):
        for name in self.files().values():
            check_snapshot(os.path.join(self.directory, name), f"{what}: {name}")


def new_directory(name):
    directory = os.path.join(WORK, name)
    shutil.rmtree(directory, ignore_errors=True)
    return directory


def state_of(directory):
    import json
    with open(os.path.join(directory, "watch.json"), encoding="ascii") as file:
        return json.load(file)
