# Processes that are large without much in them: the cost follows what is resident. By processor
# time beside a small process, or beside a giant of another size, in the same run.
. "$(dirname "$0")/_stop.sh"

python "$@" <<'END_OF_TEST'
import ctypes
import mmap
import struct

from stop_lib import *

program = compile_c("giant.c", "giant", "-O1", "-std=gnu2x", "-pthread")
old_kernel = compile_c("giant_old_kernel.c", "giant_old_kernel", "-O1", "-std=gnu2x")
# What two dumps of one process need not have in common.
OF_THE_DUMP = {"pause_ns", "predicted_pause_ns", "growth_bytes", "taken_ns", "file_bytes"}


def giant(*words):
    return Target(program, *words)


def processor_seconds():
    """Of the user and the system: how a few ticks are shared between the two is chance."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def cost(target, what, *options, turns=3, codes=(0,)):
    """Processor seconds of our own in a dump: the least of some."""
    least = float("inf")
    for _ in range(turns):
        before = processor_seconds()
        dump(target, what, *options, codes=codes)
        least = min(least, processor_seconds() - before)
    target.check_lives(what)
    return max(least, 0.001)


def dump_as_before_6_7(target, *options):
    done = subprocess.run([old_kernel, HEAPSNAP, "dump", str(target.pid), "-o", SNAP, *options],
                          capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    if done.returncode == 77:
        skip("no seccomp")
    check(done.returncode == 0, f"dump as on an old kernel: {done.stderr}")


def contents():
    """All of a snapshot but what belongs to the dump itself."""
    info = {key: value for key, value in look("info").items() if key not in OF_THE_DUMP}
    return info, look("types"), look("dominators")


def known(info, n_unclaimed_pages):
    unclaimed, = [row for row in info["memory"] if row["owner"] == "unclaimed"]
    check(info["objects"] >= 64, f"{info['objects']} objects")
    check(unclaimed["resident_bytes"] >= n_unclaimed_pages * 4096,
          f"{unclaimed['resident_bytes']} bytes of unclaimed mappings are resident")


def reserve():
    """100 TiB, of which 20 pages are written to."""
    small, large = giant("reserve", 0, 1), giant("reserve", 20, 5)
    told = []
    for mode in ("copy", "read"):
        ratio = cost(large, f"100 TiB, {mode}", "--stop", mode) / \
            cost(small, f"small, {mode}", "--stop", mode)
        info = look("info")
        check(ratio < 10, f"100 TiB, {mode}: {ratio:.1f} x a small process")
        told.append(f"{mode} {ratio:.1f} x a small process")
    dump(large, "100 TiB")
    known(look("info"), 20)
    small.end()
    large.end()
    return f"100 TiB reserved: {', '.join(told)}"


def go():
    """512 GiB without access, 16 of which may be used and 512 pages are: as Go's runtime has it."""
    small, large = giant("reserve", 0, 1), giant("go", 256)
    told = []
    for mode in ("copy", "read"):
        ratio = cost(large, f"as Go, {mode}", "--stop", mode) / \
            cost(small, f"small, {mode}", "--stop", mode)
        known(look("info"), 0)
        check(ratio < 6, f"as Go, {mode}: {ratio:.1f} x a small process")
        told.append(f"{mode} {ratio:.1f} x a small process")
    dump(large, "as Go")
    known(look("info"), 512)
    small.end()
    large.end()
    return f"reserved as Go does: {', '.join(told)}"


def asan():
    """20 TiB of shadow: refused by name, at no more than what a small process costs."""
    try:
        checked = compile_c("giant.c", "giant_asan", "-O1", "-std=gnu2x", "-pthread",
                            "-fsanitize=address")
        large = Target(checked, "reserve", 0, 1, env={"ASAN_OPTIONS": "detect_leaks=0"})
    except (subprocess.CalledProcessError, Failure):
        return "no AddressSanitizer here"
    small = giant("reserve", 0, 1)
    ratio = cost(large, "AddressSanitizer", codes=(3,)) / cost(small, "small")
    check(ratio < 3, f"AddressSanitizer: {ratio:.1f} x a small process")
    _, said = dump(large, "AddressSanitizer", codes=(3,))
    check("its allocator is AddressSanitizer" in said, said)
    small.end()
    large.end()
    return f"AddressSanitizer: {ratio:.1f} x a small process"


