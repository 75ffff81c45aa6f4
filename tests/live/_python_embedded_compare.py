"""What the roots of fixtures/python_embedded.c own, in bytes, and of which kind they are.

   _python_embedded_compare.py ROOTS.json HOST library|static

In a program that Python is linked into, and that lies low in memory, the bytes of what is not typed
may look like pointers into the heap: there names and kinds alone are compared.
"""
import json
import sys

WANTED = [
    # name, module, kind, number of things, bytes of each at the least
    ("__main__.rows", "__main__", "global", 3000, 48),
    ("main() local mine", None, "stack", 2200, 48),
    ("interpreter 1: __main__.second", "interpreter 1: __main__", "global", 2500, 56),
    ("interpreter 1: __main__.Own.entries", "interpreter 1: __main__", "global", 1500, 48),
    ("host_list", "HOST", "global", 300, 1008),
    ("host_object", "HOST", "global", 2000, 56),
]


def check_own(rows, bad):
    """The host's pointer to a thread's state, that of its interpreter, and what functions of C have
       on the stack while Python runs, are Python's own."""
    for name in ("main local second", "interpreter 1: state"):
        row = rows.get(name)
        if row is None and sys.argv[3] == "library":
            bad.append("no root is called " + name)
        if row is not None and row["tier"] != "runtime":
            bad.append("%s is %s" % (name, row["tier"]))
    for row in rows.values():
        if row["kind"] == "stack" and row["tier"] == "firm" and \
                (row["module"] or "").startswith("libpython"):
            bad.append("%s is firm" % row["name"])


def main():
    rows = {row["name"]: row for row in json.load(open(sys.argv[1]))["roots"]}
    bad = []
    for name, module, kind, n, n_bytes in WANTED:
        row = rows.get(name)
        if row is None:
            bad.append("no root is called " + name)
            continue
        found = row["retained_words"] * 8
        print("  %-36s owns %7d bytes" % (name, found))
        if sys.argv[3] == "library" and not n * n_bytes <= found <= n * (n_bytes + 40) + 1000:
            bad.append("%s owns %d bytes" % (name, found))
        if row["kind"] != kind or row["tier"] != "firm":
            bad.append("%s is of kind %s, %s" % (name, row["kind"], row["tier"]))
        if module is not None and row["module"] != module.replace("HOST", sys.argv[2]):
            bad.append("%s is of module %s" % (name, row["module"]))
    check_own(rows, bad)
    for text in bad:
        print("FAILED: " + text)
    sys.exit(bool(bad))


main()
