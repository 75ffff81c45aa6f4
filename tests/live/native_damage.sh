# Heaps damaged at a known place, from outside, and put right again after each dump: chunk headers,
# lists, thread caches, arenas of glibc; extents, trees, bitmaps of jemalloc. The dump is done, says
# that something is wrong, and lists every block that the damage cannot hide.
. "$(dirname "$0")/_faults.sh"

python <<'END_OF_TEST'
from native_faults import *

program = compile_c("native_damage.c", "damage", "-O1", "-g", "-pthread")
WORD = 8
HEAP_BYTES = 64 << 20 # of a thread's arena
TO_NEXT_ARENA = 0x870 # in struct malloc_state of 2.27 and later


class Heap:
    def __init__(self, env):
        self.target = Target(program, env=env)
        self.pid = self.target.pid
        (_, blocks, words), = self.target.lines("ARRAY")
        self.whole = int(blocks), int(words)
        self.blocks = [(int(a, 16), int(n), int(of)) for a, n, of in self.target.lines("BLOCK")]
        self.free = [(int(a, 16), int(n), int(of)) for a, n, of in self.target.lines("FREE")]
        self.planned = []
        self.memory = open(f"/proc/{self.pid}/mem", "r+b", buffering=0)

    def word(self, at):
        self.memory.seek(at)
        return int.from_bytes(self.memory.read(WORD), "little")

    def poke(self, at, word):
        self.memory.seek(at)
        self.memory.write((word & (1 << 64) - 1).to_bytes(WORD, "little"))

    def plan(self, *arguments, **more):
        self.planned.append((arguments, more))

    def run_planned(self, n):
        """Some of them: all are too many for every day. HS_FAULTS_TIMES=10 for all."""
        some = random.sample(self.planned, min(len(self.planned), turns(n)))
        for arguments, more in some:
            self.damaged(*arguments, **more)
        return len(some)

    def damaged(self, what, pokes, hides, silent=False):
        """Dumps with these words changed: at most `hides` blocks are missing, and it is said."""
        old = [(at, self.word(at)) for at, _ in pokes]
        for at, word in pokes:
            self.poke(at, word)
        try:
            dump(self, what, "--no-names")
            self.target.check_lives(what)
            info = look("info")
            found = [root["reachable_objects"] for root in look("roots")["roots"]
                     if root["name"] == "held"]
        finally:
            for at, word in reversed(old):
                self.poke(at, word)
        n = found[0] if found else 0
        missing = self.whole[0] - n
        signs = (gaps(info) + [proof["what"] for proof in info["proofs"] if not proof["holds"]] +
                 [row for row in info["memory"] if row["state"] == "damaged"])
        if os.environ.get("HS_FAULTS_SHOW"):
            print(f"{what}: {missing} missing, {signs[:2]}")
        check(-1 <= missing <= hides, f"{what}: {missing} of {self.whole[0]} blocks are missing, "
              f"at most {hides} can be: {signs}")
        check(signs or silent, f"{what}: nothing is said about it")
        return missing

    def end(self):
        self.memory.close()
        self.target.end()


def chunk(block):
    return block[0] - WORD


