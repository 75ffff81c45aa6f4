#!/usr/bin/env bash
# parts: watch
# A watch of redis under load, sped up: redis loses no command, and the watch does not grow.
# HS_WATCH_ROUNDS: how many snapshots (default 10); HS_WATCH_EVERY: how far apart (default 200ms).
# Ten hours of one every ten minutes are 60 rounds.
. "$(dirname "$0")/_faults.sh"
work=$WORK
fail()
{
    echo "FAILED: $1"
    exit 1
}
# Any redis will do; where none is installed one is built from Debian's source.
REDIS=$(command -v redis-server || true)
if [ -z "$REDIS" ]; then
    # shellcheck source=tests/live/_redis.sh
    . "$SOURCE_DIR/tests/live/_redis.sh"
    get_redis jemalloc
    REDIS=$redis
fi
export REDIS

python <<'END'
import socket
import threading

from watch_lib import *

ROUNDS = int(os.environ.get("HS_WATCH_ROUNDS", "10"))
EVERY = os.environ.get("HS_WATCH_EVERY", "200ms")
WARM = 5
SOCKET = os.path.join(WORK, "socket")
CLIENTS, KEYS, BATCH = 4, 500, 16
OWN_SLACK_KIB = 256 # of own pages: jemalloc takes some more, once, within the first 50 dumps
FLAT, FLAT_SLACK_KIB = 50, 32 # and after these it stays where it is
TEXT_SLACK_KIB = 512 # of all: code that runs late for the first time, by 64 KiB at once


