# doctor: what it says in each format, and its exit codes. Who may be looked at: live.where_*.
. "$(dirname "$0")/lib.sh"

python <<'END'
import os, subprocess, time
from snapcli import *

NAMES = ["process", "zombie", "kernel_thread", "ourselves", "traced", "user", "yama", "capability",
         "dumpable", "security_module", "seccomp", "pid_namespace", "machine", "runtime",
         "allocator", "stop", "memory", "disk", "binaries", "debug_info", "unwind"]
VERDICTS = {"ok", "warning", "refused", "unknown"}

target = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
for _ in range(1000):
    if open(f"/proc/{target.pid}/comm").read() == "sleep\n":
        break
    time.sleep(0.01)

done = run("doctor", target.pid, "--json")
document = done.json()
equal(document["schema"], "heapsnap.doctor/1", "schema")
equal(document["pid"], target.pid, "pid")
equal(document["can_dump"], True, "can_dump")
equal([check_["name"] for check_ in document["checks"]], NAMES, "checks")
equal(done.err, "", "talk")
for check_ in document["checks"]:
    equal(list(check_), ["name", "verdict", "found", "hint"], "keys")
    check(check_["verdict"] in VERDICTS, check_)
    check(check_["found"], check_)
    check(check_["hint"] or check_["hint"] is None, check_)

# What has happened to a process while we look is no matter of these: state, memory.
def steady(text):
    return [line for line in text.splitlines() if not any(
        word in line for word in ("zombie", "memory", "stop", "disk"))]

rows = run("doctor", target.pid, "--format", "ndjson").lines()
equal([json.loads(row)["name"] for row in rows], NAMES, "ndjson")
rows = run("doctor", target.pid, "--format", "tsv").lines()
equal(rows[0], "name\tverdict\tfound\thint", "tsv")
equal([row.split("\t")[0] for row in rows[1:]], NAMES, "tsv")
table = run("doctor", target.pid)
check(table.lines()[0].split() == ["CHECK", "VERDICT", "FOUND"], table.lines()[0])
equal(steady(table.out), steady(run("doctor", target.pid).out), "twice the same")
for check_ in document["checks"]:
    if check_["name"] not in ("zombie", "memory", "stop", "disk"):
        check(check_["found"] in table.out, f"{check_} is not in the table")

# A dump of what it says can be dumped, with the same options.
run("dump", target.pid, "-o", os.path.join(WORK, "heap.snap"))
small = run("doctor", target.pid, "--memory", "16MiB", "--json", code=3).json()
equal(small["can_dump"], False, "with too little memory")
equal([c["verdict"] for c in small["checks"] if c["name"] == "memory"], ["refused"], "memory")
run("dump", target.pid, "--memory", "16MiB", "-o", os.path.join(WORK, "never.snap"), code=6)

target.kill()
target.wait()
gone = run("doctor", target.pid, "--json", code=3)
equal(gone.json()["can_dump"], False, "of none")
equal([c["name"] for c in gone.json()["checks"]], ["process"], "checks of none")
check(gone.err.startswith(f"heapsnap: cannot dump process '{target.pid}': no such process\nhint: "),
      gone.err)
check("refused" in run("doctor", target.pid, code=3).out, "the table of none")
equal(run("dump", target.pid, "-o", os.path.join(WORK, "never.snap"), code=3).err, gone.err,
      "dump and doctor say the same")
END

for bad in 0 -1 abc 12x 99999999999999999999 ''; do
    exits 2 doctor -- "$bad"
    says "'$bad' is not a process id"
done
exits 2 doctor
says "'doctor' needs PID"
if [ -e /dev/full ]; then
    code=0
    "$HEAPSNAP" doctor $$ >/dev/full 2>"$work/err" || code=$?
    [ "$code" -eq 5 ] || fail "a full disk: exit $code"
fi
