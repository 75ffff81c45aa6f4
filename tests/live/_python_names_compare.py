"""Compares the roots of fixtures/python_names.py with what it says of itself.

   _python_names_compare.py LOG ROOTS.json
"""
import json
import sys


def main():
    own, line, version = {}, 0, ""
    for text in open(sys.argv[1]):
        words = text.rstrip("\n").split(" ", 2)
        if words[0] == "OWN":
            own[words[2]] = int(words[1])
        elif words[0] == "LINE":
            line = int(words[1])
        elif words[0] == "VERSION":
            version = words[1]
    listing = json.load(open(sys.argv[2]))
    rows = {}
    for row in listing["roots"]:
        rows.setdefault(row["name"], row)
    bad = []
    has_frames = tuple(map(int, version.split("."))) >= (3, 11)
    for name, n_bytes in own.items():
        if "()" in name and not has_frames:
            continue
        row = rows.get(name)
        if row is None:
            bad.append("no root is called " + name)
            continue
        found = row["retained_words"] * 8
        # the object that holds the list: a closure, a generator, an instance
        least, most = n_bytes * 0.999, n_bytes * 1.001 + 1000
        print("  %-28s owns %7d bytes of %7d" % (name, found, n_bytes))
        if not least <= found <= most:
            bad.append("%s owns %d of %d bytes" % (name, found, n_bytes))
    if has_frames:
        row = rows.get("worker() local rows", {})
        if row.get("line") != line or row.get("file") != "python_names.py":
            bad.append("worker() is at line %d: %s" % (line, row))
    text = json.dumps(listing)
    if "not a name" in text or "__main__[...]" not in text:
        bad.append("a key that is no identifier is told, or not listed at all")
    if "other_module.alias" in rows:
        bad.append("an alias has a root of its own")
    for text in bad:
        print("FAILED: " + text)
    sys.exit(bool(bad))


main()