def glibc():
    heap = Heap({"LD_PRELOAD": ""})
    heap.damaged("nothing", [], 0, silent=True)
    n = 1
    # Only small ones of the program's first arena lie side by side.
    small = [b for b in heap.blocks if b[1] < 2000 and not b[2]]
    middle = small[len(small) // 2]
    size = heap.word(chunk(middle))
    sizes = {"zero": 0, "eight": 8, "one": 1, "huge": 1 << 60 | 1, "all": -1, "odd": size + 8,
             "text": 0x4141414141414141, "less": size - 16 if size > 48 else size + 32,
             "more": size + 16, "end of memory": (1 << 47) - middle[0] | 1,
             "of an arena": size | 4, "mapped": size | 2}
    for name, word in sizes.items():
        heap.damaged(f"size {name}", [(chunk(middle), word)], 40)
        n += 1
    many = [(chunk(b), 0x4141414141414141) for b in small[100:1100:100]]
    heap.damaged("ten sizes", many, 400)
    runs = [(at, 0x4242424242424242) for b in small[300:310] for at in range(chunk(b), b[0], WORD)]
    heap.damaged("ten in a row", runs, 60)
    for name, word in {"nowhere": 0x4141414141414141, "null": 0, "itself": None,
                       "a block": middle[0], "the array": int(heap.target.lines("ARRAY")[0][0], 16)
                       }.items():
        for i in [1, 10, 100, len(heap.free) - 5]: # of the thread cache, of bins, of both arenas
            at = heap.free[i][0]
            word_here = at if word is None else word
            # One link: the list behind it is lost, and looks like blocks or is found by its chunks.
            heap.plan(f"link {i} to {name}", [(at, word_here)], 60, silent=True)
            heap.plan(f"back link {i} to {name}", [(at + WORD, word_here)], 60, silent=True)
    arena_heap = next(a for a, size, of in heap.blocks if of and size < 2000) & -HEAP_BYTES
    in_thread = sum(1 for b in heap.blocks if b[2])
    for at, name in [(arena_heap, "arena"), (arena_heap + WORD, "previous"),
                     (arena_heap + 2 * WORD, "size"), (arena_heap + 3 * WORD, "mprotect size")]:
        for word in [0, -1, 0x4141414141414141, arena_heap, middle[0]]:
            heap.plan(f"{name} of a heap: {word & (1 << 64) - 1:#x}", [(at, word)], in_thread,
                         silent=True)
    arena = heap.word(arena_heap)
    check(arena - arena_heap < 64, f"the arena is at {arena:#x}, its heap at {arena_heap:#x}")
    top = heap.word(arena + 0x60)
    for name, at in {"top": arena + 0x60, "top size": top + WORD, "next": arena + TO_NEXT_ARENA,
                     "fast bin": arena + 0x10, "bin": arena + 0x70,
                     "system memory": arena + 0x888}.items():
        for word in [0, -1, 8, 0x4141414141414141, arena, top, middle[0]]:
            heap.plan(f"{name} of an arena: {word & (1 << 64) - 1:#x}", [(at, word)],
                         heap.whole[0] if name == "next" else in_thread, silent=True)
    n += heap.run_planned(30)
    heap.end()
    return f"{n} damages"


def regions(pid):
    for line in open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace"):
        fields = line.split()
        begin, end = (int(word, 16) for word in fields[0].split("-"))
        if fields[1].startswith("rw-p") and (len(fields) < 6 or fields[5].startswith("[anon")
                                             or fields[5] == "[heap]"):
            yield begin, end


def jemalloc():
    """Whatever word of its own tables is changed. They lie where no block does."""
    path = subprocess.run(["gcc", "-print-file-name=libjemalloc.so.2"], capture_output=True,
                          text=True, check=True).stdout.strip()
    if not os.path.exists(path):
        return "left out: no jemalloc"
    heap = Heap({"LD_PRELOAD": path})
    heap.damaged("nothing", [], 0, silent=True)
    in_use = {a + i >> 12 for a, n, _ in heap.blocks + heap.free for i in range(0, n + 4096, 4096)}
    array = int(heap.target.lines("ARRAY")[0][0], 16)
    slabs = {a & -4096 for a, n, _ in heap.blocks if n < 14336}
    words = {}
    for begin, end in regions(heap.pid):
        if begin <= array < end:
            continue
        for page in range(begin, min(end, begin + (64 << 20)), 4096):
            if page >> 12 not in in_use:
                heap.memory.seek(page)
                found = struct.unpack("512Q", heap.memory.read(4096))
                words.update((page + i * WORD, word) for i, word in enumerate(found) if word)
    # The second word of an extent is the address of its slab; an entry of a leaf leads to an
    # extent, with its size class above.
    extents = [at for at, word in words.items() if word in slabs and (at - WORD) % 128 == 0]
    first = {at - WORD for at in extents}
    leaves = [at for at, word in words.items() if word >> 48 and word & 0xffff_ffff_ff80 in first]
    check(extents and leaves, "no tables of jemalloc")
    n = missing = 0
    for what, places in [("extents", extents), ("leaves", leaves), ("tables", list(words))]:
        for _ in range(turns(7)):
            at = random.choice(places)
            if what == "extents": # also its flags, size, bitmap
                at += random.choice([-8, 0, 8, 16, 56, 64, 72])
            old = heap.word(at)
            word = random.choice([0, (1 << 64) - 1, 0x4141414141414141, old + 4096, old << 1,
                                  old ^ 1 << random.randrange(64), heap.blocks[0][0]])
            most = 512 if what == "extents" else 600 if what == "leaves" else heap.whole[0]
            missing += heap.damaged(f"{what}: {old:#x} at {at:#x} to {word & (1 << 64) - 1:#x}",
                                    [(at, word)], most, silent=True)
            n += 1
    heap.end()
    return f"{n} damages hide {missing / n:.1f} of {heap.whole[0]} blocks each"


main(glibc, jemalloc)
END_OF_TEST
