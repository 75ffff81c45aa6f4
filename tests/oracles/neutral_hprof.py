"""neutral_hprof.py DUMP SIZES OUT: a heap dump on which VisualVM's own ways have no effect.

VisualVM's retained sizes depart from those of its own graph in four ways, each read in its source
(NearestGCRoot.java, DominatorTree.java, TreeObject.java of org.graalvm.visualvm.lib.jfluid.heap).
Each is made idle by a change of the dump that changes no retained size otherwise:

  weak referents    do not make their object reachable, but count among its holders: set to null
  unreached objects count among the holders of what they point at: their pointers are set to null.
                    (Which they are is VisualVM's word: what retains nothing, not even itself.)
  classes           are held by the first of their instances that is met: all made system classes
  roots             held by one object are counted as its own: all are put into one more array

SIZES is what VisualVmSizes printed of DUMP.
"""

import struct
import sys

TYPES = {2: 0, 4: 1, 5: 2, 6: 4, 7: 8, 8: 1, 9: 2, 10: 4, 11: 8}
ROOTS = {1: (2, 0), 2: (1, 8), 3: (1, 8), 4: (1, 4), 5: (1, 0), 6: (1, 4), 7: (1, 0), 8: (1, 8),
         0xff: (1, 0)}
REFERENCES = {b"java/lang/ref/WeakReference", b"java/lang/ref/SoftReference",
              b"java/lang/ref/FinalReference", b"java/lang/ref/PhantomReference"}


class Dump:
    def __init__(self, data):
        self.data = bytearray(data)
        at = data.index(b"\0") + 1
        self.id = struct.unpack_from(">I", data, at)[0]
        TYPES[2] = self.id
        self.strings, self.names, self.segments = {}, {}, []
        self.classes, self.instances, self.arrays, self.roots = {}, [], [], set()
        at += 12
        while at < len(data):
            tag, _, size = struct.unpack_from(">BII", data, at)
            at += 9
            if tag == 1:
                self.strings[self.ref(at)] = bytes(data[at + self.id:at + size])
            elif tag == 2:
                self.names[self.ref(at + 4)] = self.ref(at + 8 + self.id)
            elif tag in (0x0c, 0x1c):
                self.segments.append(at)
                self.heap(at, at + size)
            at += size

    def ref(self, at):
        return int.from_bytes(self.data[at:at + self.id], "big")

    def heap(self, at, end):
        while at < end:
            tag, at = self.data[at], at + 1
            if tag in ROOTS:
                self.roots.add(self.ref(at))
                at += ROOTS[tag][0] * self.id + ROOTS[tag][1]
            elif tag == 0x20:
                at = self.a_class(at)
            elif tag == 0x21:
                kind = self.ref(at + self.id + 4)
                size = struct.unpack_from(">I", self.data, at + 2 * self.id + 4)[0]
                body = at + 2 * self.id + 8
                self.instances.append((self.ref(at), kind, body))
                at = body + size
            elif tag == 0x22:
                n = struct.unpack_from(">I", self.data, at + self.id + 4)[0]
                body = at + 2 * self.id + 8
                self.arrays.append((self.ref(at), self.ref(at + self.id + 8), n, body))
                at = body + n * self.id
            elif tag == 0x23:
                n, kind = struct.unpack_from(">IB", self.data, at + self.id + 4)
                at += self.id + 9 + n * TYPES[kind]
            else:
                sys.exit("neutral_hprof: unknown tag %d" % tag)

    def a_class(self, at):
        name, above = self.ref(at), self.ref(at + self.id + 4)
        at += 7 * self.id + 8
        for skip in (2, self.id):
            n, at = struct.unpack_from(">H", self.data, at)[0], at + 2
            for _ in range(n):
                at += skip + 1 + TYPES[self.data[at + skip]]
        n, at = struct.unpack_from(">H", self.data, at)[0], at + 2
        fields = []
        for _ in range(n):
            fields.append((self.ref(at), self.data[at + self.id]))
            at += self.id + 1
        self.classes[name] = (above, fields)
        return at

    def pointers(self, kind):
        """Offsets of an object's pointers and that of its referent, or None."""
        found, referent, at, is_reference = [], None, 0, False
        while kind in self.classes:
            above, fields = self.classes[kind]
            name = self.strings.get(self.names.get(kind), b"")
            is_reference |= name in REFERENCES
            for field, of in fields:
                if of == 2:
                    found.append(at)
                    if name == b"java/lang/ref/Reference" and self.strings[field] == b"referent":
                        referent = at
                at += TYPES[of]
            kind = above
        return found, referent if is_reference else None

    def clear(self, at):
        self.data[at:at + self.id] = bytes(self.id)


def main():
    dump = Dump(open(sys.argv[1], "rb").read())
    dead = set()
    for line in open(sys.argv[2]):
        name, what, _, retained = line.split("\t")
        if what == "object" and int(retained) == 0:
            dead.add(int(name))
    layouts = {}
    for name, kind, body in dump.instances:
        if kind not in layouts:
            layouts[kind] = dump.pointers(kind)
        found, referent = layouts[kind]
        if referent is not None:
            dump.clear(body + referent)
        if name in dead:
            for at in found:
                dump.clear(body + at)
    object_array = None
    for name, kind, n, body in dump.arrays:
        object_array = object_array or kind
        if name in dead:
            for i in range(n):
                dump.clear(body + i * dump.id)
    held = sorted((dump.roots | set(dump.classes)) - dead)
    taken = max([name for name, *_ in dump.instances + dump.arrays] + held) + (1 << 24)
    put = lambda value: value.to_bytes(dump.id, "big")
    more = b"".join(b"\5" + put(name) for name in dump.classes)
    more += b"\xff" + put(taken) + b"\x22" + put(taken) + struct.pack(">II", 0, len(held))
    more += put(object_array) + b"".join(map(put, held))
    first = dump.segments[0] - 9
    record = struct.pack(">BII", 0x1c, 0, len(more)) + more
    with open(sys.argv[3], "wb") as out:
        out.write(dump.data[:first] + record + dump.data[first:])


main()
