#!/usr/bin/env python3
"""A reader of heap.snap written from docs/format.md alone: proof that the document suffices.

    second_reader.py FILE          prints the figures of the file as `name value` lines

Nothing but the standard library and zstd's. It verifies every hash and counts everything again.
Exit 1 with a message when the file is not a sound snapshot.
"""
import ctypes
import ctypes.util
import math
import struct
import sys

MASK = (1 << 64) - 1
P1, P2, P3, P4, P5 = (11400714785074694791, 14029467366897019727, 1609587929392839161,
                      9650029242287828579, 2870177450012600261)
NAMES = ("?", "STRINGS", "META", "ROOTS", "SIZES", "BLOCK_TYPES", "EDGES", "FIELDS", "EXTRA",
         "TYPES", "SAMPLES", "HISTOGRAM", "TRAILER")
CHUNK = 65536


def open_zstd():
    """libzstd; None where there is none."""
    name = ctypes.util.find_library("zstd")
    if name is None:
        return None
    library = ctypes.CDLL(name)
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p,
                                        ctypes.c_size_t]
    return library


ZSTD = open_zstd()


class Bad(Exception):
    pass


def need(holds, what):
    if not holds:
        raise Bad(what)


def rotl(x, n):
    return ((x << n) | (x >> (64 - n))) & MASK


def lane(acc, word):
    return rotl((acc + word * P2) & MASK, 31) * P1 & MASK


def xxh64(data, seed):
    """XXH64 as its specification has it."""
    at, n = 0, len(data)
    if n >= 32:
        v = [(seed + P1 + P2) & MASK, (seed + P2) & MASK, seed, (seed - P1) & MASK]
        while at + 32 <= n:
            v = [lane(a, w) for a, w in zip(v, struct.unpack_from("<4Q", data, at))]
            at += 32
        h = (rotl(v[0], 1) + rotl(v[1], 7) + rotl(v[2], 12) + rotl(v[3], 18)) & MASK
        for a in v:
            h = ((h ^ lane(0, a)) * P1 + P4) & MASK
    else:
        h = (seed + P5) & MASK
    h = (h + n) & MASK
    while at + 8 <= n:
        h = (rotl(h ^ lane(0, struct.unpack_from("<Q", data, at)[0]), 27) * P1 + P4) & MASK
        at += 8
    if at + 4 <= n:
        h = (rotl(h ^ struct.unpack_from("<I", data, at)[0] * P1 & MASK, 23) * P2 + P3) & MASK
        at += 4
    for byte in data[at:]:
        h = rotl(h ^ byte * P5 & MASK, 11) * P1 & MASK
    h = (h ^ h >> 33) * P2 & MASK
    h = (h ^ h >> 29) * P3 & MASK
    return h ^ h >> 32


class Bytes:
    """The contents of one section."""

    def __init__(self, data, what, version):
        self.data, self.at, self.what, self.version = data, 0, what, version

    def byte(self):
        need(self.at < len(self.data), self.what + " ends early")
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            need(value <= MASK and shift <= 63, self.what + ": a malformed number")
            if byte < 128:
                return value
            shift += 7

    def zigzag(self):
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def u64(self):
        need(self.at + 8 <= len(self.data), self.what + " ends early")
        self.at += 8
        return struct.unpack_from("<Q", self.data, self.at - 8)[0]

    def text(self):
        end = self.data.find(b"\0", self.at)
        need(end > self.at, self.what + ": an empty or unended string")
        text = self.data[self.at:end]
        self.at = end + 1
        return text

    def done(self):
        need(self.at == len(self.data), self.what + ": bytes are left over")

    def column(self, form, n, max_value):
        values, before = [], 0
        for _ in range(n):
            if "fixed" in form:
                value = self.u64()
            elif "delta" in form:
                value = before = (before + self.zigzag()) & MASK
            else:
                value = self.varint()
            need(value <= max_value, "%s: %d is over its limit" % (self.what, value))
            if "+1" in form:
                value = None if value == 0 else value - 1
            values.append(value)
        return values

    def table(self, columns, n, strings):
        limits = {"string": strings, "16": 65535, "32": (1 << 32) - 1}
        result = {}
        for name, form, limit in of_version(columns, self.version):
            top = limits.get(limit, MASK) if isinstance(limit, str) else limit
            result[name] = self.column(form, n, top)
        return result

    def list(self, columns, strings=0):
        n = self.varint()
        n_columns = len(of_version(columns, self.version))
        need(n * n_columns <= len(self.data) - self.at, self.what + ": a count too high")
        return n, self.table(columns, n, strings)

    def runs(self, n):
        values = []
        while len(values) < n:
            value, length = self.varint(), self.varint()
            need(1 <= length <= n - len(values), self.what + ": malformed runs")
            values += [value] * length
        return values


