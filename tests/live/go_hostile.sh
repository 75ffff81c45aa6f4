#!/usr/bin/env bash
# parts: go
# A Go program whose runtime's records are damaged in memory, one place at a time: a dump says so or
# leaves out what makes no sense; it never crashes, and ends.
. "$(dirname "$0")/_native.sh"
need go nm

export GOCACHE=$BUILD_DIR/go-cache GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local HOME=$work
case $(go env GOVERSION) in
go1.19*) ;;
*) echo "skipped: the records' places are those of Go 1.19"; exit 77 ;;
esac
mkdir -p "$work/src"
cp "$fixtures/go_known.go" "$work/src/main.go"
printf 'module known\n\ngo 1.19\n' >"$work/src/go.mod"
(cd "$work/src" && go build -o "$work/known" .) || fail "building"
start "$work/known"
kill -STOP "$pid" # what is damaged must not run

rounds=$([ -n "$SANITIZED" ] && echo 40 || echo 60)
python3 - "$pid" "$work" "$HEAPSNAP" "$rounds" <<'PYTHON' || fail "damage"
import os, random, struct, subprocess, sys
pid, work, heapsnap, rounds = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
memory = open(f"/proc/{pid}/mem", "r+b", buffering=0)
symbols = {}
for line in subprocess.check_output(["nm", work + "/known"], text=True).splitlines():
    word = line.split()
    if len(word) == 3:
        symbols[word[2]] = int(word[0], 16)

def words(at, n):
    memory.seek(at)
    return list(struct.unpack(f"<{n}Q", memory.read(8 * n)))

module, heap = symbols["runtime.firstmoduledata"], symbols["runtime.mheap_"]
begin, n_spans, _ = words(heap + 65856, 3)
spans = words(begin, n_spans)
arena_map, = words(heap + 65936, 1)
index = next(i for i in range(0, 1 << 22, 512) if any(words(arena_map + 8 * i, 512)))
index += next(i for i, word in enumerate(words(arena_map + 8 * index, 512)) if word)
arena, = words(arena_map + 8 * index, 1)
all_g, n_g, _ = words(symbols["runtime.allgs"], 3)
gs = words(all_g, n_g)
span = lambda: random.choice(spans)
buckets, bucket = [], words(symbols["runtime.mbuckets"], 1)[0] # the stacks of the heap profile
while bucket and len(buckets) < 1000:
    buckets.append(bucket)
    bucket = words(bucket + 8, 1)[0]
specials = [special for special in (words(at + 128, 1)[0] for at in spans) if special]
def fails(change):
    """Writes other words, and returns how a dump ends."""
    old = {at: words(at, 1)[0] for at in change}
    try:
        for at, word in change.items():
            memory.seek(at)
            memory.write(struct.pack("<Q", word))
        return subprocess.run([heapsnap, "dump", str(pid), "-o", work + "/one.snap"],
                              stderr=subprocess.PIPE, timeout=300).returncode
    finally:
        for at, word in old.items():
            memory.seek(at)
            memory.write(struct.pack("<Q", word))

# Pages that are free lead to records which other spans have since: those of another arena.
first = next(i for i, word in enumerate(words(arena + 2097152, 8192)) if word)
if fails({arena + 2097152 + 8 * first: heap}):
    sys.exit("the heap is not found where its first page is free")

# The records by which each goroutine waits, in a circle.
waiting = [at for at in (words(g + 328, 1)[0] for g in gs) if at]
if len(waiting) < 100 or fails({at + 64: at for at in waiting}):
    sys.exit(f"{len(waiting)} goroutines wait; in circles")

# An address in a record, by kind: which words of it are damaged.
places = [
    lambda: module + 8 * random.randrange(69),
    lambda: heap + random.choice((65848, 65856, 65864, 65872, 65936)),
    lambda: span() + random.choice((24, 32, 48, 56, 72, 96, 104, 128)),
    lambda: begin + 8 * random.randrange(n_spans),
    lambda: arena_map + 8 * (index + random.randrange(3)),
    lambda: arena + 2097152 + 8 * random.randrange(64),
    lambda: arena + 8 * random.randrange(4096),
    lambda: random.choice(gs) + random.choice((0, 8, 40, 48, 56, 64, 144, 152, 296, 312)),
    lambda: symbols[random.choice(("runtime.allgs", "runtime.allp"))] + 8 * random.randrange(3),
    lambda: all_g + 8 * random.randrange(n_g),
    lambda: random.choice(buckets) + 8 * random.randrange(2, 8),
    lambda: random.choice(specials) + 8 * random.randrange(3),
    lambda: symbols["main.pool"] + 8 * random.randrange(4),
    lambda: words(symbols[random.choice(("main.book", "main.cells"))], 1)[0]
            + 8 * random.randrange(3),
]
values = [
    lambda old: 0, lambda old: 1, lambda old: (1 << 64) - 1, lambda old: (1 << 47) - 8,
    lambda old: old ^ 1 << random.randrange(48), lambda old: old + 8, lambda old: old << 1,
    lambda old: 1 << random.randrange(64), lambda old: random.choice(spans),
    lambda old: random.choice(gs), lambda old: random.getrandbits(64), lambda old: arena_map,
]
random.seed(46)
ends = {}
for i in range(rounds):
    change = {}
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.choice(places)()
        change[at], = words(at, 1)
    try:
        for at, old in change.items():
            memory.seek(at)
            memory.write(struct.pack("<Q", random.choice(values)(old) % (1 << 64)))
        out = work + "/damaged.snap"
        ended = subprocess.run([heapsnap, "dump", str(pid), "-o", out], stderr=subprocess.PIPE,
                               timeout=300)
        said = ended.stderr.decode()
        if ended.returncode not in (0, 3, 6) or "ERROR:" in said or "runtime error" in said:
            sys.exit(f"round {i}, {list(map(hex, change))}: {ended.returncode}\n{said}")
        if ended.returncode == 0 and subprocess.run([heapsnap, "check", out],
                                                    stdout=subprocess.DEVNULL).returncode != 0:
            sys.exit(f"round {i}, {list(map(hex, change))}: the snapshot is damaged")
        ends[ended.returncode] = ends.get(ended.returncode, 0) + 1
    finally:
        for at, old in change.items():
            memory.seek(at)
            memory.write(struct.pack("<Q", old))
print(f"{rounds} rounds: {ends}")
if not {0, 3} <= ends.keys():
    sys.exit("nothing was refused, or nothing was read")
PYTHON
dump # all is as it was
"$HEAPSNAP" info "$work/heap.snap" >"$work/said" || fail "info"
! grep -q 'DOES NOT HOLD' "$work/said" || { cat "$work/said"; fail "what was put back"; }
kill -CONT "$pid"
leave
