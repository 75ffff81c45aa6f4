#!/usr/bin/env bash
# The reader of debug information gives up its rights, or reads nothing and says so.
. "$(dirname "$0")/lib.sh"
[ -x "$BUILD_DIR/bin/heapsnap-dwarf" ] || skip "no reader in this build"
[ "$(uname -m)" = x86_64 ] || skip "the filter is for x86-64"
command -v cc >/dev/null || skip "no compiler"
cd "$work"

# deny WHAT PROGRAM...: runs it where a system call fails, as in a container that forbids it.
cat >deny.c <<'C'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define UNLESS(value, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, n)
#define FAIL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
int main(int argc, char **argv)
{
    struct sock_filter seccomp[] = {LOAD(nr), UNLESS(SYS_prctl, 3), LOAD(args[0]),
                                    UNLESS(PR_SET_SECCOMP, 1), FAIL, ALLOW};
    struct sock_filter capset[] = {LOAD(nr), UNLESS(SYS_capset, 1), FAIL, ALLOW};
    struct sock_filter user[] = {LOAD(nr), UNLESS(SYS_setresuid, 1), FAIL, ALLOW};
    struct sock_fprog program = {sizeof seccomp / sizeof *seccomp, seccomp};
    if (strcmp(argv[1], "capset") == 0)
        program = (struct sock_fprog){sizeof capset / sizeof *capset, capset};
    if (strcmp(argv[1], "user") == 0)
        program = (struct sock_fprog){sizeof user / sizeof *user, user};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (argc < 3 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return 99;
    execv(argv[2], argv + 2);
    return 98;
}
C
cc -w -o deny deny.c || fail "building"
./deny capset /bin/true || skip "no filter of system calls can be set here"
sleep 600 &
target=$!
started+=("$target")

heapsnap doctor "$target"
grep -q "their reader is a process confined: .*without capabilities, with few system calls" out ||
    skip "this process is not read here: $(cat out err)"
[ "$(id -u)" != 0 ] || grep -q "confined: as nobody" out || fail "not as nobody: $(grep unwind out)"

for what in seccomp capset; do
    code=0
    ./deny "$what" "$HEAPSNAP" doctor "$target" >out 2>err || code=$?
    tr -s ' \n' ' ' <out >joined
    grep -q "could not give up its rights ($what: Operation not permitted)" joined ||
        fail "$what: not said: $(cat out)"
    code=0
    ./deny "$what" "$HEAPSNAP" dump "$target" -o "$what.snap" >out 2>err || code=$?
    [ "$code" -eq 0 ] || fail "$what: dump: exit $code: $(cat err)"
    exits 0 info "$what.snap"
    tr -s ' \n' ' ' <out | grep -q "could not give up its rights" || fail "$what: $(cat out)"
done
if [ "$(id -u)" = 0 ]; then # as root of a container: no other user, and no rights either
    ./deny user "$HEAPSNAP" doctor "$target" >out 2>err || true
    grep -q "confined: without capabilities, with few system calls, under limits" out ||
        fail "user: $(grep unwind out)"
fi

# --- what the kernel says of it ---
python "$BUILD_DIR/bin/heapsnap-dwarf" <<'PYTHON'
import socket, subprocess, sys, time
ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
box = subprocess.Popen([sys.argv[1], str(1 << 30)], stdin=its)
its.close()
for _ in range(100):
    facts = dict(line.rstrip("\n").split(":\t", 1) for line in open("/proc/%d/status" % box.pid))
    if facts["Seccomp"] == "2":
        break
    time.sleep(0.05)
assert facts["Seccomp"] == "2" and facts["NoNewPrivs"] == "1", facts
assert int(facts["CapEff"], 16) == 0 and int(facts["CapPrm"], 16) == 0, facts
ours.close()
box.wait(60)
PYTHON
