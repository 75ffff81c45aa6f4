"""fixture.py NAME [MORE]: one small heap with all that exporters have to carry over, among it the
names that break formats. MORE sessions are what has grown in a second snapshot of it."""

import os
import sys

from snapcli import EPHEMERON, EXACT, GUESSED, PAST_END, STATIC, WEAK, Snap

HOSTILE = ["quote\"s 'n' `ticks`", "new\nline\rcr", "tab\there", "semi;colon; 12",
           "bidi \u202eright\u202c", "</script><b>&amp;", "'; drop table blocks; --",
           "bad utf-8 \udcff\udcfe", "[a[rray", "fn=(1) cfn",
           "a > b > c", "%s%n$(id)\\", "{}[]|<f0>",
           "\x1b[31mred", "x" * 1000000, "\u2028line", "+ 1", "#comment", "*subposition", " "]


def raw(name):
    return os.fsencode(name)


def heap(more=0):
    s = Snap()
    s.facts.update(command=raw("shop --serve \udcff"), taken_ns=1700000000 * 10**9 + more)
    s.record("binary", "/usr/bin/shop",
             "abcdef0123456789abcdef0123456789abcdef01", "0x400000", 1, 1)
    session = s.type("struct session", form=12)
    table = s.type("struct session *[]", form=13)
    text = s.type("char[]", form=14)
    other = s.type("block of 24 bytes", form=15)
    s.record("member", session, 0, "next", "struct session *")
    s.record("member", session, 8, "name", "char *")
    s.record("member", session, 8, "same_place", "char *")
    n = 40 + more
    hub = s.block(n, table)
    for i in range(n):
        a, b = s.block(4, session), s.block(3 + i % 3, text)
        s.edge(hub, a, i)
        s.edge(a, b, 1)
        s.edge(a, b, 3)  # where the type has no member
        if i:
            s.edge(a, hub + 2 * i - 1, 0)
    big = s.block(0x20000, text, address=0x7FFF00000000)
    s.edge(big, hub, 5, GUESSED)
    weak = s.block(2, other, address=0x7FFF80000000)
    s.edge(weak, hub, 0, WEAK)
    s.edge(weak, big, 0, EPHEMERON)
    lost = [s.block(3, other) for _ in range(3)]  # a cycle that no root reaches
    for i in range(3):
        s.edge(lost[i], lost[(i + 1) % 3], 0)
    static = s.block(5, other, STATIC, address=0xFFFFFFFFFFFF0000)
    s.edge(static, static, 2)  # itself
    place = dict(binary="shop", unit="shop.c", file="/src/shop.c", symbol="sessions", module="shop")
    s.root(hub, "sessions", line=318, **place)
    s.root(big, "slot sp+8", kind="stack", binary="thread 7", unit="#1 main", thread=7, frame=1)
    s.root(weak, "watched", kind="finaliser", **{**place, "file": ""})
    s.root(hub, "not kept", kind="finaliser", weak=True, **{**place, "file": ""})
    s.root(static, "table[0]", variable="table", line=7, **place)
    s.root(hub, "table[1]", variable="table", line=7, **place)
    s.root(None, "nothing", line=9, **place)
    for slot in ("by_id.root", "recent"):
        s.root(s.block(6, other), "cache." + slot, variable="cache", line=11, **place)
    for i, name in enumerate(HOSTILE):
        odd = s.block(2 + i, s.type(raw("struct " + name) if i % 2 else raw(name), form=12))
        s.edge(odd, hub + 1, 1, PAST_END if i % 3 == 0 else EXACT)
        s.root(odd, raw(name), binary=raw("m " + name[:50]), unit=raw("u " + name[:50]), line=i,
               file=raw("/src/" + name[:50] + ".c"), symbol=raw(name[:50]),
               module=raw(name[:50]))
    memory = [("glibc", 0, 3, 40), ("glibc", 2, 90, 1234), ("data of binaries", 6, 5, 0)]
    for owner, state, mib, blocks in memory:  # of which most is free
        s.record("memory", owner, state, mib << 20, mib << 20, blocks)
    s.record("fact", "resident_bytes", sum(mib for _, _, mib, _ in memory) << 20)
    return s


if __name__ == "__main__":
    heap(int(sys.argv[2]) if len(sys.argv) > 2 else 0).write(sys.argv[1])
