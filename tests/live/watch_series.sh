#!/usr/bin/env bash
# parts: watch
# A watch and its series: files, bounds, log, restart, another process, the end.
. "$(dirname "$0")/_faults.sh"

python <<'END'
import json

from watch_lib import *

program = compile_c("watch_busy")


def info_of(watch, name):
    done = subprocess.run([HEAPSNAP, "info", "--json", os.path.join(watch.directory, name)],
                          capture_output=True, check=True)
    return json.loads(done.stdout)


def series_grows():
    target = Busy(program, 3, 5000)
    watch = Watch(target.pid, new_directory("snaps"), "--every", "200ms", "--keep", "3")
    most = 0
    def enough():
        nonlocal most
        most = max(most, len(watch.files()))
        return len(watch.log("dump")) >= 7
    until(enough, "seven dumps")
    check(most <= 4, f"{most} files with --keep 3")
    said = watch.stop("SIGTERM")
    target.check_goes_on("after SIGTERM")
    lines = watch.log("dump")
    check(len(watch.files()) == 3, f"--keep 3 leaves {watch.files()}")
    check(sorted(watch.files().values()) == [line["file"] for line in lines[-3:]],
          "the newest are kept")
    numbers = [int(NAME.fullmatch(line["file"])[1]) for line in lines]
    check(numbers == list(range(1, len(lines) + 1)), f"numbers {numbers}")
    for line in lines[-3:]:
        info = info_of(watch, line["file"])
        for key, field in (("pause_ns", "pause_ns"), ("blocks", "objects"), ("words", "words")):
            check(int(line[key]) == info[field], f"{key}: {line[key]}, info says {info[field]}")
        path = os.path.join(watch.directory, line["file"])
        check(int(line["file_bytes"]) == os.path.getsize(path), "file_bytes")
        check(os.stat(path).st_mode & 0o777 == 0o600, "a snapshot is for its owner alone")
        check(int(line["blocks"]) > 5000 and int(line["rss_bytes"]) > 5000 * 16, f"{line}")
        check(int(line["duration_ns"]) > int(line["pause_ns"]), f"{line}")
    check(sum(int(line["removed"]) for line in lines) == len(lines) - 3, "removed")
    for line in watch.log():
        check(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", line["time"]), f"time {line}")
        check(line["event"] in ("start", "dump", "skip", "end"), f"event {line}")
    check(said.count("event=dump") == len(lines), "the same lines on standard error")
    watch.check_sound("series")
    target.end()
    return f"{len(lines)} dumps, at most {most} files"


def bound_by_bytes():
    target = Busy(program, 1, 5000)
    directory = new_directory("snaps")
    watch = Watch(target.pid, directory, "--every", "100ms", "--keep", "0")
    watch.wait_log("dump", 2, "two dumps")
    watch.stop("before the bound")
    size = state_of(directory)["last_file_bytes"]
    done = len(watch.log("dump"))
    watch = Watch(target.pid, directory, "--every", "100ms", "--keep", "0", "--keep-bytes",
                  str(3 * size + size // 2), "-q")
    watch.wait_log("dump", done + 5, "more dumps")
    check(watch.stop("with the bound") == "", "-q is quiet")
    total = sum(os.path.getsize(os.path.join(directory, name)) for name in watch.files().values())
    check(0 < total <= 3 * size + size // 2, f"{total} bytes kept, one has {size}")
    target.end()
    return f"{len(watch.files())} files of {size} bytes"


def restart_goes_on():
    target = Busy(program, 2, 5000)
    directory = new_directory("snaps")
    for turn in range(3):
        watch = Watch(target.pid, directory, "--every", "150ms", "--keep", "0")
        watch.wait_log("dump", 2 * turn + 2, f"turn {turn}")
        if turn == 1: # as a crash would end it
            watch.process.kill()
            watch.process.wait()
        else:
            watch.stop(f"turn {turn}")
    starts = watch.log("start")
    check([line["series"] for line in starts] == ["new", "continued", "continued"], f"{starts}")
    numbers = sorted(watch.files())
    check(len(numbers) >= 6 and numbers == list(range(1, len(numbers) + 1)), f"{numbers}")
    watch.check_no_half("after a killed watch")
    # With an hour between dumps the next one is not due: a restart dumps nothing at once.
    watch = Watch(target.pid, directory, "--every", "1h", "--keep", "0")
    watch.wait_log("start", 4, "the fourth start")
    time.sleep(0.5)
    check(watch.dump_pid() is None, "a restart keeps its distance from the last dump")
    watch.stop("the last")
    check(len(watch.files()) == len(numbers), "no dump was due")
    watch.check_sound("restarts")
    target.check_goes_on("after restarts")
    target.end()
    return f"{len(numbers)} files over 3 watches"


def another_process():
    directory = new_directory("snaps")
    target = Busy(program, 1, 5000)
    watch = Watch(target.pid, directory, "--every", "100ms", "--keep", "2")
    watch.wait_log("dump", 3, "the first series")
    watch.stop("the first series")
    old = watch.files()
    other = Busy(program, 1, 3000)
    watch = Watch(other.pid, directory, "--every", "100ms", "--keep", "1")
    first = len(watch.log("dump"))
    watch.wait_log("dump", first + 3, "the second series")
    # One watch at a time, whomever it is for.
    second = Watch(target.pid, directory)
    said = second.finish("a second watch", 5)
    check("another watch is at work there" in said and "hint: " in said, said)
    watch.stop("the second series")
    start = watch.log("start")[1]
    check(start["series"] == "new" and "another process" in start["why"], f"{start}")
    kept = watch.files()
    check(all(kept.get(number) == name for number, name in old.items()),
          f"files of the first series: {old}, now {kept}")
    check(len(kept) == len(old) + 1 and max(kept) > max(old), f"{old}, {kept}")
    for done in (target, other):
        done.end()
    return f"{len(old)} files of the first series stay"


def pid_used_again():
    """The same pid, another start time: as the record says, and no file is touched."""
    directory = new_directory("snaps")
    target = Busy(program, 1, 3000)
    watch = Watch(target.pid, directory, "--every", "100ms", "--keep", "1")
    watch.wait_log("dump", 1, "the first series")
    watch.stop("the first series")
    old = watch.files()
    state = state_of(directory)
    text = open(os.path.join(directory, "watch.json"), encoding="ascii").read()
    for key, other, why in (("start_time", state["start_time"] - 1, "the pid is used again"),
                            ("boot_id", "00000000-0000-0000-0000-000000000000", "started anew"),
                            ("schema", "heapsnap.watch/9", "cannot be understood")):
        changed = re.sub(rf'("{key}": "?)[^",\n]*', rf"\g<1>{other}", text)
        check(changed != text, f"{key} is in watch.json")
        with open(os.path.join(directory, "watch.json"), "w", encoding="ascii") as file:
            file.write(changed)
        n = len(watch.log("start"))
        watch = Watch(target.pid, directory, "--every", "100ms", "--keep", "1")
        start = watch.wait_log("start", n + 1, key)[n]
        watch.wait_log("dump", len(old) + 1, key)
        watch.stop(key)
        check(start["series"] == "new" and why in start["why"], f"{key}: {start}")
        now = watch.files()
        check(all(now.get(number) == name for number, name in old.items()), f"{key}: {old}, {now}")
        old = now
    target.end()
    return f"3 new series, {len(old)} files"


def the_end():
    target = Busy(program, 1, 5000)
    watch = Watch(target.pid, new_directory("snaps"), "--every", "100ms")
    watch.wait_log("dump", 2, "two dumps")
    target.process.send_signal(signal.SIGUSR2)
    target.process.wait()
    watch.finish("the end of the target")
    end = watch.log()[-1]
    check(end["event"] == "end" and end["why"] == "the process has ended", f"{end}")
    watch.check_no_half("the end of the target")
    watch.check_sound("the end of the target")
    # Nobody is there any more: nothing to watch.
    said = Watch(target.pid, watch.directory).finish("no target", 3)
    check("no such process" in said, said)
    target.end()
    # Between two looks of an hour it is noticed, too.
    target = Busy(program, 1, 100)
    watch = Watch(target.pid, new_directory("snaps"), "--every", "1h", "--when", "rss>1T")
    watch.wait_log("start", 1, "a start")
    target.end()
    watch.finish("the end while idle")
    check(watch.log()[-1]["event"] == "end" and watch.files() == {}, "no dump, one end")
    return "exit 0"


def conditions():
    target = Busy(program, 1, 5000)
    watch = Watch(target.pid, new_directory("snaps"), "--every", "50ms", "--when",
                  "rss>1TiB|growth>60%", "--when", "growth>4000000000%")
    watch.wait_log("start", 1, "a start")
    time.sleep(0.5) # some looks; should there be none, what follows still holds
    check(watch.log("dump") == [], "no condition holds")
    for turn in range(1, 3): # 32 MiB more each: at least a dump, or two when one looks half-way
        target.process.send_signal(signal.SIGUSR1)
        watch.wait_log("dump", turn, f"growth {turn}")
    time.sleep(0.5) # for looks that should find nothing
    watch.stop("conditions")
    sizes = [int(line["rss_bytes"]) for line in watch.log() if line["event"] in ("start", "dump")]
    check(all(new > 1.6 * old for old, new in zip(sizes, sizes[1:])),
          f"each has grown by 60 % since the one before: {sizes}")
    n = len(watch.log("dump"))
    directory = watch.directory
    watch = Watch(target.pid, directory, "--every", "50ms", "--when", "rss>16MiB")
    watch.wait_log("dump", n + 3, "rss: at every look")
    watch.stop("rss")
    target.end()
    return f"{n} by growth"


main(series_grows, bound_by_bytes, restart_goes_on, another_process, pid_used_again, the_end,
     conditions)
END
