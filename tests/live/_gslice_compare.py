"""Compares the nodes of a snapshot with the slices that glib_heap wrote of itself.

    _gslice_compare.py TRUTH NODES

NODES: `sql --format tsv`, address and words of each block. Every slice in use must be a node of its
size; none that was freed may be one."""
import sys


def main():
    nodes = {}
    for line in open(sys.argv[2]):
        address, words = line.split()
        if address != "address":
            nodes[int(address, 16)] = int(words)
    n = {"right": 0, "missing": 0, "of another size": 0, "free": 0, "free, but listed": 0}
    for line in open(sys.argv[1]):
        kind, address, *size = line.split()
        if kind == "T":
            continue
        words = nodes.get(int(address, 16))
        if kind == "F":
            n["free" if words is None else "free, but listed"] += 1
        elif words is None:
            n["missing"] += 1
        else:
            n["right" if words == int(size[0]) // 8 else "of another size"] += 1
    print(", ".join(f"{number} {what}" for what, number in n.items()))
    wrong = n["missing"] + n["of another size"] + n["free, but listed"]
    return wrong != 0 or n["right"] < 5000 or n["free"] < 3000


sys.exit(main())