def tells_zeros():
    """Whether pages that were only read are one: there are kernels that give each its own."""
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    at = libc.mmap(None, 8192, mmap.PROT_READ, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    ctypes.string_at(at, 8192)
    with open("/proc/self/pagemap", "rb") as pages:
        pages.seek(at // 4096 * 8)
        first, second = struct.unpack("QQ", pages.read(16))
    return os.getuid() == 0 and first == second


def ways():
    """The kernel lists pages, or the page map is read: the snapshots are alike."""
    for words, n_pages in ((("maps", 3000), 1500), (("reserve", 20, 5), 20)):
        if words[0] == "reserve" and not tells_zeros():
            continue  # the page of zeros is not told from others: all of the page map is read
        target = giant(*words)
        for mode in ("copy", "read"):
            dump(target, "listed", "--stop", mode)
            listed = contents()
            dump_as_before_6_7(target, "--stop", mode)
            check(contents() == listed, f"{words}, {mode}: the snapshots differ")
        known(listed[0], n_pages)
        target.check_lives("as on an old kernel")
        target.end()
    return "listed or by the page map: the same snapshot"


def maps():
    """As many times more mappings cost at most as many times more."""
    few, many = (giant("maps", n) for n in (8000, 40000))
    ratio = cost(many, "many mappings") / cost(few, "few mappings")
    known(look("info"), 4000)
    check(ratio < 5, f"5 times as many mappings cost {ratio:.1f} times as much")
    few.end()
    many.end()
    return f"5 x as many mappings cost {ratio:.1f} x"


def counted(target, library, *options, code=0, **more):
    """The calls of a dump: of waitpid; in the stop of ptrace, and of others; of waitid; of ptrace
    in the stop without real-time priority; and 0, or 1 when it ended with that."""
    path = os.path.join(WORK, "counted")
    done = subprocess.run([HEAPSNAP, "dump", str(target.pid), "-o", SNAP, *options],
                          env={**os.environ, "LD_PRELOAD": library, "COUNTED_FILE": path,
                               "ASAN_OPTIONS": "verify_asan_link_order=0", **more},
                          capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    check(done.returncode == code, f"many threads: {done.stderr}")
    check(code != 0 or look("info")["objects"] >= 64, "its blocks are not there")
    with open(path, encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def may_hurry():
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        return False
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return True


def threads():
    """What is called for each thread, most of all while all of them stand still. How often one is
    looked at before it stands is up to the machine: the least of some dumps counts."""
    library = compile_c("giant_counted.c", "giant_counted.so", "-shared", "-fPIC")
    n = 2000
    target = giant("threads", n)
    told = []
    for options, n_reads in ((("--stop", "copy"), 0), (("--stop", "read"), 2 * n)):
        counts = [counted(target, library, "--max-pause", "0", *options) for _ in range(5)]
        waits, traces, others, _, slow, _ = map(min, zip(*counts))
        check(not any(count[5] for count in counts), f"{options}: the priority was kept")
        # to seize and interrupt it, which is done thread by thread for those that wait (decision
        # 055), three kinds of what is to be known of it, to let it go
        check(6 * n <= traces < 6.2 * n, f"{options}: {traces / n:.2f} requests for a thread")
        check(n <= waits < 4 * n, f"{options}: {waits / n:.1f} waits for a thread")
        check(others < 4 * n + n_reads, f"{options}: {others / n:.1f} other calls for a thread")
        if options[1] == "copy" and may_hurry():
            check(slow == 0, f"{slow} requests at a priority by which others come between")
        told.append(f"{options[1]} {traces / n:.2f} requests, {waits / n:.1f} waits, "
                    f"{others / n:.1f} other calls")
    target.check_lives("many threads")
    target.end()
    return f"for each of {n} threads: {'; '.join(told)}"


def slow_seizing():
    """However long it takes to seize all of them, they are looked at only when it does not go on:
    to do so with each tick of a clock might take longer than the tick."""
    library = compile_c("giant_counted.c", "giant_counted.so", "-shared", "-fPIC")
    n = 1500
    target = giant("threads", n)
    looks = min(counted(target, library, COUNTED_NAP_US="200")[3] for _ in range(3))
    check(looks < n, f"{looks} looks for the dead among {n} threads")
    target.check_lives("slowly seized")
    target.end()
    return f"{n} threads slowly seized: {looks} looks for the dead"


def late():
    """One of many does not stop: the others are not all looked at as long as it is waited for."""
    library = compile_c("giant_counted.c", "giant_counted.so", "-shared", "-fPIC")
    n = 2000
    target = giant("vfork", n)
    waits = min(counted(target, library, code=3)[0] for _ in range(3))
    check(waits < 100 * n, f"{waits / n:.1f} waits for each of {n} threads")
    target.check_lives("a late thread")
    target.end()
    return f"one of {n} threads does not stop: {waits / n:.1f} waits for each"


def headless():
    """The main thread has ended: another one is asked of the memory, and it is read stopped."""
    target = giant("headless", 3)
    for _ in range(1000): # it is on its way to its end when the last thread says that all is ready
        if state_of(target.pid) == "Z":
            break
        time.sleep(0.01)
    check(state_of(target.pid) == "Z", "the main thread lives")
    for options in ((), ("--stop", "read")):
        _, said = dump(target, "headless", *options)
        info = look("info")
        check(info["objects"] >= 64 and info["stop"] == "read", f"headless: {info}")
    check("main thread has ended" in dump(target, "headless")[1], f"headless: said {said}")
    code, said = dump(target, "headless, copy", "--stop", "copy", codes=(3,))
    check("its main thread has ended" in said, f"headless, copy: {code}, {said}")
    doctor = subprocess.run([HEAPSNAP, "doctor", str(target.pid)], capture_output=True, text=True,
                            timeout=LIMIT_SECONDS, check=False)
    check(doctor.returncode == 0 and "it is read by thread" in doctor.stdout,
          f"doctor: {doctor.returncode}, {doctor.stdout}{doctor.stderr}")
    for tid, state, tracer in states(target.pid):
        check(state not in "Tt" and tracer == 0, f"thread {tid} is in state {state}")
    target.end()
    return "a process without its main thread: dumped"


def thread_id():
    """The id of a thread leads to its process."""
    target = giant("threads", 3)
    tid = max(threads_of(target.pid))
    done = subprocess.run([HEAPSNAP, "dump", str(tid), "-o", SNAP], capture_output=True, text=True,
                          timeout=LIMIT_SECONDS, check=False)
    check(done.returncode == 0, f"dump of a thread: {done.stderr}")
    check(f"{tid} is a thread: its process is {target.pid}" in done.stderr, done.stderr)
    info = look("info")
    check(info["pid"] == target.pid and info["objects"] >= 64, f"dump of a thread: {info}")
    target.check_lives("dump of a thread")
    target.end()
    return "the id of a thread: its process is dumped"


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        return file.read().rsplit(")", 1)[1].split()[0]


if len(sys.argv) > 1:
    main(*[globals()[name] for name in sys.argv[1:]])
else:
    main(reserve, go, asan, ways, maps, threads, slow_seizing, late, headless, thread_id)
END_OF_TEST
