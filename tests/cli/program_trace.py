"""Makes up a program's run: modules, functions, backtraces, and allocations that are promoted and
collected. Writes it as memtrace's traces of any version, with all of the format's compression (the
cache of codes and its predictions, shared prefixes, lists of recent names, short events), and says
in text what a reader must make of it. Shares nothing with heapsnap's reader."""

import random
import struct

from ctf import MAGIC, text, vint

N_SLOTS, N_NAMES, NEW = 16384, 31, 31
SOURCES = {0: "alloc", 1: "alloc_major", 2: "alloc_ext"}
MODULES = ["Btype", "Ctype", "Typecore", "Set", "Env", "Stdlib__Map", "Stdlib__Hashtbl", "Path",
           "Ident", "Parser", "Lexer", "Simplif", "Closure", "Cmmgen", "Spill", "Reload", "Emit",
           "Asmgen", "Matching", "Printtyp", "Mtype", "Includemod", "Subst", "Datarepr", "Predef",
           "Primitive", "Types", "Tast_mapper", "Untypeast", "Ast_helper", "Location", "Warnings",
           "Misc", "Config", "Clflags", "Terminfo", "Load_path", "Main"]
VERBS = ["map", "fold", "iter", "find", "add", "copy", "type_expr", "unify", "newgenty", "remove"]


class Site:
    """What one code stands for: (function, file, line, first column, last) of each level that was
    inlined, the outermost first. A column of 1024 or more is what the released writer of memtrace
    0.2.3 gets wrong."""

    def __init__(self, pick, number, wide):
        self.code, self.levels = 0x400000 + 16 * number, []
        for _ in range(2 if pick.random() < 0.1 else 1):
            module = pick.choice(MODULES)
            file = module.split("__")[-1].lower() + ".ml"
            verb = pick.choice(VERBS) + ("" if pick.random() < 0.5 else f"_{pick.randrange(9)}")
            end = 1023 + pick.randrange(1, 900) if wide else pick.randrange(20, 90)
            line = 40 * (sum(verb.encode()) % 50) + pick.randrange(1, 40)
            self.levels.append((f"{module}.{verb}", file, line, pick.randrange(0, 20), end))
            wide = False

    def says(self):
        return " ".join(f"{f}@{file}:{line}:{begin}-{end}"
                        for f, file, line, begin, end in self.levels)


