"""_talloc_compare.py TRUTH BLOCKS LEAKS CERTAINTY: what talloc reports of its chunks, against the
blocks of a snapshot as rows of address, words, retained words, dominator's address and type."""

import json
import sys

truth_path, blocks_path, leaks_path, certainty = sys.argv[1:]
chunks, facts = {}, {}
with open(truth_path, encoding="utf-8") as file:
    for line in file:
        kind, rest = line.rstrip("\n").split(" ", 1)
        if kind == "chunk":
            at, parent, name = rest.split(" ", 2)
            chunks[int(at, 16)] = (int(parent, 16), name)
        else:
            facts[kind] = int(rest, 0)

blocks = {}
with open(blocks_path, encoding="utf-8") as file:
    next(file)
    for line in file:
        at, words, retained, owner, name = line.rstrip("\n").split("\t")
        blocks[int(at, 0)] = (int(words), int(retained), int(owner, 0), name)

wrong = [f"{at:#x}: {name} below {parent:#x}, found {blocks.get(at)}"
         for at, (parent, name) in chunks.items()
         if at not in blocks or blocks[at][3] != name or
         (at != facts["shared"] and parent != 0 and blocks[at][2] != parent)]
servers = [block for block in blocks.values() if block[3] == "struct server"]
if len(servers) != 1 or servers[0][1] != facts["retained"]:
    wrong.append(f"the server: {servers}, {facts['retained']} words retained")
if blocks[facts["shared"]][2] in chunks:
    wrong.append(f"what is shared is {blocks[facts['shared']]}")
lost = {}
for group in json.load(open(leaks_path, encoding="utf-8"))["groups"]:
    key = group["type"], group["certainty"]
    lost[key] = lost.get(key, 0) + group["count"]
if lost.get(("lost", certainty), 0) != facts["lost"] or \
        sum(n for (_, how), n in lost.items() if how == "certain") > facts["lost"]:
    wrong.append(f"{facts['lost']} lost, found {lost}")
print(f"{len(chunks)} chunks, {facts['retained']} words, {len(wrong)} wrong")
print("\n".join(wrong[:10]))
sys.exit(len(chunks) < 6000 or wrong != [])
