"""What heapsnap asks heapsnap-ocaml-types of a program, and its answer.

    _ocaml_types.py HELPER PROGRAM [--seconds N] [--ask FILE] [--line TEXT]... DIR...

writes the answer. The request is made from the program's file, as heapsnap makes it: the linker's
list of units, and the size of each unit's block from the header before its symbol.
"""
import re
import socket
import struct
import subprocess
import sys
import tempfile

STRING_TAG = 252


class Elf:
    """The bytes at a symbol, of a file that is not relocated."""

    def __init__(self, path):
        self.bytes = open(path, "rb").read()
        assert self.bytes[:6] == b"\x7fELF\x02\x01", path
        at, = struct.unpack_from("<Q", self.bytes, 32)
        size, n = struct.unpack_from("<HH", self.bytes, 54)
        self.loads = [struct.unpack_from("<IIQQQQQQ", self.bytes, at + i * size) for i in range(n)]
        self.symbols = {}
        for option in [[], ["-D"]]:
            out = subprocess.run(["nm"] + option + [path], capture_output=True, text=True).stdout
            for line in out.splitlines():
                words = line.split()
                if len(words) == 3:
                    self.symbols[words[2]] = int(words[0], 16)

    def word(self, address):
        return struct.unpack("<Q", self.read(address, 8))[0]

    def read(self, address, n):
        for kind, _, offset, start, _, n_file, _, _ in self.loads:
            if kind == 1 and start <= address and address + n <= start + n_file:
                return self.bytes[offset + address - start:offset + address - start + n]
        raise KeyError(hex(address))

    def string(self, symbol):
        """An OCaml string behind a pointer or a header."""
        address = self.symbols[symbol]
        header = self.word(address - 8)
        if header & 255 != STRING_TAG:
            raise KeyError(symbol)
        n = (header >> 10) * 8
        text = self.read(address, n)
        return text[:n - 1 - text[n - 1]]


def request(program, dirs, lines=(), verb="map"):
    elf = Elf(program)
    out = [b"dir " + d.encode() + b"\n" for d in dirs]
    for name in sorted(elf.symbols):
        unit = re.fullmatch(r"caml([A-Z]\w*?)(?:__|[.$])gc_roots", name)
        if unit and "caml" + unit[1] in elf.symbols:
            header = elf.word(elf.symbols["caml" + unit[1]] - 8)
            out.append(b"slots %s %d\n" % (unit[1].encode(), header >> 10))
    text = elf.string("caml_globals_map")
    out.append(b"map %d\n" % len(text) + text)
    out.extend(line.encode() + b"\n" for line in lines)
    return b"".join(out)


class Answer:
    """The lines of an answer, each of its lists checked for closing over itself."""

    def __init__(self, text):
        self.types, self.roots, self.exts, self.units = [], {}, {}, {}
        self.known, self.captured, self.held, self.scopes, self.notes = [], {}, {}, [], []
        newest = None
        for line in text.splitlines():
            if line.startswith("#"):
                self.notes.append(line)
                continue
            verb, *f = line.split("\t")
            if verb == "type":
                kind, head, display = f
                self.types.append({"kind": kind, "head": head, "display": display, "rows": [],
                                   "inner": None, "alias": None})
            elif verb == "row":
                newest = {"tag": int(f[1]), "size": f[2], "kind": f[3], "constructor": f[4],
                          "children": [], "cases": [], "witnesses": []}
                self.types[int(f[0])]["rows"].append(newest)
            elif verb == "child":
                newest["children"].append((None if f[0] == "-" else int(f[0]), f[1]))
            elif verb == "case":
                newest["cases"].append((int(f[0]), f[1], None if f[2] == "-" else int(f[2])))
            elif verb == "witness":
                newest["witnesses"].append(tuple(map(int, f)))
            elif verb in ("inner", "alias"):
                self.types[-1][verb] = None if f[0] == "-" else int(f[0])
            elif verb == "root":
                self.roots[f[0], int(f[1])] = None if f[2] == "-" else int(f[2])
            elif verb == "ext":
                newest = {"name": f[2], "children": []}
                self.exts[f[0], int(f[1])] = newest
            elif verb == "captured":
                newest = {"children": []}
                self.captured[f[0], f[1]] = newest
            elif verb == "held":
                newest = {"children": []}
                self.held[f[0], int(f[1])] = newest
            elif verb == "scope":
                newest = {"at": f, "children": []}
                self.scopes.append(newest)
            elif verb == "unit":
                self.units[f[0]] = (f[1], f[2])
            elif verb == "known":
                self.known.append((int(f[0]), int(f[1]), f[2], int(f[3]), f[4]))
            else:
                raise AssertionError(line)
        self.check()

    def check(self):
        n = len(self.types)
        for t in self.types:
            for row in t["rows"]:
                for child, _ in row["children"]:
                    assert child is None or child < n or not self.is_whole(), (t, row)
                if row["kind"] == "fields":
                    assert str(len(row["children"])) == row["size"], (t, row)
        if self.is_whole():
            assert all(t is None or t < n for t in self.roots.values())

    def is_whole(self):
        return any(line.startswith("#end ") for line in self.notes) and not any(
            line.startswith("#stopped") for line in self.notes)

    def find(self, display):
        return [t for t in self.types if t["display"] == display]


def ask(helper, text, timeout=60):
    done = subprocess.run([helper], input=text, capture_output=True, timeout=timeout)
    return done.returncode, done.stdout.decode(errors="replace") # a damaged file's names


def ask_late(helper, text, late, timeout=60):
    """Asks through a socket; `late` is asked where the answer comes from."""
    ours, theirs = socket.socketpair()
    with ours, tempfile.TemporaryFile() as question:
        question.write(b"later 1\n" + text)
        question.seek(0)
        ours.settimeout(timeout)
        with theirs, subprocess.Popen([helper], stdin=question, stdout=theirs.fileno()) as asked:
            theirs.close()
            ours.sendall(late)
            ours.shutdown(socket.SHUT_WR)
            said = b""
            while part := ours.recv(1 << 16):
                said += part
    return asked.returncode, said.decode(errors="replace")


def main():
    words, lines, save, dirs = sys.argv[1:], [], None, []
    helper, program = words[:2]
    rest = iter(words[2:])
    for word in rest:
        if word == "--seconds":
            lines.append("seconds " + next(rest))
        elif word == "--line":
            lines.append(next(rest))
        elif word == "--ask":
            save = next(rest)
        else:
            dirs.append(word)
    text = request(program, dirs, lines)
    if save:
        open(save, "wb").write(text)
    sys.stdout.write(ask(helper, text)[1])


if __name__ == "__main__":
    main()
