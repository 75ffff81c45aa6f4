# # Who keeps it?
#
# A look at one snapshot from Python, cell by cell. Run it as it is, or paste the cells into a
# notebook:
#
#     PYTHONPATH=python python3 docs/examples/who_keeps_it.py heap.snap
#
# With pandas (Debian: python3-pandas) the tables are data frames; without, they are named tuples.

# %% A snapshot
import sys

import heapsnap

try:
    import pandas
except ImportError:
    pandas = None

try:
    snap = heapsnap.open(sys.argv[1] if len(sys.argv) > 1 else "heap.snap")
except heapsnap.Error as error:
    sys.exit(f"{error.message}\nhint: {error.hint}")
whole = snap.summary
print(f"{whole.command!r}: {whole.n_blocks} blocks, {whole.heap_words * whole.word_bytes} bytes")

# %% The roots that retain most, and what no single one keeps
roots = snap.roots()
for root in roots[:5]:
    print(f"{root.retained_words * whole.word_bytes:12}  {root.kind} {root.name!r}")
print(f"{snap.shared_words() * whole.word_bytes:12}  shared by several")
print(f"{whole.unreached_words * whole.word_bytes:12}  reached by none")

# The three add up to the heap, to the word.
kept = sum(root.retained_words for root in roots)
assert kept + snap.shared_words() + whole.unreached_words == whole.heap_words

# %% Keys: the same heap by names that the next dump has, too
keys = snap.keys()
for key in sorted(keys[1:], key=lambda key: -key.words)[:5]:
    print(f"{key.words * whole.word_bytes:12}  {key.key!r}")
assert sum(key.words for key in keys) == whole.heap_words

# %% One object, and why it is alive
biggest = max(snap.blocks(), key=lambda block: block.retained_words if block.is_reached else 0)
print(f"block {biggest.address:#x}, {biggest.type!r}, retains {biggest.retained_words} words")
for node in snap.path(biggest.node):
    print(f"    by {snap.node(node).name!r}")

# %% By column
if pandas is not None:
    blocks = pandas.concat(snap.block_frames())
    by_type = blocks[~blocks.is_static].groupby("type").words.agg(["count", "sum"])
    print(by_type.sort_values("sum", ascending=False).head())
    assert by_type["sum"].sum() == whole.heap_words
    print(keys.frame()[["key", "objects", "words"]].nlargest(5, "words"))

snap.close()
