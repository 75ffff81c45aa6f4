#!/usr/bin/env bash
# parts: watch
# A watch under bad luck: signals at any moment, killed dumps, no room, no right, moved directories.
# HS_FAULTS_TIMES multiplies the number of turns.
. "$(dirname "$0")/_faults.sh"
chmod 755 "$WORK" # for those who are nobody

python <<'END'
from watch_lib import *

program = compile_c("watch_busy")
NOBODY = 65534


def ended_at_any_moment():
    target = Busy(program, 3, 20000)
    directory = new_directory("snaps")
    n_busy = turn = 0
    while turn < turns(12) or (n_busy == 0 and turn < turns(60)):
        number = (signal.SIGTERM, signal.SIGINT)[turn % 2]
        watch = Watch(target.pid, directory, "--every", "50ms", "--keep", "3")
        watch.wait_log("start", turn + 1, "a start")
        dump = until(watch.dump_pid, "a dump")
        time.sleep(random.choice((0, 0, 0.002, 0.01, 0.05, 0.1)))
        n_busy += watch.dump_pid() is not None
        if turn % 3 == 2: # a service's end: everybody gets it, the dump twice
            try:
                os.kill(dump, number)
            except ProcessLookupError:
                pass
        watch.stop(f"turn {turn}", number)
        target.check_goes_on(f"turn {turn}")
        check(not os.path.exists(f"/proc/{dump}"), f"turn {turn}: dump {dump} is left")
        turn += 1
    check(n_busy > 0, "no dump was ever hit")
    watch.check_sound("after all")
    target.end()
    return f"{turn} watches ended, {n_busy} while a dump was at work"


def killed_dumps():
    target = Busy(program, 3, 20000)
    watch = Watch(target.pid, new_directory("snaps"), "--every", "100ms", "--keep", "5")
    turn = 0
    while turn < turns(4) or (not watch.log("fail") and turn < turns(60)):
        turn += 1
        dump = until(watch.dump_pid, "a dump")
        time.sleep(random.choice((0, 0.002, 0.01, 0.05)))
        try:
            os.kill(dump, signal.SIGKILL)
        except ProcessLookupError:
            continue
        # Either it was hit and this is said, or it was already done.
        done = len(watch.log("dump"))
        until(lambda: len(watch.log("dump")) > done + 1, f"turn {turn}: the dumps after it")
        target.check_goes_on(f"turn {turn}")
    failed = watch.log("fail")
    check(all("signal 9" in line["why"] and line["exit"] == "70" for line in failed), f"{failed}")
    n_killed = len(failed)
    check(n_killed > 0, "no dump was hit")
    check(all(int(line["retry_ns"]) >= 100000000 for line in failed), f"{failed}")
    watch.stop("after killed dumps")
    watch.check_sound("after killed dumps")
    numbers = [int(NAME.fullmatch(line["file"])[1]) for line in watch.log("dump")]
    check(numbers == sorted(set(numbers)), f"a number is used twice: {numbers}")
    target.end()
    return f"{n_killed} killed, {len(numbers)} good"


def killed_watch():
    """Its dump ends with it; what is left of a killed dump is swept at the next start."""
    target = Busy(program, 3, 20000)
    directory = new_directory("snaps")
    for turn in range(turns(3)):
        watch = Watch(target.pid, directory, "--every", "50ms")
        dump = until(watch.dump_pid, "a dump")
        watch.process.kill()
        watch.process.wait()
        until(lambda: not os.path.exists(f"/proc/{dump}"), "the dump ends with its watch")
        target.check_goes_on(f"turn {turn}")
    ours = os.path.join(directory, ".heap-20260101T000000Z-000001.snap.abcdef")
    theirs = os.path.join(directory, ".heap-20260101T000000Z-000001.snap.notours")
    for path in (ours, theirs):
        with open(path, "w", encoding="ascii") as file:
            file.write("half")
    n = len(watch.log("start"))
    watch = Watch(target.pid, directory, "--every", "100ms")
    start = watch.wait_log("start", n + 1, "the next start")[n]
    check(start["series"] == "continued" and int(start["swept"]) >= 1, f"{start}")
    check(not os.path.exists(ours) and os.path.exists(theirs), "what is ours is swept, no more")
    os.unlink(theirs)
    watch.stop("after killed watches")
    target.end()
    return "swept"


