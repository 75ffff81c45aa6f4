#!/usr/bin/env bash
# Programs of some hundred kilobytes whose files claim gigabytes: holes for sections, bombs for
# compressed ones, entries nested a hundred thousand deep. The dump ends soon, within the memory of
# an honest one, has all blocks, and says whose names it lacks. Of a core with a segment of most of
# all addresses, too. Time is that of the processor, and may be a tenth of what was once needed:
# only that comes to it, not a busy machine.
. "$(dirname "$0")/_native.sh"
export HEAPSNAP work

python3 -B - <<'END'
import os, re, resource, shutil, struct, subprocess, sys, zlib

HEAPSNAP, WORK = os.environ["HEAPSNAP"], os.environ["work"]
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
struct node { struct node *next; char *name; int values[4]; };
struct node *head;
int main(void)
{
    for (int i = 0; i < 1000; i++) {
        struct node *n = malloc(sizeof *n);
        n->next = head;
        n->name = malloc(20 + i % 50);
        head = n;
    }
    puts("ready");
    fflush(stdout);
    return pause();
}
"""
GIB = 1 << 30
PROGRAM_SECONDS = 30 # 5 minutes for a hole of 2 GiB
CORE_SECONDS = 2     # 20 for the core


def check(condition, text):
    if not condition:
        sys.exit(f"FAILED: {text}")


def path_of(name):
    return os.path.join(WORK, name)


def compiled(name, *arguments):
    with open(path_of("p.c"), "w", encoding="utf-8") as file:
        file.write(SOURCE)
    subprocess.run(["cc", *arguments, path_of("p.c"), "-o", path_of(name)], check=True)
    return path_of(name)


class Elf:
    """A program whose sections are put elsewhere: new contents or a hole at the end."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = bytearray(file.read())
        at, = struct.unpack_from("<Q", self.bytes, 40)
        n, names = struct.unpack_from("<HH", self.bytes, 60)
        self.headers = [list(struct.unpack_from("<IIQQQQIIQQ", self.bytes, at + 64 * i))
                        for i in range(n)]
        self.names = self.headers[names][4]

    def section(self, name):
        for header in self.headers:
            at = self.names + header[0]
            if self.bytes[at:self.bytes.index(0, at)].decode() == name:
                return header
        sys.exit(f"no {name}")

    def fill(self, name, content, flags):
        header = self.section(name)
        header[2], header[4], header[5] = flags, len(self.bytes), len(content)
        self.bytes += content

    def write(self, path, hole=None, n_hole=0):
        self.bytes += bytes(-len(self.bytes) % 8)
        at = len(self.bytes)
        end = at + 64 * len(self.headers)
        if hole is not None:
            header = self.section(hole)
            header[4], header[5] = (end + 4095) & ~4095, n_hole
            end = header[4] + n_hole
        struct.pack_into("<Q", self.bytes, 40, at)
        with open(path, "wb") as file:
            file.write(self.bytes)
            for header in self.headers:
                file.write(struct.pack("<IIQQQQIIQQ", *header))
            file.truncate(end)
        os.chmod(path, 0o755)
        check(os.stat(path).st_blocks * 512 < 4 << 20, f"{path} is small")
        return path


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run_dump(name, allowed, *words):
    """What is said of a dump."""
    before = processor_seconds()
    run = subprocess.run([HEAPSNAP, "dump", *words, "-o", path_of(name + ".snap")],
                         capture_output=True, timeout=600, text=True, check=False)
    took = processor_seconds() - before
    print(f"{name}: {took:.2f} s: {run.stderr.strip()}")
    check(run.returncode == 0, run.stderr)
    check(took < allowed, f"{name}: {took:.1f} s of processor time, {allowed} are allowed")
    return run


def dumped(path):
    """What is said of the dump of a program, and the memory that it took at most, in KiB."""
    with subprocess.Popen([path], stdout=subprocess.PIPE) as target:
        target.stdout.readline()
        run = run_dump(os.path.basename(path), PROGRAM_SECONDS, str(target.pid))
        target.kill()
    check(re.search(r"\b200[0-2] objects of", run.stderr), f"all blocks: {run.stderr}")
    return run.stderr, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss


honest = compiled("honest", "-g")
text, n_kib = dumped(honest)
check("claims more" not in text, text)

for section in [".debug_info", ".debug_line", ".debug_str", ".symtab", ".strtab"]:
    elf = Elf(honest)
    hostile = elf.write(path_of("hole" + section), section, 2 * GIB - 4080)
    text, n_kib = dumped(hostile)
    check(n_kib < 600 << 10, f"{section}: {n_kib} KiB")
    if section in (".debug_info", ".symtab", ".strtab"):
        check(f"names of '{hostile}' are incomplete: it claims more" in text, text)

bomb = zlib.compressobj(9)
packed = b"".join(bomb.compress(bytes(1 << 24)) for _ in range(48)) + bomb.flush()
elf = Elf(honest)
elf.fill(".debug_info", struct.pack("<IIQQ", 1, 0, 48 << 24, 1) + packed, 0x800)
text, n_kib = dumped(elf.write(path_of("bomb")))
check("claims more" in text, text)
check(n_kib < 600 << 10, f"bomb: {n_kib} KiB")

# Namespaces in namespaces: code 2 with a name of its own, then as many ends.
depth = 100000
entries = b"\1" + b"\2a\0" * depth + bytes(depth + 1)
head = struct.pack("<HIB", 4, 0, 8)
elf = Elf(honest)
elf.fill(".debug_info", struct.pack("<I", len(head) + len(entries)) + head + entries, 0)
elf.fill(".debug_abbrev", b"\1\x11\1\0\0\2\x39\1\3\x08\0\0\0", 0)
dumped(elf.write(path_of("nested")))


def core_of(path):
    """A core of a program; None where none can be made."""
    with subprocess.Popen([path], stdout=subprocess.PIPE) as target:
        target.stdout.readline()
        subprocess.run(["gcore", "-o", path_of("core"), str(target.pid)], capture_output=True,
                       check=False)
        target.kill()
        made = path_of(f"core.{target.pid}")
    return made if os.path.exists(made) else None


def heap_of(core):
    """Where the header of the segment of the heap is: the first large one that is writable."""
    at, = struct.unpack_from("<Q", core, 32)
    n, = struct.unpack_from("<H", core, 56)
    loads = [(struct.unpack_from("<IIQQQQQQ", core, at + 56 * i), at + 56 * i) for i in range(n)]
    heaps = [(place, load) for load, place in loads
             if load[0] == 1 and load[1] & 2 and load[5] >= 100 << 10]
    check(heaps, "no heap in the core")
    return heaps[0][0]


made = core_of(honest) if shutil.which("gcore") else None
if made is None:
    print("no core can be made here")
    sys.exit(0)
honest_said = run_dump("honest_core", CORE_SECONDS, "--core", made, "--exe", honest).stderr
with open(made, "rb") as file:
    core = bytearray(file.read())
struct.pack_into("<Q", core, heap_of(core) + 40, 0xc700000000042000) # p_memsz
with open(path_of("endless"), "wb") as file:
    file.write(core)
said = run_dump("endless_core", CORE_SECONDS, "--core", path_of("endless"), "--exe", honest).stderr
check(re.search(r"\b200[0-2] objects of", honest_said), f"all blocks of the core: {honest_said}")
check(re.search(r"\b200[0-2] objects of", said), f"all blocks of the endless core: {said}")
check("1 of its headers and notes" in " ".join(said.split()), said)
END
