# The unused part of a large minor heap is resident in the target but not copied.
. "$(dirname "$0")/_faults.sh"

python <<'END'
from faults_lib import *
import json

program = compile_ocaml("faults_minor", "unix")
WORD = 8
MINOR_WORDS = 32 << 20 # 256 MiB


def measured(pid, path):
    """Peak resident bytes of a dump."""
    process = subprocess.Popen([HEAPSNAP, "dump", str(pid), "-o", path, "--no-names"],
                               stderr=subprocess.PIPE)
    said = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    check(process.returncode == 0, f"exit {process.returncode}: {said}")
    return usage.ru_maxrss * 1024


def dump_of(minor_words, blocks):
    target = subprocess.Popen([program, str(blocks)], stdin=subprocess.PIPE, text=True,
                              stdout=subprocess.PIPE,
                              env={**os.environ, "OCAMLRUNPARAM": f"s={minor_words}"})
    wait_ready(target)
    path = os.path.join(WORK, "minor.snap")
    resident = int(open(f"/proc/{target.pid}/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    peak = measured(target.pid, path)
    check_snapshot(path, "minor")
    info = json.loads(subprocess.run([HEAPSNAP, "info", path, "--json"], capture_output=True,
                                     check=True).stdout)
    target.communicate("\n", timeout=60)
    check(target.returncode == 0, f"the target ended with {target.returncode}")
    return resident, peak, info["read_bytes"], info["words"] * WORD


def dead_minor_heap():
    _, idle, _, _ = dump_of(32768, 10)
    resident, peak, read, live = dump_of(MINOR_WORDS, 600000)
    check(resident > MINOR_WORDS * WORD, f"the target's minor heap is not resident: {resident}")
    factor = 6 if IS_SANITISED else 3
    check(peak - idle < factor * live + (8 << 20),
          f"peak {peak}, of an empty program {idle}, live heap {live}")
    check(read < 2 * live + (16 << 20), f"read {read} bytes, live heap {live}")
    check(peak < resident or IS_SANITISED, f"peak {peak} of a target of {resident}")
    return (f"live {live >> 10} KiB, target {resident >> 10} KiB: read {read >> 10} KiB, "
            f"peak {peak >> 10} KiB (empty program {idle >> 10} KiB)")


main(dead_minor_heap)
END
