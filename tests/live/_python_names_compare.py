"""Compares the roots of fixtures/python_names.py with what it says of itself.

   _python_names_compare.py LOG ROOTS.json
"""
import json
import sys


def main():
    own, line = {}, 0
    for text in open(sys.argv[1]):
        words = text.rstrip("\n").split(" ", 2)
        if words[0] == "OWN":
            own[words[2]] = int(words[1])
        elif words[0] == "LINE":
            line = int(words[1])
    listing = json.load(open(sys.argv[2]))
    rows = {}
    for row in listing["roots"]:
        rows.setdefault(row["name"], row)
    bad = []
    for name, n_bytes in own.items():
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
    row = rows.get("worker() local rows", {})
    if row.get("line") != line or row.get("file") != "python_names.py":
        bad.append("worker() is at line %d: %s" % (line, row))
    if row.get("thread") is None or row["thread"] != rows["__main__.tls.theirs"].get("thread"):
        bad.append("variables of one thread: %s" % row)
    kinds = [(name, "finaliser") for name in own if name.startswith("atexit")]
    for name, kind in (*kinds, ("__main__.tls.mine", "tls"), ("context variable request7", "tls"),
                       ("codecs error handlers", "registered")):
        if rows.get(name, {}).get("kind") != kind:
            bad.append("%s is a root of kind %s" % (name, kind))
    text = json.dumps(listing)
    if "not a name" in text or "__main__[...]" not in text:
        bad.append("a key that is no identifier is told, or not listed at all")
    if rows["__main__.table"].get("file") != "python_names.py":
        bad.append("the file of a module's variable: %s" % rows["__main__.table"])
    if "other_module.alias" in rows:
        bad.append("an alias has a root of its own")
    for text in bad:
        print("FAILED: " + text)
    sys.exit(bool(bad))


main()
