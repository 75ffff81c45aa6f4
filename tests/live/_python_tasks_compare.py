"""Compares the roots of a program of tasks (fixtures/python_tasks.py) with what it says of itself.

   _python_tasks_compare.py LOG ROOTS.json PROGRAM.py [SHARE]

Each owns what it should but for this share (0.001).
"""
import json
import sys


def main():
    bad, share = [], float(sys.argv[4]) if len(sys.argv) > 4 else 0.001
    rows = json.load(open(sys.argv[2]))["roots"]
    for text in open(sys.argv[1]):
        words = text.rstrip("\n").split(" ", 3)
        if words[0] == "NONE":
            name = text.split(" ", 1)[1].strip()
            bad += [row["name"] + " has a root" for row in rows if row["name"].startswith(name)]
        if words[0] != "OWN":
            continue
        n_bytes, line, name = int(words[1]), int(words[2]), words[3]
        found = [row for row in rows if row["name"] == name]
        if len(found) != 1:
            bad.append("%d roots are called %s" % (len(found), name))
            continue
        row, own = found[0], found[0]["retained_words"] * 8
        print("  %-56s owns %7d bytes of %7d" % (name, own, n_bytes))
        if abs(own - n_bytes) > n_bytes * share + 100:
            bad.append("%s owns %d of %d bytes" % (name, own, n_bytes))
        if line != 0 and (row.get("line"), row.get("file")) != (line, sys.argv[3]):
            bad.append("%s is at line %d, not %s" % (name, line, row.get("line")))
        if row["kind"] != "stack":
            bad.append("%s is of kind %s" % (name, row["kind"]))
    for text in bad:
        print("FAILED: " + text)
    sys.exit(bool(bad))


main()