def of_version(columns, version):
    """A column that has a fourth member is there since that version of the format; a limit that is
    a pair is one for version 1 and one for those after it."""
    return [(name, form, limit[version > 1] if isinstance(limit, tuple) else limit)
            for name, form, limit, *since in columns if not since or since[0] <= version]


FACTS = (("pid", "", "32"), ("command", "", "string"), ("tool_version", "", "string"),
         ("pause_ns", "", ""), ("read_bytes", "", ""), ("n_stop_attempts", "", "32"),
         ("resident_bytes", "", "", 2), ("stop_way", "", 4, 2), ("predicted_ns", "", "", 2),
         ("growth_bytes", "", "", 2), ("why_no_copy", "", "string", 2), ("taken_ns", "", "", 2),
         ("started_ns", "", "", 2))
RUNTIMES = (("name", "", "string"), ("version", "", "string"), ("certainty", "", 3))
PROOFS = (("what", "", "string"), ("expected", "", ""), ("found", "", ""), ("holds", "", 1))
BINARIES = (("path", "", "string"), ("build_id", "", "string"), ("begin", "delta", ""),
            ("has_symtab", "", 1), ("has_debug_info", "", 1), ("debug_file", "", "string", 2))
UNREADABLE = (("begin", "delta", ""), ("end", "delta", ""))
NOTES = (("text", "", "string"), ("is_gap", "", 1))
MEMORY = (("owner", "", "string"), ("state", "", 6), ("bytes", "", ""),
          ("resident_bytes", "", ""), ("n_blocks", "", ""))
SAMPLERS = (("kind", "", 3), ("period_words", "fixed", ""), ("begun_ns", "", ""),
            ("n_lost", "", ""), ("trace", "", "string"))
ROOTS = (("parent", "delta", ""), ("level", "", (4, 5)), ("kind", "", 11), ("certainty", "", 2),
         ("weak", "", 1), ("edge_class", "", 3, 2), ("tier", "", 2, 3), ("target", "delta +1", ""),
         ("address", "delta", ""), ("offset", "delta", ""), ("field", "+1", "32"),
         ("line", "delta", "32"),
         ("char_begin", "", "32"), ("char_end", "", "32"), ("thread", "delta", "32"),
         ("frame", "delta", "32"), ("name", "delta", "string"), ("module", "delta", "string"),
         ("symbol", "delta", "string"), ("file", "delta", "string"),
         ("function", "delta", "string"), ("reason", "", 255, 4))
TYPES = (("name", "delta", "string"), ("tag", "", "16"), ("form", "", (11, 17)),
         ("stride_bytes", "", "", 2))
MEMBERS = (("type", "delta", ""), ("offset_bytes", "delta", ""), ("name", "delta", "string"),
           ("type_name", "delta", "string"))
SAMPLES = (("id", "delta", ""), ("node", "delta +1", ""), ("n_samples", "", ""),
           ("words", "", ""), ("state", "", 1), ("sampler", "", "32", 2), ("site", "+1", "32", 2))
FRAMES = (("site", "delta", "32"), ("function", "delta", "string"), ("file", "delta", "string"),
          ("module", "delta", "string"), ("line", "delta", "32"), ("offset", "delta", ""))
