"""Compares a snapshot of tests/live/fixtures/one_graph.ml with what it printed of itself.

    _one_graph_compare.py LOG ROOTS.json LEAKS.json
"""
import json
import sys

WORD = 8
HOLDER_BYTES = 48  # struct holder, before the allocator rounds up
ROUNDING = 1.21  # jemalloc's classes are at most a fifth apart; glibc adds less


def near(words, n_bytes):
    return n_bytes <= words * WORD <= n_bytes * ROUNDING + 4096


log, roots, leaks = (open(path) for path in sys.argv[1:])
said = {}
for line in log:
    fields = line.split()
    if len(fields) == 3 and fields[0] in ("WORDS", "BYTES"):
        said[fields[1]] = int(fields[2])
roots = json.load(roots)
by_name = {}
for root in roots["roots"]:
    by_name.setdefault(root["name"], []).append(root)

closed = (sum(r["retained_words"] for r in roots["roots"]) + roots["shared"]["retained_words"]
          + roots["others"]["retained_words"] + roots["unreached"]["words"])
assert closed == roots["heap"]["words"], (closed, roots["heap"]["words"])

ours = [r for r in roots["roots"] if r["symbol"] == "camlOne_graph"]
big = [r for r in ours if near(r["retained_words"], said["big"])]
assert len(big) == 1, [r["retained_words"] for r in ours]
# A table of OCaml 5's runtime may end where this memory begins, and so seem to lead there too.
owner = [r for r in ours if near(r["reachable_words"], said["owner"])]
assert len(owner) == 1, [r["reachable_words"] for r in ours]

# The global of C keeps the holder, and the holder what its registered root holds. A stripped
# program has its globals by their place only, where it exports them.
holders = [r for r in roots["roots"] if r["kind"] == "global"
           and near((r["retained_words"] - said["holder"]) , HOLDER_BYTES)
           and r["retained_words"] - said["holder"] <= 8]
assert len(holders) == 1, by_name.get("one_holder")
if "one_holder" in by_name:
    assert holders[0]["name"] == "one_holder", holders[0]["name"]

# Nothing of C leads to this one: the root itself keeps it, to the word.
in_malloc = [r for r in roots["roots"] if r["kind"] == "c_root" and " at 0x" in r["name"]]
strong = [r["retained_words"] for r in in_malloc if r["retained_words"] != 0]
assert said["orphan"] in strong, strong
assert said["holder"] not in strong, strong

# The cycle of memory and block is kept by its registration: no leak.
certain = [g for g in json.load(leaks)["groups"] if g["certainty"] == "certain"]
assert not any("one.owner" in g["type"] for g in certain), certain
# What malloc gave to bigarrays that are garbage, or for chunks of OCaml's heap, is no leak.
possible = [g for g in json.load(open(sys.argv[3]))["groups"] if g["certainty"] == "possible"]
dropped = sum(g["count"] for g in possible if near(g["words_each"], 7000))
assert 55 <= dropped <= 60, possible
assert not any(near(g["words_each"], 7000) or g["count"] > 1 for g in certain), certain
# Garbage of OCaml's is its collector's.
of_ocaml = ("string", "closure", "block tag", "block (tag", "custom", "float", "tuple", "abstract")
assert not any(g["type"].startswith(of_ocaml) for g in certain), certain
print("one graph:", roots["heap"]["words"], "words")
