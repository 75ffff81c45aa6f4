"""Compares what heap_probe lists of a process with what heap_known wrote of itself.

    _heap_known_compare.py KNOWN PROBE [MAX_UNKNOWN]

Every live block must be listed with its size; none that was freed may be. MAX_UNKNOWN blocks of
which the program does not know (libc's own in a static program) may be listed besides. All proofs
must hold, nothing may be torn or damaged, and the ledger must add up to what is claimed."""
import sys


def read_known(path):
    live, freed = {}, set()
    for line in open(path):
        fields = line.split()
        if fields[0] == "L":
            live[int(fields[1], 16)] = int(fields[2])
        elif fields[0] == "F":
            freed.add(int(fields[1], 16))
    return live, freed


def read_probe(path):
    blocks, rows, proofs, notes, torn = {}, {}, [], [], None
    for line in open(path):
        kind, rest = line.rstrip("\n").split(" ", 1)
        if kind == "B":
            address, size, state = rest.split()
            assert int(address, 16) not in blocks, "listed twice: " + address
            blocks[int(address, 16)] = (int(size), int(state))
        elif kind == "M":
            owner, state, *numbers = rest.rsplit(" ", 4)
            rows[owner, state] = [int(n) for n in numbers]
        elif kind == "P":
            expected, found, what = rest.split(" ", 2)
            proofs.append((what, int(expected), int(found)))
        elif kind == "N":
            notes.append(rest)
        elif kind == "T":
            torn = int(rest)
    return blocks, rows, proofs, notes, torn


def main():
    live, freed = read_known(sys.argv[1])
    blocks, rows, proofs, notes, torn = read_probe(sys.argv[2])
    most_unknown = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    missing = [a for a in live if a not in blocks]
    wrong = [a for a in live if a in blocks and blocks[a][0] != live[a]]
    false = [a for a in blocks if a in freed]
    unknown = [a for a in blocks if a not in freed and a not in live]
    unsure = [a for a in blocks if blocks[a][1] != 0]
    if most_unknown > 0:  # libc may have got what the program freed
        unknown, false = unknown + false, []
    print("known %d found %d missing %d wrong size %d freed but listed %d unknown %d unsure %d" %
          (len(live), len(live) - len(missing) - len(wrong), len(missing), len(wrong), len(false),
           len(unknown), len(unsure)))
    bad = ["%s %s" % (name, ", ".join("%x" % a for a in sorted(some)[:8]))
           for name, some in (("missing", missing), ("wrong size", wrong), ("freed", false),
                              ("unsure", unsure)) if some]
    if len(unknown) > most_unknown:
        some = ", ".join("%x(%d)" % (a, blocks[a][0]) for a in sorted(unknown)[:30])
        bad.append("unknown: " + some)
    bad += ["proof fails: %s: expected %d, found %d" % p for p in proofs if p[1] != p[2]]
    bad += ["note: " + n for n in notes]
    if torn != 0:
        bad.append("torn: %s" % torn)
    heap = {state: numbers for (owner, state), numbers in rows.items() if owner == "glibc"}
    listed = sum(size for size, _ in blocks.values())
    booked = heap.get("live", [0])[0]
    if booked != listed:
        bad.append("the ledger has %d live bytes, the blocks %d" % (booked, listed))
    for state in ("cached", "free", "internal"):
        if state not in heap:
            bad.append("the ledger has no row of " + state)
    if "damaged" in heap:
        bad.append("the ledger has damage")
    if not any(p[0].endswith("thread caches") for p in proofs):
        bad.append("no proof of the thread caches")
    for line in bad:
        print("BAD " + line)
    return 1 if bad else 0


sys.exit(main())