class Program:
    """`events`: (time_us, domain, kind, id, ...) in order; `alive` at the end by id."""

    def __init__(self, seed, n=4000, n_sites=500, n_wide=0, n_domains=1, us_per_event=400):
        pick = self.pick = random.Random(seed)
        wide = set(pick.sample(range(n_sites), n_wide))
        self.sites = [Site(pick, i, i in wide) for i in range(n_sites)]
        self.unknown = {pick.randrange(n_sites) for _ in range(n_sites // 50)} - wide
        self.events, self.allocs, self.ends, self.n_domains = [], {}, {}, n_domains
        stacks, waiting, now, domain = [[] for _ in range(n_domains)], [], 0, 0
        while len(self.allocs) < n:
            now += pick.randrange(1, 2 * us_per_event)
            if pick.random() < 0.005:
                domain = pick.randrange(n_domains)
            if waiting and (waiting[0][0] < now or len(waiting) > n // 8):
                at, id, promoted = waiting.pop(0)
                if not promoted and pick.random() < 0.15:
                    self.events.append((now, domain, 3, id))
                    waiting.append((at + pick.randrange(1, 5000 * us_per_event), id, True))
                    waiting.sort()
                else:
                    self.events.append((now, domain, 4, id))
                    self.ends[id] = now
                continue
            self.step(stacks[domain])
            id = len(self.allocs)
            words = pick.choice([1, 2, 3, 3, 4, 5, 8, 16, 17, 30, 256, 400, 70000])
            source = 1 if words > 256 else 2 if pick.random() < 0.05 else 0
            frames = list(stacks[domain])
            self.allocs[id] = (words, 1 + (pick.random() < 0.1), source, frames, now)
            self.events.append((now, domain, 2, id))
            if pick.random() < 0.93:
                waiting.append((now + int(pick.expovariate(1 / (300 * us_per_event))), id, False))
                waiting.sort()

    def step(self, stack):
        """Calls and returns: runs of frames come again, as they do in programs."""
        pick = self.pick
        del stack[pick.randrange(len(stack) + 1):]
        if not stack:
            stack.append(pick.randrange(3))
        for _ in range(pick.randrange(1, 9)):
            near = (stack[-1] * 7 + pick.choice([1, 1, 1, 1, 2, 3, 5])) % len(self.sites)
            stack.append(near if pick.random() < 0.97 else pick.randrange(len(self.sites)))

    def alive(self):
        return {id: found for id, found in self.allocs.items() if id not in self.ends}

    def dump(self, n_events=None):
        """The text that memtrace's own reader prints."""
        lines, last = [], [[] for _ in range(self.n_domains)]
        for now, domain, kind, id in self.events[:n_events]:
            line = f"{now:010} {id:010} "
            if kind == 2:
                words, n_samples, source, frames, _ = self.allocs[id]
                shown = " ".join("$%d" % self.sites[f].code if f in self.unknown else
                                 self.sites[f].says() for f in frames)
                n_common = common(last[domain], frames)
                last[domain] = frames
                line += (f"{SOURCES[source]} {n_samples} len={words} dom={domain} "
                         f"{n_common: 4}: {shown}")
            else:
                line += "promote" if kind == 3 else "collect"
            lines.append(line)
        return lines


def common(a, b):
    n = 0
    while n < len(a) and n < len(b) and a[n] == b[n]:
        n += 1
    return n


class Domain:
    """What the writer knows that a reader knows."""

    def __init__(self):
        self.codes, self.nexts, self.last = [0] * N_SLOTS, [0] * N_SLOTS, []
        self.files = [[None, [None] * N_NAMES] for _ in range(N_NAMES)]


class Writer:
    """`faulty`: as memtrace 0.2.3, whose last columns run over into the number of the file.
    `packets`: (what was written, how many events were whole by then)."""

    def __init__(self, program, version, rate, pid=4242, begun_us=1_500_000_000_000_000,
                 faulty=False, slots=256, events_per_packet=300, executable="program"):
        self.program, self.version, self.pid, self.begun_us = program, version, pid, begun_us
        self.faulty, self.n_slots, self.packets = faulty, slots, []
        self.domains = [Domain() for _ in range(program.n_domains)]
        self.known = set()
        info = struct.pack("<d", rate) + bytes([64]) + text(executable) + text("host") + text("")
        info += struct.pack("<Q", pid) + (text("made up") if version >= 2 else b"")
        self.packet(0, [(0, 0, info)], None, 0, 0)
        self.next_id, first = 0, 0
        events = program.events
        while first < len(events):
            last, domain = first, events[first][1]
            while (last < len(events) and last - first < events_per_packet
                   and events[last][1] == domain
                   and events[last][0] - events[first][0] < 30_000_000):
                last += 1
            self.stretch(domain, events[first:last])
            self.packets[-1] = (self.packets[-1][0], last)
            first = last

    def packet(self, domain, events, check, first_id, end_id):
        body = b"".join(struct.pack("<I", (self.begun_us + now & 0x1FFFFFF) | kind << 25) + rest
                        for now, kind, rest in events)
        begin, end = self.begun_us + events[0][0], self.begun_us + events[-1][0]
        number = struct.pack("<H", domain) if self.version >= 3 else b""
        size = 66 + len(number) + len(body)
        head = struct.pack("<IIQQIHQ", MAGIC, 8 * size, begin, end, 0, self.version, self.pid)
        head += number + struct.pack("<HHQQQ", *(check or (0xFFFF, 0, 0)), first_id, end_id)
        self.packets.append((head + body, 0))

    def stretch(self, domain, events):
        state, program, first_id, out, locations = self.domains[domain], self.program, None, [], []
        slot = program.pick.randrange(self.n_slots)
        check = slot, state.nexts[slot], state.codes[slot]
        ids = [id for _, _, kind, id in events if kind == 2]
        first_id = self.next_id
        assert ids == list(range(first_id, first_id + len(ids)))
        for now, _, kind, id in events:
            if kind != 2:
                out.append((now, kind, vint(self.next_id - 1 - id)))
                continue
            self.next_id += 1
            words, n_samples, source, frames, _ = program.allocs[id]
            for frame in frames:
                if frame not in self.known and frame not in program.unknown:
                    self.known.add(frame)
                    locations.append((events[0][0], 1, self.location(state, program.sites[frame])))
            n_words, trail = self.backtrace(state, frames)
            shared = vint(common(state.last, frames))
            state.last = frames
            if 1 <= words <= 16 and n_samples == 1 and source == 0 and n_words < 256:
                out.append((now, 100 + words, shared + bytes([n_words]) + trail))
            else:
                out.append((now, 2, vint(words) + vint(n_samples) + bytes([source]) + shared
                            + struct.pack("<H", n_words) + trail))
        if locations:
            self.packet(domain, locations, None, first_id, first_id)
        self.packet(domain, out, check, first_id, self.next_id)

    def location(self, state, site):
        body = struct.pack("<QB", site.code, len(site.levels))
        for function, file, line, begin, end in site.levels:
            names = [entry[0] for entry in state.files]
            at = names.index(file) if file in names else NEW
            entry = state.files.pop(min(at, N_NAMES - 1))
            if at == NEW:
                entry = [file, entry[1] if self.version == 1 else [None] * N_NAMES]
            state.files.insert(0, entry)
            place = entry[1].index(function) if function in entry[1] else NEW
            del entry[1][min(place, N_NAMES - 1)]
            entry[1].insert(0, function)
            if not self.faulty:
                end = min(end, 1023)
            record = line | begin << 20 | end << 28 | at << 38 | place << 43
            body += record.to_bytes(6, "little")
            body += (text(file) if at == NEW else b"") + (text(function) if place == NEW else b"")
        return body

    def backtrace(self, state, frames):
        codes = [self.program.sites[f].code for f in frames[common(state.last, frames):]]
        out, n_words, previous, at = b"", 0, 0, 0
        while at < len(codes):
            slot = (codes[at] >> 4) * 37 % self.n_slots
            state.nexts[previous] = slot
            n_words, previous = n_words + 1, slot
            if state.codes[slot] != codes[at]:
                state.codes[slot] = codes[at]
                out += struct.pack("<HQ", slot << 2 | 3, codes[at])
                at += 1
                continue
            run = 0
            while (run < 255 and at + run + 1 < len(codes)
                   and state.codes[state.nexts[previous]] == codes[at + run + 1]):
                previous, run = state.nexts[previous], run + 1
            out += struct.pack("<H", slot << 2 | min(run, 2)) + (bytes([run]) if run > 1 else b"")
            at += run + 1
        return n_words, out

    def write(self, path, n_packets=None):
        """How many events are in the file."""
        chosen = self.packets[:n_packets]
        with open(path, "wb") as file:
            file.write(b"".join(data for data, _ in chosen))
        return max(n for _, n in chosen)


def overflowing(program):
    """Of a program with wide sites: what a reader of the sound file sees has columns of 1023."""
    for site in program.sites:
        site.levels = [(f, file, line, begin, min(end, 1023))
                       for f, file, line, begin, end in site.levels]
    return program
