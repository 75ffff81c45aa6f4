"""python_sampled.sh: log, table of sites by roots, whether roots count, and the period."""

import json
import sys

log, table, has_roots, period = sys.argv[1], sys.argv[2], sys.argv[3] == "roots", sys.argv[4]
with open(table, encoding="utf-8") as file:
    rows = json.load(file)["groups"]
with open(log, encoding="utf-8") as file:
    truths = [line.rstrip().split(None, 4)[1:] for line in file if line.startswith("truth ")]
assert len(truths) == 7, truths


for function, line, n_bytes, root in truths:
    n_bytes = int(n_bytes)
    mine = [row for row in rows if row["site"]["function"] == function and
            row["site"]["line"] == int(line) and
            (row["site"]["file"] or "").endswith("python_sampled.py")]
    if has_roots:
        others = [row["root"] for row in mine if row["root"] != root and
                  row["estimated_words"] * 8 > n_bytes / 20]
        assert not others, "%s:%s is kept by %s, not by %s" % (function, line, others, root)
        mine = [row for row in mine if row["root"] == root]
    estimate = sum(row["estimated_words"] for row in mine) * 8
    error = sum(row["error_words"] ** 2 for row in mine) ** 0.5 * 8
    print("%-10s %8d bytes: estimated %8d +- %6d by %s" % (function, n_bytes, estimate, error,
                                                           root))
    if period == "1":
        assert abs(estimate - n_bytes) < 8, "not exact"
        continue
    if n_bytes == 0:
        assert estimate <= 300 * 100, "what was freed lives"
        continue
    assert 0 < error < n_bytes / 8, "an error of %d tells nothing" % error
    # A chance of 1 in 10^6 with an error that is itself an estimate.
    assert abs(estimate - n_bytes) < 5 * error, "not covered"
