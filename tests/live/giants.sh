# Processes that are large without much in them: the cost follows what is resident. By processor
# time beside a small process, or beside a giant of another size, in the same run.
. "$(dirname "$0")/_stop.sh"

python "$@" <<'END_OF_TEST'
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


def cost(target, what, *options, turns=3):
    """Processor seconds of our own in a dump: the least of some."""
    least = float("inf")
    for _ in range(turns):
        before = processor_seconds()
        dump(target, what, *options)
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


def ways():
    """The kernel lists pages, or the page map is read: the snapshots are alike."""
    for words, n_pages in ((("maps", 3000), 1500), (("reserve", 20, 5), 20)):
        if words[0] == "reserve" and os.getuid() != 0:
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


def threads():
    """Each thread is looked at some times, not each as often as there are threads."""
    counted = compile_c("giant_counted.c", "giant_counted.so", "-shared", "-fPIC")
    n = 2000
    target = giant("threads", n)
    path = os.path.join(WORK, "waits")
    done = subprocess.run([HEAPSNAP, "dump", str(target.pid), "-o", SNAP],
                          env={**os.environ, "LD_PRELOAD": counted, "COUNTED_FILE": path,
                               "ASAN_OPTIONS": "verify_asan_link_order=0"},
                          capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    check(done.returncode == 0, f"{n} threads: {done.stderr}")
    with open(path, encoding="ascii") as file:
        waits = int(file.read())
    check(n <= waits < 6 * n, f"{waits} waits for {n} threads")
    check(look("info")["objects"] >= 64, "its blocks are not there")
    target.check_lives("many threads")
    target.end()
    return f"{n} threads: {waits / n:.1f} waits for each"


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
    main(reserve, ways, maps, threads, headless, thread_id)
END_OF_TEST
