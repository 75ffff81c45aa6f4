"""What a snapshot of a backend says, against the backend's own log of its memory contexts.

_postgres_compare.py DIR VERSION: DIR has the log, and info.json, types.json, roots.json, leaks.json
"""
import collections
import json
import re
import sys

folder, version = sys.argv[1], sys.argv[2]
# Bytes of a chunk's header, which the log counts with a free chunk.
HEADER = {"15": 16, "17": 8}[version]
# A Bump does not count its own object, which is there beside what it says (BumpStats in bump.c);
# the tuples of a sort are in one since 17.
UNCOUNTED = {"15": 0, "17": 112}[version]


def load(name):
    with open(f"{folder}/{name}.json", encoding="utf-8") as file:
        return json.load(file)


def logged():
    """Names of contexts, how many more there are (of one's children a hundred are named), and the
    totals: bytes, free bytes, free chunks, used bytes."""
    names, n_more, total = [], 0, None
    more = re.compile(r"level: \d+; (\d+) more child contexts containing")
    context = re.compile(r"level: \d+; (.*?): (?:.*: )?\d+ total in \d+ blocks")
    grand = re.compile(r"Grand total: (\d+) bytes in \d+ blocks; (\d+) free \((\d+) chunks\); "
                       r"(\d+) used")
    with open(f"{folder}/log", encoding="utf-8", errors="replace") as file:
        for line in file:
            found = more.search(line)
            n_more += int(found[1]) if found else 0
            found = context.search(line)
            if found:
                names.append(found[1])
            found = grand.search(line)
            if found:
                total = [int(number) for number in found.groups()]
    return collections.Counter(names), n_more, total


names, n_more, (all_bytes, free_bytes, n_free, used_bytes) = logged()
n_contexts = names.total() + n_more
info = load("info")
proofs = [p for p in info["proofs"] if p["what"].startswith("postgres: ")]
assert len(proofs) == 1 and proofs[0]["holds"], proofs
assert proofs[0]["expected"] == n_contexts, (proofs, n_contexts)
notes = [n["text"] for n in info["notes"] if n["text"].startswith("postgres: ")]
assert not notes, notes

rows = {row["state"]: row for row in info["memory"] if row["owner"] == "postgres"}
live, free, internal = (rows[state]["bytes"] for state in ("live", "free", "internal"))
assert live + free + internal == all_bytes + UNCOUNTED, (live, free, internal, all_bytes)
assert rows["free"]["blocks"] == n_free, (rows["free"], n_free)
assert free + HEADER * n_free == free_bytes, (free, n_free, free_bytes)
assert live + internal - HEADER * n_free == used_bytes + UNCOUNTED, (live, internal, used_bytes)

# Contexts that wait to be used again are no blocks, and none of those that the log has.
assert rows["cached"]["blocks"] > 0 and rows["cached"]["bytes"] > 0, rows

types = {row["type"]: row for row in load("types")["types"]}
told = {name.removeprefix("MemoryContext "): row for name, row in types.items()
        if name.startswith("MemoryContext ")}
assert sum(row["objects"] for row in told.values()) == n_contexts, (told, n_contexts)
for name, n in names.items():
    objects = told[name]["objects"]
    assert n <= objects <= n + n_more, (name, n, objects, n_more)

# One that owns no other context keeps its chunks, and nothing else of the backend's.
n_exact = 0
for name, n in names.items():
    chunks = types.get("chunk in " + name, {"words": 0})
    if n == 1 and told[name]["retained_words"] == told[name]["words"] + chunks["words"]:
        n_exact += 1
assert n_exact >= 15, f"only {n_exact} contexts keep just their chunks"

# All of it hangs on one variable.
roots = {root["name"]: root for root in load("roots")["roots"]}
top = roots["TopMemoryContext"]["retained_words"]
assert top >= live / 8 and top == told["TopMemoryContext"]["retained_words"], (top, live)

# The tuples of a sort are led to by another context, and are their own one's.
assert types["chunk in Caller tuples"]["words"] * 8 <= told["Caller tuples"]["retained_words"] * 8
assert told["TupleSort main"]["retained_words"] >= types["chunk in Caller tuples"]["words"]

lost = [g for g in load("leaks")["groups"] if re.match("chunk in |MemoryContext ", g["type"] or "")]
assert not lost, lost
print(f"postgres {version}: {n_contexts} contexts, {all_bytes} bytes, {n_free} free chunks, "
      f"{n_exact} leaves exact, {top} words on TopMemoryContext")
