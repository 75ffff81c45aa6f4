# Processes that cannot be dumped: each its own message and hint, exit 3, nothing written, and the
# process goes on.
. "$(dirname "$0")/lib.sh"

python <<'END'
import ctypes, re, shutil, struct, threading, time
from snapcli import *

SNAP = os.path.join(WORK, "never.snap")
libc = ctypes.CDLL(None, use_errno=True)
PTRACE_SEIZE = 0x4206
NOBODY = 65534
left_out = []


def leave_out(what):
    left_out.append(what)


def started(*arguments, **more):
    return subprocess.Popen([str(a) for a in arguments], stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, **more)


def state_of(pid):
    return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0]


def wait_for(pid, name):
    """Until the process has executed what it is to be."""
    for _ in range(500):
        try:
            if name in open(f"/proc/{pid}/comm").read():
                return
        except OSError:
            pass
        time.sleep(0.01)
    raise Failure(f"process {pid} never became {name}")


def refused(pid, message, hint="", prefix=(), alive=True):
    words = [*prefix, HEAPSNAP, "dump", str(pid), "-o", SNAP]
    done = subprocess.run(words, capture_output=True, timeout=60)
    err = done.stderr.decode()
    equal(done.returncode, 3, f"exit code for '{message}' ({err})")
    lines = err.splitlines()
    check(lines[0].startswith("heapsnap: cannot dump process '"), err)
    check(err.count("cannot dump") == 1, f"said twice: {err}")
    check(message in lines[0], f"no '{message}' in: {lines[0]}")
    check(len(lines) == 2 and lines[1].startswith("hint: "), f"no hint: {err}")
    check(hint in lines[1], f"no '{hint}' in: {lines[1]}")
    check(not os.path.exists(SNAP), "a file was left")
    equal([n for n in os.listdir(WORK) if n.startswith(".never")], [], "neighbours")
    if alive:
        check(state_of(pid) in "RSDt", f"the target is in state {state_of(pid)} after the refusal")


def no_such_process():
    gone = started("true")
    gone.wait()
    refused(gone.pid, f"{gone.pid}': no such process", alive=False)
    refused(2147483647, "no such process", alive=False)


def zombie():
    dead = started("true")
    for _ in range(500):
        if state_of(dead.pid) == "Z":
            break
        time.sleep(0.01)
    refused(dead.pid, "it is a zombie", str(os.getpid()), alive=False)
    dead.wait()


def kernel_thread():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            flags = int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[6])
        except OSError:
            continue
        if flags & 0x200000:
            refused(pid, "it is a kernel thread", alive=False)
            return
    leave_out("kernel thread: none is visible here")


def already_traced():
    target = started("sleep", "60")
    wait_for(target.pid, "sleep")
    if libc.ptrace(PTRACE_SEIZE, target.pid, None, None) != 0:
        target.kill()
        raise Failure(f"ptrace: {os.strerror(ctypes.get_errno())}")
    try:
        refused(target.pid, "it is already traced by 'python3", "detach")
        refused(target.pid, f"(pid {os.getpid()})")
    finally:
        target.kill()
        target.wait()


def a_thread():
    thread = threading.Thread(target=time.sleep, args=(5,), daemon=True)
    thread.start()
    done = subprocess.run([HEAPSNAP, "doctor", str(thread.native_id)], capture_output=True,
                          timeout=60, check=False)
    equal(done.returncode, 0, f"doctor of a thread: {done.stderr}")
    check(f"{thread.native_id} is a thread: its process is {os.getpid()}" in done.stderr.decode(),
          f"doctor of a thread said {done.stderr}")


def as_nobody():
    if os.getuid() != 0 or not shutil.which("setpriv"):
        return None
    # A build that counts coverage writes its counts at the end: let it write where nobody may.
    prefix = ["env", f"GCOV_PREFIX={WORK}", "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}",
              "--clear-groups"]
    os.chmod(WORK, 0o777)
    if subprocess.run([*prefix, "test", "-x", HEAPSNAP], check=False).returncode != 0:
        return None
    return prefix


