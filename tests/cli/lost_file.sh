# parts: export
# A snapshot that is cut short while it is read: a message and exit 5, no death by signal, and no
# half of an answer under the name that was asked for.
. "$(dirname "$0")/lib.sh"

python <<'END'
import signal
from snapcli import *

snap = a_snap()
rng = random.Random(1) # what does not compress takes pages that are not read at once
for at in range(100000):
    snap.edge(snap.block(rng.randint(2, 100)), rng.randint(0, at))
path = snap.write()
size = os.path.getsize(path)
check(size > 200000, f"a snapshot of {size} bytes only")
MESSAGE = "heapsnap: cannot read on: a file was cut short meanwhile"


def stalled(*arguments):
    """heapsnap, waiting for somebody to read more of its output."""
    process = subprocess.Popen([HEAPSNAP, *arguments], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    check(process.stdout.read(10) != b"", "no output")
    return process


def cut_while_read():
    process = stalled("export", path, "--to", "v8", "-o", "-")
    os.truncate(path, 4096)
    out, err = process.communicate(timeout=100)
    equal(process.returncode, 5, f"exit code after {len(out)} bytes: {err.decode()}")
    check(MESSAGE in err.decode().splitlines(), err.decode())
    check("hint: " in err.decode(), err.decode())
    snap.write()
    equal(os.path.getsize(path), size, "the same snapshot again")


def other_bus_errors_are_none_of_it():
    process = stalled("export", path, "--to", "v8", "-o", "-")
    process.send_signal(signal.SIGBUS)
    _, err = process.communicate(timeout=100)
    equal(process.returncode, -signal.SIGBUS, "exit code")
    equal(err.decode(), "", "talk")


main(cut_while_read, other_bus_errors_are_none_of_it)
END