def slow_dumps():
    """Of which each takes longer than from one to the next: told once for each; and one that is
    ended during the first gives that."""
    target = Busy(program, 3, 20000)
    directory = new_directory("slow")
    watch = Watch(target.pid, directory, "--every", "5ms")
    until(watch.dump_pid, "a dump")
    watch.stop("in its first dump")
    check(len(watch.log("dump")) >= 1, f"{watch.log()}")
    watch = Watch(target.pid, directory, "--every", "5ms")
    watch.wait_log("dump", 6, "slow dumps")
    watch.stop("slow dumps")
    told = [line for line in watch.log("skip") if "still at work" in line["why"]]
    missed = [line for line in watch.log("dump") if int(line.get("missed", 0)) > 0]
    check(missed and len(told) <= len(watch.log("dump")) + 2, f"{watch.log()}")
    target.end()
    return f"{len(told)} times told of {len(missed)} slow dumps"


def no_room():
    mount = os.path.join(WORK, "small")
    os.mkdir(mount)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k,mode=700", "none", mount],
                      capture_output=True, check=False).returncode != 0:
        return "NOT TESTED: no file system may be mounted here"
    target = Busy(program, 1, 5000)
    filler = os.path.join(mount, "filler")
    try:
        directory = os.path.join(mount, "snaps")
        watch = Watch(target.pid, directory, "--every", "100ms", "--keep", "2")
        watch.wait_log("dump", 3, "with room")
        fill(filler)
        skip_line = until(lambda: [line for line in watch.log("skip") if "free" in line["why"]],
                          "a skip")[0]
        check("the disk has" in skip_line["why"], f"{skip_line}")
        os.unlink(filler)
        done = len(watch.log("dump"))
        watch.wait_log("dump", done + 2, "with room again")
        watch.stop("a full disk")
        watch.check_sound("a full disk")

        # What is not foreseen: the disk is full in the middle of the first dump.
        shutil.rmtree(directory)
        os.mkdir(directory, 0o700)
        watch = Watch(target.pid, directory, "--every", "10s", "--when", "rss>20MiB")
        watch.wait_log("start", 1, "a start")
        watch.stop("before")
        fill(filler)
        with open(filler, "r+b") as file: # a page for the log, none for a snapshot
            file.truncate(os.path.getsize(filler) - 4096)
        watch = Watch(target.pid, directory, "--every", "50ms")
        failed = watch.wait_log("fail", 2, "no room in a dump")
        check(failed[0]["exit"] == "5" and "No space" in failed[0]["why"], f"{failed[0]}")
        check("/proc/" not in failed[0]["why"], f"the message names plain files: {failed[0]}")
        check(int(failed[1]["retry_ns"]) == 100000000, f"{failed[1]}")
        os.unlink(filler)
        watch.wait_log("dump", 1, "with room again")
        watch.stop("no room in a dump")
        target.check_goes_on("no room")
    finally:
        subprocess.run(["umount", "-l", mount], check=True)
    target.end()
    return "skipped, then went on"