class Client:
    """A connection; commands in batches, each reply read and looked at."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(SOCKET)
        self.file = self.socket.makefile("rb")
        self.n = 0

    def ask(self, *commands):
        text = b"".join(b"*%d\r\n" % len(words) + b"".join(
            b"$%d\r\n%s\r\n" % (len(word), word) for word in words) for words in commands)
        self.socket.sendall(text)
        self.n += len(commands)
        return [self.reply() for _ in commands]

    def reply(self):
        line = self.file.readline()
        check(line.endswith(b"\r\n"), f"redis hung up: {line!r}")
        kind, rest = line[:1], line[1:-2]
        check(kind in b"+:$", f"redis says {line!r}")
        if kind == b"$":
            size = int(rest)
            return None if size < 0 else self.file.read(size + 2)[:-2]
        return int(rest) if kind == b":" else rest


class Load(threading.Thread):
    """Writes its own keys, reads them back, counts: knows every answer beforehand."""

    def __init__(self, number):
        super().__init__()
        self.number, self.values, self.turns, self.longest = number, {}, 0, 0.0
        self.failure, self.ends = None, threading.Event()

    def one_turn(self, client):
        name = b"counter:%d" % self.number
        before = dict(self.values)
        keys = [b"key:%d:%d" % (self.number, (self.turns * BATCH + i) % KEYS) for i in range(BATCH)]
        values = [b"%d:" % self.turns + b"v" * random.randrange(300) for _ in keys]
        began = time.monotonic()
        replies = client.ask(*([b"GET", key] for key in keys),
                             *([b"SET", key, value] for key, value in zip(keys, values)),
                             [b"INCR", name])
        self.longest = max(self.longest, time.monotonic() - began)
        check(replies[:BATCH] == [before.get(key) for key in keys], "a value is not what was set")
        check(replies[BATCH:2 * BATCH] == [b"OK"] * BATCH, f"SET answers {replies[BATCH:]}")
        self.turns += 1
        check(replies[-1] == self.turns, f"turn {self.turns} counts {replies[-1]}")
        self.values.update(zip(keys, values))

    def run(self):
        try:
            client = Client()
            while not self.ends.is_set():
                self.one_turn(client)
                time.sleep(0.001) # it shares two processors with everything else
            keys = list(self.values)
            found = client.ask(*([b"GET", key] for key in keys)) if keys else []
            check(found == [self.values[key] for key in keys], "the data at the end")
            self.n = client.n
        except (Failure, OSError) as failure:
            self.failure = failure


def start_redis():
    process = subprocess.Popen(
        [os.environ["REDIS"], "--port", "0", "--unixsocket", SOCKET, "--save", "",
         "--appendonly", "no", "--dir", WORK, "--daemonize", "no"], stdout=subprocess.DEVNULL)
    def answers():
        check(process.poll() is None, "redis-server did not start")
        try:
            return Client().ask([b"PING"]) == [b"PONG"]
        except OSError:
            return False
    until(answers, "redis")
    return process


def memory_of(pid):
    """KiB: own pages, by the page tables; data that was asked for; the most resident."""
    def field(name, key):
        with open(f"/proc/{pid}/{name}", encoding="ascii") as file:
            return int(re.search(rf"^{key}:\s+(\d+)", file.read(), re.M)[1])
    return {"Anonymous": field("smaps_rollup", "Anonymous"), "VmData": field("status", "VmData"),
            "VmRSS": field("status", "VmRSS"), "VmHWM": field("status", "VmHWM"),
            "fds": len(os.listdir(f"/proc/{pid}/fd"))}


def rest(watch, n):
    """Figures while it waits between two dumps, at least n of which are done."""
    watch.wait_log("dump", n, f"{n} dumps")
    def waits():
        with open(f"/proc/{watch.pid}/stat", encoding="ascii", errors="replace") as stat:
            return watch.dump_pid() is None and stat.read().rsplit(")", 1)[1].split()[0] == "S"
    while True:
        until(waits, "a pause between dumps")
        figures = memory_of(watch.pid)
        if waits():
            return figures


def redis_under_watch():
    redis = start_redis()
    loads = [Load(number) for number in range(CLIENTS)]
    for load in loads:
        load.start()
    until(lambda: all(load.turns > KEYS / BATCH or load.failure for load in loads), "data")
    watch = Watch(redis.pid, new_directory("snaps"), "--every", EVERY, "--keep", "4", "-q")
    early = rest(watch, WARM)
    middle = rest(watch, FLAT) if ROUNDS > FLAT else None
    late = rest(watch, max(ROUNDS, WARM + 3))
    watch.stop("redis")
    for load in loads:
        load.ends.set()
    for load in loads:
        load.join()
    for load in loads:
        check(load.failure is None, f"client {load.number}: {load.failure}")
    check(redis.poll() is None, "redis runs")
    lines = watch.log("dump")
    check(not watch.log("fail"), f"{watch.log('fail')}")
    info = dict(line.split(b":", 1) for line in Client().ask([b"INFO", b"stats"])[0].split(b"\r\n")
                if b":" in line)
    sent = sum(load.n for load in loads)
    check(int(info[b"total_commands_processed"]) >= sent, f"{info}, sent {sent}")
    check(len(watch.files()) <= 4, f"{watch.files()}")
    watch.check_sound("redis")
    redis.kill()
    redis.wait()
    print(f"after {WARM}: {early}; after {len(lines)}: {late}")
    for key, slack in (("VmData", 0), ("fds", 0), ("Anonymous", OWN_SLACK_KIB),
                       ("VmRSS", TEXT_SLACK_KIB), ("VmHWM", TEXT_SLACK_KIB)):
        check(late[key] <= early[key] + slack, f"{key}: {early} after {WARM} dumps, now {late}")
    check(middle is None or late["Anonymous"] <= middle["Anonymous"] + FLAT_SLACK_KIB,
          f"{middle} after {FLAT} dumps, now {late}")
    pauses = sorted(int(line["pause_ns"]) for line in lines)
    return (f"{len(lines)} dumps, {sent} commands all answered and right, longest batch "
            f"{max(load.longest for load in loads) * 1000:.0f} ms; pause "
            f"{pauses[len(pauses) // 2] / 1e6:.1f} ms, at most {pauses[-1] / 1e6:.1f}")


main(redis_under_watch)
END
