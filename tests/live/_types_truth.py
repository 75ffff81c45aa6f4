"""Compares what `types --json --group-by instance` says with what a program counted of itself.

_types_truth.py TYPES.json COUNTS: a line "COUNT<TAB>TYPE" in COUNTS is one type; with "?REASON" for
the type it tells of blocks that none can be given to: so many blocks at least have no type.
"""
import json
import sys

rows = json.load(open(sys.argv[1]))["types"]
found = {}
for row in rows:
    found.setdefault(row["type"], []).append(row["objects"])
untyped = sum(row["objects"] for row in rows if row["type"].startswith("block tag "))
wrong, n, most_untyped = [], 0, 0
for line in open(sys.argv[2]):
    count, tab, name = line.rstrip("\n").partition("\t")
    if not tab:
        continue
    n += 1
    if name.startswith("?"):
        most_untyped += int(count)
    elif found.get(name) != [int(count)]:
        wrong.append(f"{name}: {found.get(name)}, by the program {count}")
if untyped < most_untyped:
    wrong.append(f"{untyped} blocks without a type, by the program at least {most_untyped}")
print(f"{n} counts compared, {len(wrong)} differ", *wrong, sep="\n    ")
sys.exit(len(wrong) != 0 or n < 10)
