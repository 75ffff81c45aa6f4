"""Fills redis; compares what the probe lists with what malloc_stats_print wrote.

   _jemalloc_redis.py commands KEYS | redis-cli --pipe
   _jemalloc_redis.py compare STATISTICS LISTED
"""
import re
import sys

# While it prints, malloc_stats_print holds a buffer: STATS_PRINT_BUFSIZE of src/stats.c.
PRINT_BUFFER = 64 << 10


def commands(n):
    out = sys.stdout.buffer

    def put(*words):
        out.write(b"*%d\r\n" % len(words))
        for word in words:
            word = str(word).encode()
            out.write(b"$%d\r\n%s\r\n" % (len(word), word))

    for i in range(n):
        kind = i % 10
        if kind < 4:
            put("SET", "string:%d" % i, "x" * (i * 7 % 300))
        elif kind == 4:
            put("HSET", "hash:%d" % i, *[w for k in range(i % 9 + 1) for w in (k, "v" * (i % 80))])
        elif kind == 5:
            put("RPUSH", "list:%d" % i, *range(i % 20 + 1))
        elif kind == 6:
            put("SADD", "set:%d" % i, *["member:%d" % (i + k) for k in range(i % 12 + 1)])
        elif kind == 7:
            put("ZADD", "sorted:%d" % i, *[w for k in range(i % 10 + 1) for w in (k, "m%d" % k)])
        elif kind == 8:
            put("XADD", "stream:%d" % i, "*", "field", "y" * (i % 50))
        else:
            put("SET", "gone:%d" % i, "z" * (i % 2000))
            if i % 20 == 9:
                put("DEL", "gone:%d" % i)
        if i % 5000 == 0:
            put("SET", "large:%d" % i, "l" * (20000 + i))


def compare(statistics, listed):
    text = open(statistics, errors="replace").read()
    totals = re.search(r"^Allocated: (\d+), active: (\d+)", text, re.M)
    cached_there = int(re.search(r"^tcache_bytes: +(\d+)", text, re.M).group(1))
    n_blocks = n_bytes = 0
    memory, bad = {}, []
    for line in open(listed):
        if line.startswith("B jemalloc "):
            n_blocks += 1
            n_bytes += int(line.split()[3])
        elif line.startswith("M jemalloc: "):
            words = line.split()
            memory[words[2]] = [int(word) for word in words[3:]]
        elif line.startswith("P "):
            words = line.split(" ", 3)
            if words[1] != words[2]:
                bad.append("proof fails: " + line)
        elif line.startswith("N 1"):
            bad.append("gap: " + line)
    cached = memory["cached"]
    allocated = int(totals.group(1)) - PRINT_BUFFER
    stacks = allocated - n_bytes - cached[0]
    n_stacks = memory["internal"][2]
    print("%d blocks, %d bytes; cached %d blocks, %d bytes; %d caches with %d bytes; "
          "jemalloc: %d allocated without its print buffer, %d cached"
          % (n_blocks, n_bytes, cached[2], cached[0], n_stacks, stacks, allocated, cached_there))
    if cached[0] != cached_there:
        bad.append("cached %d, jemalloc says %d" % (cached[0], cached_there))
    # 28,672 bytes for the pointers of 41 bins by default: 5.3.0, tcache.c
    if n_stacks == 0 or stacks != 28672 * n_stacks:
        bad.append("%d bytes left over for %d caches" % (stacks, n_stacks))
    for line in bad:
        print("FAILED: " + line.rstrip())
    sys.exit(bool(bad))


if sys.argv[1] == "commands":
    commands(int(sys.argv[2]))
else:
    compare(sys.argv[2], sys.argv[3])
