"""compare_java.py THEIRS GRAPH N: every object of a Java heap, ours against VisualVM's.

THEIRS has a line per object: identifier, class or object, size, retained size. GRAPH is the
directory that `export --to graph` wrote. N is how many objects may differ in what they retain.
Sizes must be equal. Class objects weigh nothing with us; VisualVM adds their size to what they
retain when they hold nothing that others hold.
"""

import sys


def main():
    theirs, wrong, n, lighter = {}, [], 0, 0
    for line in open(sys.argv[1]):
        name, what, size, retained = line.split("\t")
        theirs[int(name)] = what, int(size), int(retained)
    with open(sys.argv[2] + "/nodes.tsv") as lines:
        next(lines)
        for line in lines:
            _, address, words, static, of, idom, retained = line.rstrip("\n").split("\t")[:7]
            what, size, kept = theirs.pop(int(address, 16), (None, 0, 0)) if words != "0" else \
                (None, 0, 0)
            if what is None:
                continue
            n += 1
            own = 0 if static == "1" else int(words)
            ours = 0 if idom == "-" else int(retained)
            if what == "object" and own != size:
                sys.exit("%s at %s weighs %d, not %d" % (of, address, own, size))
            if what == "class" and ours + size == kept:
                lighter += 1
            elif ours != kept:
                wrong.append("%s at %s retains %d, not %d" % (of, address, ours, kept))
    print("%d objects: %d differ, %d classes are lighter" % (n, len(wrong), lighter))
    if n == 0 or theirs or len(wrong) > int(sys.argv[3]):
        print("    %d are missing" % len(theirs))
        for line in wrong[:10]:
            print("   ", line)
        sys.exit(1)


main()