def fill(path):
    with open(path, "wb", buffering=0) as file:
        for size in (4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                pass


def no_place():
    target = Busy(program, 1, 1000)
    file = os.path.join(WORK, "file")
    open(file, "w", encoding="ascii").close()
    link = os.path.join(WORK, "link")
    real = new_directory("real")
    os.mkdir(real)
    os.symlink("real", link)
    for where, why in ((file, "Not a directory"), (file + "/below", "Not a directory"),
                       (os.path.join(WORK, "no/such"), "No such file"),
                       (link, "symbolic link"), (link + "/", "symbolic link")):
        said = Watch(target.pid, where).finish(where, 5)
        check(why in said and said.startswith("heapsnap: cannot "), f"{where}: {said}")
    check(os.listdir(real) == [], "nothing is written through a link")
    for wrong, why in ((["--every", "0"], "--every"), (["--every", "often"], "--every"),
                       (["--when", "rss"], "--when"), (["--max-pause", "x"], "--max-pause")):
        said = Watch(target.pid, new_directory("snaps"), *wrong).finish(f"{wrong}", 2)
        check(why in said, said)
        check(not os.path.exists(os.path.join(WORK, "snaps")), f"{wrong}: nothing was begun")
    target.end()
    return "refused"


def no_right():
    if os.geteuid() != 0:
        return "NOT TESTED: only root can be somebody else"
    target = Busy(program, 1, 1000)
    directory = new_directory("snaps")
    try:
        Watch(target.pid, directory, user=NOBODY, group=NOBODY).finish("another's process", 3)
    except PermissionError:
        return "NOT TESTED: nobody may not run heapsnap where it lies"
    check(not os.path.exists(directory), "nothing was begun")
    target.end()

    # Its own process, but a directory where it may not write.
    own = subprocess.Popen(["sleep", "1000"], user=NOBODY, group=NOBODY)
    try:
        os.mkdir(directory, 0o755)
        said = Watch(own.pid, directory, user=NOBODY, group=NOBODY).finish("unwritable", 5)
        check("watch.log" in said and "Permission denied" in said, said)
        said = Watch(own.pid, os.path.join(directory, "below"), user=NOBODY,
                     group=NOBODY).finish("unwritable", 5)
        check("cannot make the directory" in said, said)
        check(os.listdir(directory) == [], "nothing is left")
    finally:
        own.kill()
        own.wait()
    return "exits 3 and 5"


def what_cannot_be_dumped():
    """Refused at the very first dump: a program without a heap."""
    source = os.path.join(WORK, "empty.c")
    with open(source, "w", encoding="ascii") as file:
        file.write("void _start(void) { for (;;) __asm__ volatile(\"mov $34, %%eax; syscall\" "
                   "::: \"rax\", \"rcx\", \"r11\", \"memory\"); }\n")
    empty = os.path.join(WORK, "empty")
    subprocess.run(["cc", "-nostdlib", "-static", "-o", empty, source], check=True)
    process = subprocess.Popen([empty])
    try:
        watch = Watch(process.pid, new_directory("snaps"), "--every", "50ms")
        watch.finish("a program without a heap", 3)
        events = [line["event"] for line in watch.log() if line["event"] != "skip"]
        check(events == ["start", "fail", "end"], watch.talk())
        watch.check_no_half("a program without a heap")
        check(process.poll() is None, "it goes on")
    finally:
        process.kill()
        process.wait()
    return "exit 3"


def moved_directory():
    target = Busy(program, 1, 3000)
    directory = new_directory("snaps")
    moved, victim = new_directory("moved"), new_directory("victim")
    os.mkdir(victim)
    precious = os.path.join(victim, "heap-20260101T000000Z-000001.snap")
    with open(precious, "w", encoding="ascii") as file:
        file.write("precious")
    watch = Watch(target.pid, directory, "--every", "100ms", "--keep", "2")
    watch.wait_log("dump", 2, "before")
    os.rename(directory, moved)
    os.symlink(victim, directory)
    watch.directory = moved
    before = len(watch.log("dump"))
    watch.wait_log("dump", before + 4, "after it was replaced")
    watch.stop("a replaced directory")
    check(os.listdir(victim) == [os.path.basename(precious)], f"{os.listdir(victim)}")
    check(len(watch.files()) == 2, "the bound holds in the directory that was opened")
    os.unlink(directory)
    target.end()
    return "stays in the directory that was opened"


REUSE = """
echo 700 >/proc/sys/kernel/ns_last_pid || exit 77
begin() { # a target; its pid is the last one
    : >ready
    "$PROGRAM" beat 1 2000 >ready &
    pid=$!
    until grep -q READY ready; do kill -0 $pid || exit 1; sleep 0.05; done
}
watch() { # so many dumps, then the end of the target
    "$HEAPSNAP" watch $pid --every 100ms --no-names --keep 1 -q -o reused &
    watch=$!
    until [ "$(grep -cs event=dump reused/watch.log)0" -ge "${1}0" ]; do
        kill -0 $watch || exit 1
        sleep 0.05
    done
    kill -KILL $pid
    wait $pid
    wait $watch || exit 1
}
begin
first=$pid
watch 2
for _ in $(seq 100); do
    echo $((first - 1)) >/proc/sys/kernel/ns_last_pid
    begin
    [ $pid = $first ] && break
    kill -KILL $pid
    wait $pid
done
[ $pid = $first ] || exit 2
watch 4
"""


def reused_pid():
    """In a pid namespace of its own, where the next number can be chosen."""
    environment = dict(os.environ, PROGRAM=program)
    done = subprocess.run(["unshare", "-pf", "--mount-proc", "bash", "-c", REUSE], cwd=WORK,
                          env=environment, capture_output=True, text=True, check=False,
                          timeout=PATIENCE_SECONDS)
    if done.returncode == 77 or "unshare" in done.stderr:
        return f"NOT TESTED: {done.stderr.strip()}"
    check(done.returncode == 0, f"exit {done.returncode}: {done.stderr}")
    with open(os.path.join(WORK, "reused/watch.log"), encoding="ascii") as log:
        starts = [parse_line(line) for line in log if "event=start" in line]
    check(len(starts) == 2 and starts[0]["pid"] == starts[1]["pid"], f"{starts}")
    check(starts[1]["series"] == "new" and starts[1]["why"] ==
          "the pid is used again by another process", f"{starts}")
    left = [name for name in os.listdir(os.path.join(WORK, "reused")) if NAME.fullmatch(name)]
    check(len(left) == 2, f"one file of each series: {left}")
    return f"pid {starts[0]['pid']} twice, two series"


main(ended_at_any_moment, killed_dumps, killed_watch, slow_dumps, no_room, no_place, no_right,
     what_cannot_be_dumped, moved_directory, reused_pid)
END
