"""Compares types in a snapshot with the containers that glib_heap wrote of itself.

    _gcontainers_compare.py TRUTH TYPES

TYPES: `sql --format tsv`, address and type of each block that is said to be a container. Each that
the program has must be one of its kind, and none of its slices may."""
import collections
import sys


def main():
    types = dict(line.rstrip("\n").split("\t") for line in open(sys.argv[2]))
    types = {int(address, 16): name for address, name in types.items() if address != "address"}
    n, wrong = collections.Counter(), 0
    for line in open(sys.argv[1]):
        kind, address, *rest = line.split()
        told = types.pop(int(address, 16), None)
        if kind == "T":
            n[rest[0]] += told == rest[0]
        if told != (rest[0] if kind == "T" else None):
            print("wrong:", line.strip(), told)
            wrong += 1
    print(dict(n), "others, of GLib itself:", len(types))
    return wrong != 0 or n != {"GHashTable": 80, "GPtrArray": 50, "GString": 70}


sys.exit(main())
