"""Compares the edges of fixtures/python_exact.py's objects with what the interpreter says of them.

   _python_exact_compare.py LOG DIRECTORY

An object's edges are those of its block and of its parts (list items, dict keys ...), which are
named and lead nowhere else. Both sides are reduced to what has a block, guesses among the numbers
of arrays left out. Nothing that gc tells may be missing; what there is beside it must be one of
EXPLAINED.
"""
import collections
import sys

PARTS = ("list items", "dict keys", "instance values", "set table", "deque items",
         "raw bytes", "dict values", "spare", "text")
# What an object holds and its type does not tell the collector.
EXPLAINED = {
    ("type", "str"): "__name__ and __qualname__",
    ("memoryview", "bytes"): "the bytes, which the buffer under it is told to hold",
    ("partial", "functools._PlaceholderType"): "3.14: what marks a place, which lives for ever",
    ("OrderedDict", "block"): "nodes of its list",
    ("Plain", "dict"): "3.13.0 tells the values in the object, not the dictionary over them",
}


def read(log, directory):
    nodes, starts = {}, []
    with open(directory + "/nodes.tsv") as f:
        next(f)
        for line in f:
            cells = line.rstrip("\n").split("\t")
            if int(cells[2]) and int(cells[1], 16):
                nodes[int(cells[0])] = (int(cells[1], 16), int(cells[2]), cells[4])
    edges = collections.defaultdict(list)
    with open(directory + "/edges.tsv") as f:
        next(f)
        for line in f:
            cells = line.split("\t")
            source = nodes.get(int(cells[0]))
            if source and cells[3] == "strong" and source[2] != "raw bytes":
                edges[int(cells[0])].append(int(cells[1]))
    said = {}
    for line in open(log):
        words = line.split()
        if words and words[0] == "REF":
            said[int(words[1], 16)] = (words[2], {int(w, 16) for w in words[3:]})
    return nodes, edges, said


def main():
    nodes, edges, said = read(sys.argv[1], sys.argv[2])
    holder = {}  # an object may begin 0, 16 or 32 bytes into its block
    for number, (address, words, name) in nodes.items():
        for offset in (0, 16, 32):
            holder.setdefault(address + offset, []).append((offset, number))

    def node_of(address):
        found = [n for o, n in sorted(holder.get(address, [])) if nodes[n][1] * 8 > o]
        return found[0] if found else None

    def reached(number):
        """What the block leads to, through its parts."""
        result, todo, seen = set(), [number], set()
        while todo:
            at = todo.pop()
            for to in edges[at]:
                if to in seen:
                    continue
                seen.add(to)
                if nodes[to][2] in PARTS or nodes[to][2].startswith("attributes of "):
                    todo.append(to)
                else:
                    result.add(to)
        return result

    false, missing, n_exact, n_all = collections.Counter(), collections.Counter(), 0, 0
    examples = {}
    for address, (name, targets) in said.items():
        number = node_of(address)
        if number is None:
            continue  # of the interpreter's own data
        want = {node_of(t) for t in targets} - {None, number}
        have = reached(number) - {number}
        n_all += 1
        for to in have - want:
            false[name, nodes[to][2]] += 1
            examples.setdefault((name, nodes[to][2]), (hex(address), hex(nodes[to][0])))
        for to in want - have:
            missing[name, nodes[to][2]] += 1
            examples.setdefault((name, nodes[to][2]), (hex(address), hex(nodes[to][0])))
        n_exact += have == want
    print("%d of %d objects have the edges that the interpreter tells" % (n_exact, n_all))
    bad = n_all < 700
    for key, n in missing.items():
        print("  less: %d %s > %s" % (n, *key), *examples[key])
        bad = True
    for key, n in false.items():
        why = EXPLAINED.get((key[0], key[1].split()[0]))
        print("  more: %d %s > %s" % (n, *key), "(%s)" % why if why else examples[key])
        bad |= why is None
    if bad:
        print("FAILED")
    sys.exit(bool(bad))


main()
