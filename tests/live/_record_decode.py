"""Reads traces of the recorder: a decoder of memtrace's format, version 3, that shares nothing with
heapsnap's. It is strict: every packet must stand for itself, as the recorder promises."""

import struct

INFO, LOCATION, ALLOC, PROMOTION, COLLECTION = range(5)


class Alloc:
    __slots__ = ("id", "words", "n_samples", "source", "frames", "time")

    def __init__(self, *values):
        self.id, self.words, self.n_samples, self.source, self.frames, self.time = values


class Bytes:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values[0] if len(values) == 1 else values

    def vint(self):
        first = self.take("B")
        return first if first < 253 else self.take({253: "H", 254: "i", 255: "q"}[first])

    def string(self):
        end = self.data.index(0, self.at)
        text = self.data[self.at : end].decode(errors="surrogateescape")
        self.at = end + 1
        return text


class Trace:
    """`allocs` by id, in order; `freed`: id -> time; `places`: code -> (file, offset)."""

    def __init__(self, data):
        self.allocs, self.freed, self.places, self.info = {}, {}, {}, None
        self.n_packets, self.ids, self.begins = 0, 0, []
        at = 0
        while at < len(data):
            at += self.packet(data[at : at + 32768])

    def packet(self, data):
        head = struct.unpack_from("<IIQQIHQHHHQQQ", data)
        magic, bits, begin, end, _, version, pid, domain, slot, _, _, id_begin, id_end = head
        assert magic == 0xC1FC1FC1, "magic"
        assert version == 3 and domain == 0 and slot == 0xFFFF and bits % 8 == 0
        assert bits // 8 <= 32768 and bits // 8 <= len(data), "length"
        assert not self.begins or begin >= self.begins[-1], "times go back"
        assert begin <= end <= begin + 30_000_000
        self.begins.append(begin)
        self.n_packets += 1
        self.begin, self.end, self.next_id, self.pid = begin, end, id_begin, pid
        self.codes, self.last, self.file = {}, None, None
        assert self.info is None or pid == self.info["pid"], "packet of another process"
        body = Bytes(data[: bits // 8], 68)
        kinds = set()
        while body.at < bits // 8:
            kinds.add(self.event(body))
        assert body.at == bits // 8 and self.next_id == id_end, (self.next_id, id_end)
        assert len(kinds) == 1 or kinds <= {ALLOC, COLLECTION}, kinds
        return bits // 8

    def event(self, body):
        head = body.take("I")
        low, kind = head & 0x1FFFFFF, head >> 25
        low += (low < (self.begin & 0x1FFFFFF)) << 25
        self.time = (self.begin & ~0x1FFFFFF) + low
        assert self.begin <= self.time <= self.end, "time outside of its packet"
        {INFO: self.read_info, LOCATION: self.location, ALLOC: self.alloc,
         COLLECTION: self.collection}[kind](body)
        return kind

    def read_info(self, body):
        assert self.info is None and self.n_packets == 1
        rate, word = body.take("dB")
        executable, host, parameters = body.string(), body.string(), body.string()
        pid, context = body.take("Q"), body.string()
        assert word == 64 and pid == self.pid
        self.info = {"rate": rate, "executable": executable, "host": host, "pid": pid,
                     "parameters": parameters, "context": context, "begin": self.begin}

    def location(self, body):
        code, n = body.take("Q"), body.take("B")
        record = int.from_bytes(body.data[body.at : body.at + 6], "little")
        body.at += 6
        file_code, name_code = record >> 38 & 31, record >> 43
        assert n == 1 and name_code == 31 and file_code in (0, 31) and record & 0xFFFFF == 0
        if file_code == 31:
            self.file = body.string()
        name = body.string()
        assert self.file is not None and name.startswith("+0x")
        self.places[code] = (self.file, int(name, 16))

    def alloc(self, body):
        words, n_samples, source = body.vint(), body.vint(), body.take("B")
        n_common, n = body.vint(), body.take("H")
        assert n_samples >= 1 and source == 2
        if self.last is None:
            assert n_common == 0, "leans on the packet before"
            self.last = []
        assert n_common <= len(self.last)
        frames = self.last[:n_common]
        for _ in range(n):
            word = body.take("H")
            if word & 3 == 3:
                self.codes[word >> 2] = body.take("Q")
            else:
                assert word & 3 == 0
            frames.append(self.codes[word >> 2])
        self.last = frames
        assert self.next_id not in self.allocs
        self.allocs[self.next_id] = Alloc(self.next_id, words, n_samples, source,
                                          list(reversed(frames)), self.time)
        self.next_id += 1

    def collection(self, body):
        freed = self.next_id - 1 - body.vint()
        assert freed not in self.freed, "freed twice"
        self.freed[freed] = self.time

    def live(self):
        return {i: a for i, a in self.allocs.items() if i not in self.freed}


def read(path):
    with open(path, "rb") as file:
        return Trace(file.read())
