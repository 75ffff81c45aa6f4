#!/usr/bin/env bash
# A core on a disk that fails: each read of it in turn gives EIO, is interrupted or cut short. What
# can be tried again is; what is lost is said, and never passes for zeros without a word.
. "$(dirname "$0")/_native.sh"
need gcore
export HEAPSNAP work IO_FAULTS=$BUILD_DIR/bin/io_faults.so
[ -e "$IO_FAULTS" ] || fail "no $IO_FAULTS"

cat >"$work/p.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
void **head;
int main(void)
{
    for (int i = 0; i < 2000; i++) {
        void **node = malloc(40);
        *node = head;
        head = node;
    }
    puts("ready");
    fflush(stdout);
    return pause();
}
END
cc -g "$work/p.c" -o "$work/p" || skip "no compiler"

python3 -B - <<'END'
import os, subprocess, sys

HEAPSNAP, WORK = os.environ["HEAPSNAP"], os.environ["work"]
CORE, OUT = os.path.join(WORK, "faulty"), os.path.join(WORK, "out.snap")
with subprocess.Popen([os.path.join(WORK, "p")], stdout=subprocess.PIPE) as target:
    target.stdout.readline()
    subprocess.run(["gcore", "-o", CORE, str(target.pid)], capture_output=True, check=False)
    CORE += f".{target.pid}"
    target.kill()
if not os.path.exists(CORE):
    print("gcore makes no core here")
    sys.exit(77)


def dump(fault):
    count = os.path.join(WORK, "count")
    env = {**os.environ, "IO_FAULT": fault, "IO_FAULT_COUNT": count, "IO_FAULT_MARK": "/faulty.",
           "LD_PRELOAD": os.environ["IO_FAULTS"]}
    run = subprocess.run([HEAPSNAP, "dump", "--core", CORE, "-o", OUT], env=env,
                         capture_output=True, text=True, timeout=100, check=False)
    with open(count, encoding="ascii") as file:
        n = max(int(line) for line in file)
    os.unlink(count)
    return run.returncode, run.stderr, n


code, honest, n_reads = dump("read:0:eio")
if code != 0 or n_reads < 10:
    sys.exit(f"FAILED: without a fault: {code}, {n_reads} reads: {honest}")
n_said = 0
for number in range(1, n_reads + 1, n_reads // 20 + 1):
    for kind in ("eintr", "short"):
        code, text, _ = dump(f"read:{number}:{kind}")
        if (code, text) != (0, honest):
            sys.exit(f"FAILED: {kind} of read {number}: {code}: {text}")
    code, text, _ = dump(f"read:{number}:eio+")
    said = "cannot be read" in text or code in (3, 4, 5)
    if not said and "2000 blocks" not in text and "2001 blocks" not in text:
        sys.exit(f"FAILED: eio from read {number} on: {code}: {text}")
    n_said += "the core cannot be read in places" in text
if n_said == 0:
    sys.exit("FAILED: no lost memory was ever told of")
END
