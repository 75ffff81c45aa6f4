"""Compares the pools that the probe lists with what the interpreter says.

   _cpython_compare.py LOG STATISTICS LISTED
"""
import re
import sys


def main():
    expected = dict(line.split() for line in open(sys.argv[1]) if line != "ready\n")
    text = open(sys.argv[2]).read()
    allocated = int(re.search(r"# bytes in allocated blocks += +([\d,]+)", text).group(1)
                    .replace(",", ""))
    n_blocks = n_bytes = n_named = 0
    names, bad, version = {}, [], "?"
    for line in open(sys.argv[3]):
        words = line.split()
        if words[0] == "V" and words[1] == "cpython":
            version = words[2]
        elif words[0] == "B":
            if words[1] == "cpython":
                n_blocks += 1
                n_bytes += int(words[3])
                n_named += len(words) > 4
            if len(words) > 4:
                names[words[4]] = names.get(words[4], 0) + 1
        elif words[0] == "P" and words[1] != words[2]:
            bad.append("proof fails: " + line)
        elif words[0] == "N" and words[1] == "1":
            bad.append("gap: " + line)
    print("Python %s: %d blocks, %d bytes, %d named; it says %d bytes"
          % (version, n_blocks, n_bytes, n_named, allocated))
    # Printing the last line may make or drop a few objects.
    if abs(n_bytes - allocated) > 1024:
        bad.append("%d bytes, Python says %d" % (n_bytes, allocated))
    for name, count in sorted(expected.items()):
        if names.get(name, 0) != int(count):
            bad.append("%d objects of type %s, there are %s" % (names.get(name, 0), name, count))
    for name in ("str", "int", "tuple", "list", "dict", "function"):
        if names.get(name, 0) < 100:
            bad.append("only %d objects of type %s" % (names.get(name, 0), name))
    for line in bad:
        print("FAILED: " + line.rstrip())
    sys.exit(bool(bad))


main()
