"""Compares what variables own by heapsnap with what the program says from inside.

   _python_truth_compare.py LOG ROOTS.json [more]

Prints both of each, and the largest difference in percent. With `more` a variable may own more than
the program knows of: tables of C below its objects, and what their numbers look like addresses of.
"""
import collections
import json
import sys


def main():
    inside, outside = collections.defaultdict(list), collections.defaultdict(list)
    for text in open(sys.argv[1]):
        words = text.rstrip("\n").split(" ", 2)
        if words[0] == "OWN":
            inside[words[2]].append(int(words[1]))
    listing = json.load(open(sys.argv[2]))
    for row in listing["roots"]:
        if "retained_words" in row:
            outside[row["name"]].append(row["retained_words"] * 8)
    bad, worst, n = [], 0, 0
    for name, sizes in sorted(inside.items()):
        found = sorted(outside[name], reverse=True)
        for i, size in enumerate(sorted(sizes, reverse=True)):
            other = found[i] if i < len(found) else 0
            n, off = n + 1, abs(other - size)
            print("  %-52s inside %9d  heapsnap %9d  %+.3f %%" %
                  (name, size, other, 100 * (other - size) / size))
            worst = max(worst, off / size)
            # what holds it: a coroutine with its frame, a closure's cell, a class
            may_be_more = sys.argv[3:] == ["more"] and other > size
            if off > size * 0.001 + 400 and not may_be_more:
                bad.append("%s owns %d bytes, not %d" % (name, size, other))
    print("  %d variables, at most %.3f %% apart" % (n, 100 * worst))
    for text in bad:
        print("FAILED: " + text)
    sys.exit(bool(bad) or n == 0)


main()
