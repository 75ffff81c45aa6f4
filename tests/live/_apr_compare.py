"""_apr_compare.py TRUTH BLOCKS LEAKS: the pools that a program made, against the blocks of a
snapshot as rows of address, words, retained words, dominator's address and type."""

import json
import sys

truth_path, blocks_path, leaks_path = sys.argv[1:]
pools, n_lost = {}, None
with open(truth_path, encoding="utf-8") as file:
    for line in file:
        kind, rest = line.rstrip("\n").split(" ", 1)
        if kind == "pool":
            at, parent, words, retained, name = rest.split(" ", 4)
            pools[int(at, 16)] = (int(parent, 16), int(words), int(retained), name)
        else:
            n_lost = int(rest)

blocks, given = {}, {}
with open(blocks_path, encoding="utf-8") as file:
    next(file)
    for line in file:
        at, words, retained, owner, name = line.rstrip("\n").split("\t")
        blocks[int(at, 0)] = (int(owner, 0), int(retained), name)
        if name.startswith(("node of ", "node below ")):
            given.setdefault(int(owner, 0), []).append((int(words), name))

wrong = []
for at, (parent, words, retained, name) in pools.items():
    nodes = given.get(at, [])
    is_below = name.startswith("apr_pool_t below ")
    node_name = name.replace("apr_pool_t ", "node " if is_below else "node of ", 1)
    if blocks.get(at) != (parent, retained, name):
        wrong.append(f"{at:#x}: {name} below {parent:#x} retains {retained}, "
                     f"found {blocks.get(at)}")
    elif sum(n for n, _ in nodes) != words or any(type != node_name for _, type in nodes):
        wrong.append(f"{at:#x}: {name} has given out {words} words, found {nodes}")
own = ("apr_pool_t apr_global_pool", "apr_pool_t apr_initialize")  # of the library itself
found = [block for block in blocks.values()
         if block[2].startswith("apr_pool_t ") and block[2] not in own]
if len(found) != len(pools):
    wrong.append(f"{len(found)} pools are found, not {len(pools)}")
lost = [(group["count"], group["words"]) for group in json.load(open(leaks_path, encoding="utf-8"))
        ["groups"] if group["certainty"] == "certain"]
if sum(n for n, _ in lost) != n_lost:
    wrong.append(f"{n_lost} lost, found {lost}")
print(f"{len(pools)} pools, {sum(words for _, words, _, _ in pools.values())} words given out, "
      f"{len(wrong)} wrong")
print("\n".join(wrong[:10]))
sys.exit(len(pools) < 1000 or wrong != [])
