# parts: record
# record under a storm of kills: the program at any moment, its children, both while they fork as
# fast as they can. The recorder ends with the program's status, and every file that is left can be
# read, or says why not. HS_STORM=N for N times as many.
. "$(dirname "$0")/lib.sh"
[ -e "$BUILD_DIR/bin/libheapsnap-record.so" ] || skip "no recorder in this build"
case $SANITIZED in *thread*) skip "the program's threads are not ours to judge" ;; esac
command -v cc >/dev/null || skip "no compiler"

cat >"$work/storm.c" <<'C'
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void *kept[512];
static void work(int n)
{
    for (int i = 0; i < n; i++) {
        free(kept[i % 512]);
        kept[i % 512] = malloc(3000);
        if (kept[i % 512] != 0)
            memset(kept[i % 512], 1, 3000);
    }
}
int main(void)
{
    if (write(1, "!", 1) != 1)
        return 1;
    for (;;) {
        work(2000);
        pid_t child = fork();
        if (child == 0) {
            work(500);
            pid_t grandchild = fork();
            if (grandchild == 0) {
                work(200);
                _exit(0);
            }
            work(500);
            waitpid(grandchild, 0, 0);
            _exit(0);
        }
        while (waitpid(-1, 0, child % 4 == 0 ? 0 : WNOHANG) > 0)
            ;
    }
}
C
cc -O1 -g -o "$work/storm" "$work/storm.c" || fail "building"

python <<'END'
import glob, random, signal, time

from snapcli import *

HEAPSNAP = os.environ["HEAPSNAP"]
seed = int(os.environ.get("HS_FAULTS_SEED", random.randrange(1 << 16)))
chance = random.Random(seed)
N_TURNS = 6 * int(os.environ.get("HS_STORM", "1"))
n_files = n_cut = n_killed = 0


def children(pid):
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            with open(path) as file:
                found += [int(word) for word in file.read().split()]
        except OSError:
            pass
    return found


def kill(pid):
    """Only what this test began: below its recorder."""
    try:
        os.kill(pid, signal.SIGKILL)
        return 1
    except ProcessLookupError:
        return 0


def readable(path):
    global n_files, n_cut
    n_files += 1
    done = subprocess.run([HEAPSNAP, "trace", "dump", path], capture_output=True, text=True)
    said = done.stderr.strip()
    if done.returncode == 4 and ("cut before its first event" in said or "is empty" in said):
        n_cut += 1
        return
    check(done.returncode == 0, f"seed {seed}: {path}: exit {done.returncode}: {said}")


def turn(number, more, kills_children):
    global n_killed
    place = os.path.join(WORK, f"turn{number}")
    os.mkdir(place)
    recorder = subprocess.Popen([HEAPSNAP, "record", "--rate", "16KiB", *more, "-o",
                                 os.path.join(place, "storm.trace"), "--",
                                 os.path.join(WORK, "storm")],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if number % 3 != 0: # else it may not have begun
        check(recorder.stdout.read(1) == b"!", f"seed {seed}: the program did not begin")
    program, until = None, time.monotonic() + 60
    while not program and time.monotonic() < until and recorder.poll() is None:
        program = next(iter(children(recorder.pid)), None)
    check(program, f"seed {seed}: no program: {recorder.poll()}")
    until = time.monotonic() + chance.random() * 0.5
    while kills_children and time.monotonic() < until:
        for child in children(program):
            n_killed += kill(chance.choice(children(child) or [child]))
    time.sleep(max(0, until - time.monotonic()))
    check(recorder.poll() is None, f"seed {seed}: the recorder ended before the program")
    n_killed += kill(program)
    err = recorder.communicate(timeout=120)[1].decode()
    check(recorder.returncode in (137, -signal.SIGKILL),
          f"seed {seed}: exit {recorder.returncode}: {err}")
    files = glob.glob(os.path.join(place, "*"))
    check(files or number % 3 == 0, f"seed {seed}: no file: {err}")
    for path in files:
        readable(path)


for number in range(N_TURNS):
    turn(number, ["--children"] if number % 2 else [], kills_children=number % 3 != 1)
check(n_cut < n_files, "no file has an event")
print(f"seed {seed}: {n_killed} killed in {N_TURNS} turns: {n_files} files,",
      f"{n_cut} cut before their first event")
END
