"""compare_v8.py import|export THEIRS GRAPH [INFO] [--differ]: every node, ours against theirs.

THEIRS has a line per node of the .heapsnapshot: number, dominator, size, retained size. GRAPH is
the directory that `export --to graph` wrote.

import  ours was made of the file: by address, blocks are its nodes (INFO is what info --json said).
        Retained sizes must be equal. What no root reaches, both tools hang on the root, each object
        by itself.
export  the file was made of ours: nodes have our numbers. Dominators and sizes must be equal.

--differ turns the answer around: it is an error when all are equal.
"""

import json
import re
import sys


def ours(directory):
    with open(directory + "/nodes.tsv") as lines:
        next(lines)
        for line in lines:
            node, address, words, static, _, idom, retained = line.rstrip("\n").split("\t")[:7]
            yield (int(node), int(address, 16), int(words), static == "1",
                   None if idom == "-" else int(idom), int(retained))


def imported(theirs, directory, info):
    step = next(int(m[1]) for note in json.load(open(info))["notes"]
                if (m := re.search(r"is at K \* (\d+)", note["text"])))
    n = unreached = 0
    wrong = []
    for _, address, words, static, idom, retained in ours(directory):
        if words == 0:
            continue
        n += 1
        dominator, size, kept = theirs[address // step]
        if size != (0 if static else words):
            wrong.append("node %d weighs %d, not %d" % (address // step, words, size))
        elif idom is None:
            unreached += 1
            if dominator != 0 or kept != size:
                wrong.append("node %d is not reached" % (address // step))
        elif retained != kept:
            wrong.append("node %d retains %d, not %d" % (address // step, retained, kept))
    return n, unreached, wrong


def exported(theirs, directory, info):
    word = json.load(open(info))["word_bytes"]
    n = unreached = 0
    wrong = []
    for node, _, words, _, idom, _ in ours(directory):
        n += 1
        dominator, size, _ = theirs[node]
        if size != words * word:
            wrong.append("node %d weighs %d, not %d" % (node, words * word, size))
        elif idom is None:
            unreached += node != 0
        elif dominator != idom:
            wrong.append("node %d has dominator %d, not %d" % (node, idom, dominator))
    if n != len(theirs):
        wrong.append("%d nodes, not %d" % (n, len(theirs)))
    return n, unreached, wrong


def main():
    theirs = {}
    for line in open(sys.argv[2]):
        node, dominator, size, kept = line.split("\t")
        theirs[int(node)] = int(dominator), int(size), int(float(kept))
    compare = imported if sys.argv[1] == "import" else exported
    n, unreached, wrong = compare(theirs, sys.argv[3], sys.argv[4])
    print("%d nodes, %d unreached: %d differ" % (n, unreached, len(wrong)))
    expected = "--differ" in sys.argv
    if n == 0 or bool(wrong) != expected:
        for line in wrong[:10]:
            print("   ", line)
        sys.exit(1)


main()