TOTALS = tuple((name, "", "") for name in (
    "n_tree", "n_blocks", "n_edges", "n_extra_edges", "n_static_blocks", "heap_words",
    "static_words", "n_types", "n_samples", "n_strings", "n_chunks")) + (
        ("n_members", "", "", 2), ("n_doubtful_edges", "", "", 3))
CHUNKS = (("n_edges", "", ""), ("n_extra", "", ""), ("first_address", "delta", ""))
SECTIONS = (("kind", "", 12), ("flags", "", 1), ("id", "", ""), ("raw_bytes", "", ""),
            ("stored_bytes", "", ""), ("hash", "fixed", ""))


class Snapshot:
    def __init__(self, data):
        self.data = data
        self.sections = []
        self.strings = [b""]
        self.members = {}
        self.block_counts = []  # of containers: block, elements, room
        self.reasons = [0] * 256  # how many edges have each
        self.counted = dict.fromkeys((name for name, *_ in TOTALS), 0)
        self.header()
        self.heads()
        self.front()
        self.back_tables()
        self.chunks()
        self.end()

    def header(self):
        data = self.data
        need(len(data) >= 64 and data[:8] == b"\x89HSNAP\r\n", "not a snapshot")
        version, flags, self.word_bytes = struct.unpack_from("<IHH", data, 8)
        self.n_blocks, found = struct.unpack_from("<QQ", data, 16)
        need(version in (1, 2, 3, 4, 5), "version %d" % version)
        self.version = version
        need(found == xxh64(data[:24], 0), "the header is damaged")
        words = (1, 4, 8) if version >= 2 else (4, 8)
        need(flags == 0 and self.word_bytes in words, "the header is damaged")
        self.n_chunks = -(-self.n_blocks // CHUNK)

    def expected(self):
        yield from ((1, 1), (2, 0), (3, 0))
        for chunk in range(self.n_chunks):
            yield from ((kind, chunk) for kind in range(4, 9))
        yield from ((9, 0), (10, 0), (1, None), (11, 0), (12, 0))

    def heads(self):
        data, at = self.data, 32
        self.checksum = xxh64(data[:32], 0)
        for kind, number in self.expected():
            need(at + 40 <= len(data), "cut at byte %d" % len(data))
            head = struct.unpack_from("<IIQQQQ", data, at)
            need(head[0] == kind and number in (None, head[2]) and head[1] <= 1,
                 "the head at byte %d is damaged" % at)
            need(at + 40 + head[4] <= len(data), "cut at byte %d" % len(data))
            stored = data[at + 40:at + 40 + head[4]]
            need(head[5] == xxh64(stored, xxh64(data[at:at + 32], 0)),
                 "section %s at byte %d is damaged" % (NAMES[kind], at))
            self.checksum = xxh64(data[at:at + 40], self.checksum)
            self.sections.append((head, stored))
            self.trailer_offset = at
            at += 40 + head[4]
        need(at + 32 == len(data), "cut, or too long")
        trailer, size, checksum = struct.unpack_from("<QQQ", data, at)
        need(data[at + 24:] == b"\x89HSEND\r\n" and trailer == self.trailer_offset and
             size == len(data) and checksum == self.checksum, "the footer is damaged")

    def contents(self, at):
        head, stored = self.sections[at]
        what = "%s %d" % (NAMES[head[0]], head[2])
        if head[1] & 1:
            need(head[3] <= 4 * 1024 * 1024 + 1024 * head[4], what + " claims too much")
            raw = ctypes.create_string_buffer(max(head[3], 1))
            size = ZSTD.ZSTD_decompress(raw, head[3], stored, len(stored))
            need(size == head[3], what + " does not unpack to the size that it claims")
            stored = raw.raw[:size]
        need(len(stored) == head[3], what + " has another size than it claims")
        return Bytes(stored, what, self.version)

    def read_strings(self, at):
        c = self.contents(at)
        need(self.sections[at][0][2] == len(self.strings), "strings begin elsewhere")
        self.strings += [c.text() for _ in range(c.varint())]
        c.done()

    def front(self):
        self.read_strings(0)
        n_strings = len(self.strings) - 1
        c = self.contents(1)
        self.facts = {k: v[0] for k, v in c.table(FACTS, 1, n_strings).items()}
        for columns in (RUNTIMES, PROOFS, BINARIES, UNREADABLE, NOTES):
            c.list(columns, n_strings)
        self.memory = c.list(MEMORY, n_strings)[1] if self.version >= 2 else {"owner": []}
        self.samplers = {"kind": [0], "period_words": [0], "begun_ns": [0], "n_lost": [0],
                         "trace": [0]}
        if self.version >= 2:
            self.samplers = c.list(SAMPLERS, n_strings)[1]
        self.samplers["period_words"] = [struct.unpack("<d", struct.pack("<Q", bits))[0]
                                         for bits in self.samplers["period_words"]]
        need(all(math.isfinite(period) and period >= 0 for period in self.samplers["period_words"]),
             "a period that cannot be")
        c.done()
        c = self.contents(2)
        self.n_tree, self.roots = c.list(ROOTS, n_strings)
        c.done()
        if self.version == 1:  # which has no variables
            self.roots["level"] = [5 if level == 4 else level for level in self.roots["level"]]
            self.roots["edge_class"] = [0] * self.n_tree
        if self.version < 3:  # which has no tiers
            self.roots["tier"] = [
                2 if level == 5 and (edge_class >= 2 or kind == 5) else 0
                for level, edge_class, kind in zip(self.roots["level"], self.roots["edge_class"],
                                                   self.roots["kind"])]
        if self.version < 4:  # which has no reasons
            self.roots["reason"] = [0] * self.n_tree
        self.verify_tree()
        self.in_degree = [0] * -(-self.n_blocks // 1024)
        for target, weak in zip(self.roots["target"], self.roots["weak"]):
            if target is not None and not weak:
                self.in_degree[(target - self.n_tree) // 1024] += 1

    def is_block(self, node):
        return self.n_tree <= node < self.n_tree + self.n_blocks

    def verify_tree(self):
        roots = self.roots
        need(self.n_tree >= 1, "no node 0")
        for node in range(self.n_tree):
            parent, level = roots["parent"][node], roots["level"][node]
            need((level == 0) == (node == 0), "node 0 alone is at level 0")
            need(parent == 0 if node == 0 else parent < node, "a parent after its child")
            above = roots["level"][parent]
            need(node == 0 or (above < level if self.version == 1 else
                               above + 1 == level or (above, level) == (3, 5)),
                 "a level %d below a level %d" % (level, above))
            target = roots["target"][node]
            need(target is None or self.is_block(target), "a bad target")
            need(level == 5 or (target is None and roots["edge_class"][node] == 0),
                 "what is no leaf has a target")
            need(level == 5 or roots["tier"][node] == 0, "what is no leaf has a tier")
            need(level == 5 or roots["reason"][node] == 0, "what is no leaf has a reason")

    def back_tables(self):
        at = 3 + 5 * self.n_chunks
        self.read_strings(at + 2)
        n_strings = len(self.strings) - 1
        c = self.contents(at)
        self.counted["n_types"], self.types = c.list(TYPES, n_strings)
        if self.version >= 2:
            self.counted["n_members"], self.members = c.list(MEMBERS, n_strings)
            self.verify_members()
        c.done()
        c = self.contents(at + 1)
        self.counted["n_samples"], samples = c.list(SAMPLES)
        self.frames = c.list(FRAMES, n_strings)[1] if self.version >= 2 else {"site": []}
        c.done()
        samples.setdefault("sampler", [0] * len(samples["id"]))
        samples.setdefault("site", [None] * len(samples["id"]))
        self.samples = samples
        self.verify_samples()

    def verify_samples(self):
        samples, n_sites = self.samples, 0
        for site in self.frames["site"]:
            need(site in (n_sites, n_sites - 1) and site >= 0, "frames out of order")
            n_sites = site + 1
        order = list(zip(samples["id"], samples["sampler"]))
        need(order == sorted(order), "samples out of order")
        need(all(node is None or self.is_block(node) for node in samples["node"]), "a lost sample")
        need(all(sampler < len(self.samplers["kind"]) for sampler in samples["sampler"]),
             "a sample of no sampler")
        need(all(site is None or site < n_sites for site in samples["site"]), "a lost site")

    def verify_members(self):
        places = list(zip(self.members["type"], self.members["offset_bytes"]))
        need(places == sorted(places), "members out of order")
        for number, offset in places:
            need(number < self.counted["n_types"], "a member of no type")
            stride = self.types["stride_bytes"][number]
            need(stride == 0 or offset < stride, "a member beyond its element")

    def chunks(self):
        self.infos = []
        self.end_address = 0
        for chunk in range(self.n_chunks):
            first = self.n_tree + chunk * CHUNK
            n = min(CHUNK, self.n_blocks - chunk * CHUNK)
            at = 3 + 5 * chunk
            words, first_address = self.sizes(at, n)
            c = self.contents(at + 1)
            c.column("", n, self.counted["n_types"] - 1)
            self.counts(c, first, n)
            c.done()
            n_edges = self.edges(at + 2, first, n, words)
            n_extra = self.extra(at + 4, first, n, words)
            self.infos.append((n_edges, n_extra, first_address))
            self.counted["n_edges"] += n_edges
            self.counted["n_extra_edges"] += n_extra
            self.counted["n_blocks"] += n

    def sizes(self, at, n):
        c = self.contents(at)
        gaps = [c.varint() for _ in range(n)]
        words = [c.varint() for _ in range(n)]
        states = c.runs(n)
        c.done()
        end = 0
        for i in range(n):
            address = end + gaps[i]
            if i == 0:
                first = address
            end = address + words[i] * self.word_bytes
            need(words[i] >= 1 and end <= MASK and states[i] <= (3 if self.version == 1 else 15),
                 "a malformed block")
            static = states[i] & 1
            need(static or not states[i] & 4, "a mapping that counts as heap")
            self.counted["n_static_blocks"] += static
            self.counted["static_words" if static else "heap_words"] += words[i]
        need(first >= self.end_address, "chunks out of order")
        self.end_address = end
        return words, first

    def edges(self, at, first, n, words):
        c, fields = self.contents(at), self.contents(at + 1)
        degrees = [c.varint() for _ in range(n)]
        need(sum(degrees) <= len(c.data), "too many edges")
        classes = fields.runs(sum(degrees)) if self.version >= 3 else None
        for i, degree in enumerate(degrees):
            target = offset = None
            for _ in range(degree):
                if target is None:
                    target, offset = first + i + c.zigzag(), fields.varint()
                else:
                    gap = c.varint()
                    before, offset = offset, offset + 1 + fields.zigzag()
                    need(gap != 0 or offset >= before, "edges out of order")
                    target += gap
                need(self.is_block(target), "an edge to nowhere")
                need(0 <= offset < words[i], "an edge from outside its block")
                self.in_degree[(target - self.n_tree) // 1024] += 1
        if classes is None:
            classes = fields.runs(sum(degrees))
        need(all(k <= 3 for k in classes), "an edge of an unknown class")
        n_doubtful = sum(k >= 2 for k in classes)
        self.counted["n_doubtful_edges"] += n_doubtful
        self.count_reasons(fields.runs(n_doubtful) if self.version >= 4 else [0] * n_doubtful)
        c.done()
        fields.done()
        return sum(degrees)

    def counts(self, c, first, n):
        if self.version < 5 or c.at == len(c.data):
            return
        number, at = c.varint(), 0
        need(1 <= number <= n, "a number of counts over its limit")
        for _ in range(number):
            at += c.varint() + 1
            entries, room = c.varint(), c.varint() - 1
            need(at <= n, "a count of no block")
            need(room < 0 or entries <= room, "more elements than room")
            self.block_counts.append((first + at - 1, entries, None if room < 0 else room))

    def count_reasons(self, reasons):
        for reason in reasons:
            need(reason <= 255, "a reason over its limit")
            self.reasons[reason] += reason != 0

    def extra(self, at, first, n, words):
        c = self.contents(at)
        count, source, before = c.varint(), first, None
        for _ in range(count):
            source += c.varint()
            target = source + c.zigzag()
            offset, edge_class = c.varint(), c.varint()
            reason = c.varint() if self.version >= 4 else 0
            need(reason == 0 or edge_class == 5, "a reason of what is not weak")
            self.count_reasons([reason])
            need(source < first + n and self.is_block(target) and
                 offset < words[source - first] and 4 <= edge_class <= 6, "a bad extra edge")
            need(before is None or before <= (source, target), "extra edges out of order")
            before = (source, target)
        c.done()
        return count

    def end(self):
        at = 3 + 5 * self.n_chunks
        c = self.contents(at + 3)
        need(c.varint() == len(self.in_degree), "a histogram of another length")
        need([c.varint() for _ in self.in_degree] == self.in_degree, "the histogram is wrong")
        c.done()
        c = self.contents(at + 4)
        totals = {k: v[0] for k, v in c.table(TOTALS, 1, 0).items()}
        n_chunks, infos = c.list(CHUNKS)
        n_sections, heads = c.list(SECTIONS)
        c.done()
        self.counted.update(n_tree=self.n_tree, n_strings=len(self.strings) - 1,
                            n_chunks=self.n_chunks)
        totals.setdefault("n_members", 0)
        if self.version < 3:
            totals["n_doubtful_edges"] = self.counted["n_doubtful_edges"] = -1  # unknown
        need(totals == self.counted, "the totals are wrong")
        need(list(zip(*infos.values())) == self.infos and n_chunks == self.n_chunks,
             "the list of chunks is wrong")
        need(list(zip(*heads.values())) == [head for head, _ in self.sections[:-1]] and
             n_sections == len(self.sections) - 1, "the list of sections is wrong")

    def text(self, string):
        return self.strings[string].decode("latin-1")

    def report(self):
        print("version", self.version)
        print("word_bytes", self.word_bytes)
        print("pid", self.facts["pid"])
        print("command", self.text(self.facts["command"]))
        for name, *_ in TOTALS:
            print(name, self.counted[name])
        print("resident_bytes", self.facts.get("resident_bytes", 0))
        print("stop", *(self.facts.get(name, 0)
                        for name in ("stop_way", "predicted_ns", "growth_bytes")),
              self.text(self.facts.get("why_no_copy", 0)))
        print("times", self.facts.get("taken_ns", 0), self.facts.get("started_ns", 0))
        for owner, *numbers in zip(*self.memory.values()):
            print("memory", self.text(owner), *numbers)
        print("checksum %016x" % self.checksum)
        for node in range(self.n_tree):
            if self.roots["level"][node] == 5:
                print("leaf", node, self.roots["target"][node], self.roots["edge_class"][node],
                      self.roots["tier"][node], self.roots["reason"][node],
                      self.text(self.roots["name"][node]))
        for count in self.block_counts:
            print("count", *count)
        for reason, n_edges in enumerate(self.reasons):
            if n_edges != 0:
                print("reason", reason, n_edges)
        for number, offset, name, type_name in zip(*self.members.values()):
            print("member", number, offset, self.text(name), self.text(type_name))
        self.report_samples()

    def report_samples(self):
        for kind, period, begun, lost, trace in zip(*self.samplers.values()):
            print("sampler", kind, "%.17g" % period, begun, lost, self.text(trace))
        columns = [self.samples[name] for name in ("id", "node", "n_samples", "words", "state",
                                                   "sampler", "site")]
        for values in zip(*columns):
            print("sample", *(-1 if value is None else value for value in values))
        for site, function, file, module, line, offset in zip(*self.frames.values()):
            print("frame", site, self.text(function), self.text(file), self.text(module), line,
                  offset)


def main(arguments):
    if len(arguments) != 2:
        print("usage: second_reader.py FILE", file=sys.stderr)
        return 2
    with open(arguments[1], "rb") as file:
        data = file.read()
    try:
        Snapshot(data).report()
    except Bad as bad:
        print("second_reader: %s" % bad, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