def no_permission():
    prefix = as_nobody()
    if prefix is None:
        leave_out("other users: needs root, setpriv, and a heapsnap that nobody may run")
        return
    target = started("sleep", "60")
    wait_for(target.pid, "sleep")
    refused(target.pid, "it belongs to user 0 and you are user 65534", "root", prefix)
    target.kill()
    target.wait()

    # Of the same user, but it said that nobody may look.
    code = ("import ctypes, sys; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); print(flush=True); "
            "sys.stdin.read()") # PR_SET_DUMPABLE
    target = subprocess.Popen([*prefix, sys.executable, "-c", code], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    target.stdout.readline()
    refused(target.pid, "PR_SET_DUMPABLE", "root", prefix)
    target.kill()
    target.wait()

    setting = "/proc/sys/kernel/yama/ptrace_scope"
    scope = open(setting).read().strip() if os.path.exists(setting) else "0"
    if scope == "0":
        leave_out("kernel.yama.ptrace_scope: it is 0 or absent here")
        return
    target = started(*prefix, "sleep", "60")
    wait_for(target.pid, "sleep")
    refused(target.pid, f"kernel.yama.ptrace_scope is {scope}", "", prefix)
    target.kill()
    target.wait()


def thirty_two_bits():
    code = bytes([0xB8, 29, 0, 0, 0, 0xCD, 0x80, 0xEB, 0xF7]) # pause, again and again
    base, at = 0x08048000, 52 + 32
    header = struct.pack("<16sHHIIIIIHHHHHH", b"\x7fELF\x01\x01\x01" + bytes(9), 2, 3, 1,
                         base + at, 52, 0, 0, 52, 32, 1, 40, 0, 0)
    segment = struct.pack("<8I", 1, 0, base, base, at + len(code), at + len(code), 5, 0x1000)
    path = os.path.join(WORK, "small32")
    with open(path, "wb") as file:
        file.write(header + segment + code)
    os.chmod(path, 0o755)
    try:
        target = started(path)
        time.sleep(0.05)
    except OSError as why:
        leave_out(f"32-bit target: this kernel does not run one ({why})")
        return
    if target.poll() is not None:
        leave_out("32-bit target: this kernel does not run one")
        return
    refused(target.pid, "it is a 32-bit program", "x86-64")
    target.kill()
    target.wait()


# Without the part that reads such heaps: which part that is.
def refused_ocaml(pid, message, hint):
    if has_part("ocaml"):
        refused(pid, message, hint)
    else:
        refused(pid, "is an OCaml program, and this heapsnap was built without the part ocaml",
                "build it with -DHS_WITH_OCAML=ON")
        doctor = json.loads(run("doctor", str(pid), "--json", code=3).out)
        said = [one for one in doctor["checks"] if one["verdict"] == "refused"]
        check(len(said) == 1 and "the part ocaml" in said[0]["found"], f"doctor: {said}")


def dumped(pid, *more):
    words = [HEAPSNAP, "dump", str(pid), "-o", SNAP, *more]
    done = subprocess.run(words, capture_output=True, timeout=60)
    equal(done.returncode, 0, f"exit code ({done.stderr.decode()})")
    check(state_of(pid) in "RSDt", f"the target is in state {state_of(pid)} after the dump")
    run("check", SNAP)
    info = json.loads(run("info", SNAP, "--json").out)
    os.unlink(SNAP)
    equal(any("without the part python" in note["text"] for note in info["notes"]),
          pid == os.getpid() and not has_part("python"), "what is said of a part that is missing")
    return [runtime["name"] for runtime in info["runtimes"]]


def without_ocaml():
    target = started("sleep", "60")
    wait_for(target.pid, "sleep")
    check("glibc" in dumped(target.pid), "sleep has a heap of glibc")
    check("glibc" in dumped(target.pid, "--no-names"), "likewise without names")
    check("glibc" in dumped(target.pid, "--debug-path", "/nonexistent", "--pointer-mask", "0x7"),
          "likewise with options")
    done = subprocess.run([HEAPSNAP, "dump", str(target.pid), "-o", SNAP, "--pointer-mask", "7"],
                          capture_output=True, timeout=60)
    equal(done.returncode, 2, "a mask that is none")
    check(b"--pointer-mask: '7' is not a mask of bits" in done.stderr, done.stderr.decode())
    target.kill()
    target.wait()
    check("cpython" in dumped(os.getpid()), "a Python interpreter has pools of CPython")


# Only the loader and we: no library, no heap.
def without_heap():
    if not shutil.which("gcc"):
        leave_out("a program without a heap: no gcc to make one")
        return
    source = os.path.join(WORK, "bare.c")
    with open(source, "w") as file:
        file.write("void _start(void) { for (;;) __asm__ volatile(\"syscall\" :: \"a\"(34L) : "
                   "\"rcx\", \"r11\", \"memory\"); }\n")
    more = source.replace("bare", "more")
    with open(more, "w") as file:
        file.write("static volatile char own[16 << 20];\n"
                   "void _start(void) { for (int i = 0; i < sizeof own; i += 4096) own[i] = 1;"
                   "for (;;) __asm__ volatile(\"syscall\" :: \"a\"(34L) : "
                   "\"rcx\", \"r11\", \"memory\"); }\n")
    for name, why in [("bare", "it has not allocated anything yet"),
                      ("more", "it has 16.0 MiB of memory, from an allocator of its own")]:
        path = os.path.join(WORK, name)
        subprocess.run(["gcc", "-nostdlib", "-static", "-o", path, path + ".c"], check=True)
        target = started(path)
        wait_for(target.pid, name)
        time.sleep(0.2)
        refused(target.pid, f"no heap block was found in '{name}'", why)
        target.kill()
        target.wait()


def another_allocator():
    """One that is known by the name of its library, and not read: its blocks have no headers, and
    libc's own malloc is never called."""
    library = os.path.join(WORK, "libhoard.so")
    source = os.path.join(WORK, "hoard.c")
    with open(source, "w") as file:
        file.write("#include <stddef.h>\n#include <string.h>\n"
                   "static char room[1 << 22];\nstatic size_t used;\n"
                   "void *malloc(size_t n)\n{\n    used += (n + 15) / 16 * 16;\n"
                   "    return room + used - (n + 15) / 16 * 16;\n}\n"
                   "void free(void *p)\n{\n    (void)p;\n}\n"
                   "void *calloc(size_t n, size_t k)\n{\n    return malloc(n * k);\n}\n"
                   "void *realloc(void *p, size_t n)\n{\n    void *q = malloc(n);\n"
                   "    return p == NULL ? q : memcpy(q, p, n);\n}\n")
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-fno-builtin", "-o", library, source],
                   check=True)
    target = started("sleep", "60", env={**os.environ, "LD_PRELOAD": library})
    wait_for(target.pid, "sleep")
    refused(target.pid, "its allocator is hoard", "recognised, not supported yet")
    said = run("doctor", target.pid, code=3).out  # what dump refuses
    check(re.search(r"^allocator +refused +hoard", said, re.M), said)
    check("glibc" not in re.search(r"^allocator.*", said, re.M)[0], said)
    target.kill()
    target.wait()


