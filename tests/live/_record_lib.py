"""Runs programs with the recorder inside, reads its table from outside, and compares."""

import os
import re
import struct
import subprocess
import sys

import _record_decode

WORK = os.environ["HEAPSNAP_WORK"]
BIN = os.path.join(os.environ["BUILD_DIR"], "bin")
LIBRARY = os.path.join(BIN, "libheapsnap-record.so")
SOURCE = os.environ["SOURCE_DIR"]
FIXTURES = os.path.join(SOURCE, "tests/live/fixtures")
ANCHOR = "heapsnap_record_anchor"
ANCHOR_FORM = "<QIIIIQQQQQQQQ256s"


def check(truth, message):
    if not truth:
        sys.exit("FAILED: " + message)


def compile_c(source, output, *options, compiler="gcc"):
    path = os.path.join(WORK, output)
    subprocess.run([compiler, "-O2", "-g", "-w", "-o", path, os.path.join(FIXTURES, source),
                    "-I", os.path.join(SOURCE, "include"), "-pthread", *options], check=True)
    return path


def program(*options, name="record_program"):
    return compile_c("record_program.c", name, *options)


def trace_path(name="trace"):
    return os.path.join(WORK, name + ".ctf")


class Target:
    """One program, resting. Settings are HEAPSNAP_RECORD_*, in lower case and without that."""

    def __init__(self, *command, preload=(LIBRARY,), limits=None, **settings):
        env = dict(os.environ)
        env["LD_PRELOAD"] = ":".join(preload)
        for name, value in settings.items():
            env["HEAPSNAP_RECORD_" + name.upper()] = str(value)
        self.errors = open(os.path.join(WORK, "errors"), "w+", encoding="utf-8")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors, env=env, text=True, close_fds=False,
                                        preexec_fn=limits)
        self.pid, self.blocks = self.process.pid, {}
        for line in self.process.stdout:
            words = line.split()
            if words[0] == "READY":
                return
            if words[0] == "block":
                self.blocks[int(words[1], 16)] = int(words[2])
        sys.exit("FAILED: %s: ended with %s: %s" % (command, self.process.wait(), self.said()))

    def said(self):
        self.errors.seek(0)
        return self.errors.read()

    def end(self):
        self.process.stdin.close()
        check(self.process.wait() == 0, "the program ended with %d" % self.process.returncode)
        return self.said()

    def table(self):
        return Table(self.pid)


def symbol_of(path):
    for flags in (["-D"], []):
        text = subprocess.run(["nm", *flags, path], capture_output=True, text=True,
                              check=False).stdout
        match = re.search(r"^([0-9a-f]+) \w " + ANCHOR + "$", text, re.M)
        if match:
            return int(match.group(1), 16)
    return None


def anchor_of(pid):
    seen = set()
    with open("/proc/%d/maps" % pid, encoding="utf-8") as maps:
        for line in maps:
            fields = line.split()
            if len(fields) < 6 or fields[2] != "00000000" or fields[5] in seen:
                continue
            seen.add(fields[5])
            value = symbol_of(fields[5]) if fields[5].startswith("/") else None
            if value is not None:
                with open(fields[5], "rb") as file:
                    is_fixed = file.read(17)[16:] == b"\2"
                return value if is_fixed else value + int(fields[0].split("-")[0], 16)
    return None


class Table:
    """`slots`: address -> (id, bytes, frames, n_samples)."""

    def __init__(self, pid):
        with open("/proc/%d/mem" % pid, "rb", buffering=0) as memory:
            at = anchor_of(pid)
            check(at is not None, "no anchor")
            values = struct.unpack(ANCHOR_FORM, self.bytes_at(memory, at, 344))
            (self.magic, self.version, self.n_bytes, self.pid, self.is_on, self.period, self.begun,
             self.n_samples, self.n_lost, slots, n_slots, stacks, n_stacks, path) = values
            self.path = path.split(b"\0")[0].decode()
            self.slots, self.n_slots = {}, n_slots
            if self.magic == 0:
                return
            check(self.magic.to_bytes(8, "little") == b"hsnrec01", "magic")
            stack_bytes = self.bytes_at(memory, stacks, n_stacks)
            data = self.bytes_at(memory, slots, n_slots * 32)
        used = []
        for i in range(n_slots):
            address, ident, size, stack, count = struct.unpack_from("<QQQII", data, 32 * i)
            used.append(address != 0)
            if address > 1:
                check(address not in self.slots, "an address is twice in the table")
                self.slots[address] = (ident, size, self.frames(stack_bytes, stack), count, i)
        for address, slot in self.slots.items(): # is found from its hash on
            at = (((address >> 4) * 0x9E3779B97F4A7C15) & (2**64 - 1)) >> 20 & (n_slots - 1)
            while at != slot[4]:
                check(used[at], "a slot cannot be found")
                at = (at + 1) & (n_slots - 1)

    @staticmethod
    def bytes_at(memory, at, n_bytes):
        memory.seek(at)
        data = b""
        while len(data) < n_bytes:
            data += memory.read(n_bytes - len(data))
        return data

    @staticmethod
    def frames(data, stack):
        if stack == 0:
            return ()
        n_frames = struct.unpack_from("<I", data, 8 * stack)[0]
        check(1 <= n_frames <= 128, "frames")
        return struct.unpack_from("<%dQ" % n_frames, data, 8 * stack + 16)


def same_live(table, trace):
    """What lives by the table is what lives by the trace, id by id."""
    by_id = {slot[0]: slot for slot in table.slots.values()}
    live = trace.live()
    check(set(by_id) == set(live), "live: %d in the table, %d in the trace; differ: %s" % (
        len(by_id), len(live), sorted(set(by_id) ^ set(live))[:10]))
    for ident, slot in by_id.items():
        alloc = live[ident]
        check(alloc.words == max(1, (slot[1] + 7) // 8), "size of %d" % ident)
        check(alloc.n_samples == slot[3], "samples of %d" % ident)
        check(tuple(f & (1 << 48) - 1 for f in alloc.frames) == slot[2],
              "frames of %d" % ident)


def all_known(target, table, others):
    """At a rate of 1: every block that the program holds, and no other of its own."""
    for address, n_bytes in target.blocks.items():
        slot = table.slots.get(address)
        check(slot is not None, "block %x of %d bytes is no sample" % (address, n_bytes))
        check(slot[1] == n_bytes and slot[3] == max(1, n_bytes), "block %x: %s" % (address, slot))
    rest = {a: s for a, s in table.slots.items() if a not in target.blocks}
    check(len(rest) <= others, "%d blocks that the program does not hold" % len(rest))


read_trace = _record_decode.read
