"""Writes allocation traces in memtrace's format, version 2: without any of its compression, so that
what is in them is plain. Times are microseconds since the trace began."""

import struct

MAGIC = 0xC1FC1FC1


def vint(n):
    if 0 <= n < 253:
        return bytes([n])
    if 0 <= n < 1 << 16:
        return b"\xfd" + struct.pack("<H", n)
    if -(1 << 31) <= n < 1 << 31:
        return b"\xfe" + struct.pack("<i", n)
    return b"\xff" + struct.pack("<q", n)


def text(string):
    return string.encode() + b"\0"


class Trace:
    def __init__(self, pid=4242, begun_us=1_500_000_000_000_000, rate=0.01, executable="coqtop",
                 version=2):
        self.pid, self.begun_us, self.version = pid, begun_us, version
        self.packets, self.events, self.codes = [], b"", {}
        self.next_id = self.first_id = 0
        self.first_us = self.last_us = begun_us
        self.event(0, 0, struct.pack("<d", rate) + bytes([64]) + text(executable) + text("host")
                   + text("") + struct.pack("<Q", pid) + text("a test"))
        self.flush()

    def event(self, time_us, kind, body):
        at = self.begun_us + time_us
        if self.events and at - self.first_us > 30_000_000: # the low bits of a time wrap after 33 s
            self.flush()
        if not self.events:
            self.first_us, self.first_id = at, self.next_id
        self.last_us = at
        self.events += struct.pack("<I", (at & 0x1FFFFFF) | kind << 25) + body

    def flush(self):
        """Ends the packet: a trace file holds whole packets only."""
        header = struct.pack("<IIQQIHQHHQQQ", MAGIC, 8 * (66 + len(self.events)), self.first_us,
                             self.last_us, 0, self.version, self.pid, 0xFFFF, 0, 0, self.first_id,
                             self.next_id)
        if self.events:
            self.packets.append(header + self.events)
        self.events = b""

    def code(self, *frames):
        """The code of (function, file, line), or of several that were inlined, the outermost
        first; defined in a packet of its own."""
        if frames in self.codes:
            return self.codes[frames]
        code = self.codes[frames] = 0x1000 + 16 * len(self.codes)
        waiting, self.events = self.events, b""
        kept = self.first_us, self.last_us, self.first_id
        body = struct.pack("<QB", code, len(frames))
        for function, file, line in frames:
            # Every name is written anew: file code 31, name code 31.
            record = line | 0 << 20 | 1 << 28 | 31 << 38 | 31 << 43
            body += record.to_bytes(6, "little") + text(file) + text(function)
        self.event(kept[1] - self.begun_us if waiting else 0, 1, body)
        self.flush()
        self.events = waiting
        self.first_us, self.last_us, self.first_id = kept
        return code

    def alloc(self, time_us, words, codes=(), n_samples=1, source=0):
        """`codes` the outermost first. The id."""
        body = vint(words) + vint(n_samples) + bytes([source]) + vint(0)
        body += struct.pack("<H", len(codes))
        for code in codes:
            body += struct.pack("<HQ", 3, code) # a miss, in slot 0
        self.event(time_us, 2, body)
        self.next_id += 1
        return self.next_id - 1

    def promote(self, time_us, id):
        self.event(time_us, 3, vint(self.next_id - 1 - id))

    def collect(self, time_us, id):
        self.event(time_us, 4, vint(self.next_id - 1 - id))

    def bytes(self):
        self.flush()
        return b"".join(self.packets)

    def write(self, path):
        with open(path, "wb") as file:
            file.write(self.bytes())
        return path