def bytecode():
    if not shutil.which("ocamlc") or not shutil.which("ocamlrun"):
        leave_out("bytecode program: ocamlc is not installed")
        return
    source = os.path.join(WORK, "waits.ml")
    with open(source, "w") as file:
        file.write("let kept = Array.init 1000 string_of_int\n"
                   "let () = ignore (input_line stdin); print_string kept.(0)\n")
    subprocess.run(["ocamlc", "-o", os.path.join(WORK, "waits.byte"), source], check=True)
    target = subprocess.Popen(["ocamlrun", os.path.join(WORK, "waits.byte")],
                              stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    wait_for(target.pid, "ocamlrun")
    time.sleep(0.1)
    version = subprocess.run(["ocamlc", "-version"], capture_output=True, text=True).stdout
    if version.startswith(("4.13", "4.14")) and has_part("ocaml"):
        said = run("dump", target.pid, "-o", os.path.join(WORK, "waits.snap"))
        check("objects" in said.err, said.err)
    else:
        refused_ocaml(target.pid, "an OCaml", "native programs of OCaml 4.13 and 4.14")
    target.communicate(b"go\n", timeout=10)
    equal(target.returncode, 0, "the bytecode program ends well")


def ocaml_5():
    if not shutil.which("gcc"):
        leave_out("OCaml 5: no gcc to make a program with its symbols")
        return
    source = os.path.join(WORK, "five.c")
    with open(source, "w") as file:
        file.write("#include <unistd.h>\n__thread void *caml_state;\n"
                   "char *caml_minor_heaps_start, *caml_minor_heaps_end;\n"
                   "long caml_globals[1], caml_frametable[1];\n"
                   "int main(void) { for (;;) pause(); }\n")
    path = os.path.join(WORK, "five")
    subprocess.run(["gcc", "-o", path, source], check=True)
    target = started(path)
    wait_for(target.pid, "five")
    refused_ocaml(target.pid, "'five' is an OCaml 5 program", "OCaml 4.13 and 4.14")
    target.kill()
    target.wait()


def ourselves():
    done = subprocess.run(["bash", "-c", 'exec "$1" dump $$ -o "$2"', "bash", HEAPSNAP, SNAP],
                          capture_output=True, timeout=60)
    equal(done.returncode, 3, done.stderr.decode())
    check(b"it is heapsnap itself" in done.stderr, done.stderr.decode())
    check(not os.path.exists(SNAP), "a file was left")


def ends_or_executes_during_the_dump():
    """Whatever the moment: a whole snapshot or a plain refusal, never half of one."""
    if not shutil.which("ocamlfind") and not shutil.which("ocamlopt"):
        leave_out("a target that ends: ocamlopt is not installed")
        return
    source = os.path.join(WORK, "ends.ml")
    with open(source, "w") as file:
        file.write("""
let kept = ref []
let () =
  let until = Sys.time () +. float_of_string Sys.argv.(1) in
  while Sys.time () < until do
    kept := string_of_int (List.length !kept land 7) :: !kept;
    if List.length !kept > 500 then kept := []
  done;
  if Array.length Sys.argv > 2 then Unix.execv "/bin/sleep" [| "sleep"; "0.2" |]
""")
    program = os.path.join(WORK, "ends")
    if subprocess.run(["ocamlfind", "ocamlopt", "-package", "unix", "-linkpkg", "-o", program,
                       source], capture_output=True, check=False).returncode != 0:
        subprocess.run(["ocamlopt", "unix.cmxa", "-o", program, source], check=True)
    codes = set()
    for turn in range(24):
        # In processor time, so that a stop does not bring the end nearer.
        target = started(program, str(0.002 * turn), *(["exec"] if turn % 2 else []))
        if turn % 3:
            time.sleep(0.001 * turn)
        done = subprocess.run([HEAPSNAP, "dump", str(target.pid), "-o", SNAP, "--no-names"],
                              capture_output=True, timeout=60)
        codes.add(done.returncode)
        err = done.stderr.decode()
        check(done.returncode in (0, 3), f"exit {done.returncode}: {err}")
        if done.returncode == 0:
            run("check", SNAP)
            os.unlink(SNAP)
        else:
            check("heapsnap: cannot dump " in err, err)
            check(not os.path.exists(SNAP), "a file was left")
        equal(target.wait(timeout=20), 0, "the target ends as it would have")
    check(3 in codes, f"no dump met the end of its target: {codes}")


def skipped():
    for what in left_out:
        print(f"left out: {what}")


main(no_such_process, zombie, kernel_thread, already_traced, a_thread, no_permission,
     thirty_two_bits, without_ocaml, without_heap, another_allocator, bytecode, ocaml_5, ourselves,
     ends_or_executes_during_the_dump, skipped)
END
