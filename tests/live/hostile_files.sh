#!/usr/bin/env bash
# Programs of some hundred kilobytes whose files claim gigabytes: holes for sections, bombs for
# compressed ones, entries nested a hundred thousand deep. The dump ends soon, within the memory of
# an honest one, has all blocks, and says whose names it lacks.
. "$(dirname "$0")/_native.sh"
export HEAPSNAP work

python3 -B - <<'END'
import os, re, resource, struct, subprocess, sys, time, zlib

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


def dumped(path):
    """What is said of the dump of a program, and the memory that it took at most, in KiB."""
    with subprocess.Popen([path], stdout=subprocess.PIPE) as target:
        target.stdout.readline()
        out = path + ".snap"
        begun = time.monotonic()
        run = subprocess.run([HEAPSNAP, "dump", str(target.pid), "-o", out], capture_output=True,
                             timeout=120, text=True, check=False)
        print(f"{os.path.basename(path)}: {time.monotonic() - begun:.1f} s: {run.stderr.strip()}")
        target.kill()
    check(run.returncode == 0, run.stderr)
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
END
