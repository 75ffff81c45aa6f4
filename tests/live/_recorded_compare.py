"""_recorded.sh: what samples and the trace say of a program that knows it; RATE 1 is exact."""

import json
import sys

work, rate = sys.argv[1], int(sys.argv[2])


def load(name):
    with open("%s/%s.json" % (work, name), encoding="utf-8") as file:
        return json.load(file)


def covers(what, estimate, error, truth):
    print("%-24s %9d words: estimated %9d +- %d" % (what, truth, estimate, error))
    if rate == 1:
        assert abs(estimate - truth) < 0.5, "%s: not exact: %s of %s" % (what, estimate, truth)
    else:
        # A chance of 1 in 10^6 with an error that is itself an estimate.
        assert abs(estimate - truth) < 5 * max(error, rate / 8), "%s: not covered" % what


def is_at(row, function, line):
    return (row is not None and row["function"] == function and
            row["line"] == line and row["file"].endswith("recorded.ml"))


with open(work + "/log", encoding="utf-8") as log:
    truths = [line.split()[1:] for line in log if line.startswith("truth ")]
assert len(truths) == 4, truths
top, info = load("top")["rows"], load("info")
assert info["counts"]["unmatched"] == 0 and not any(info["gaps"].values()), info
assert info["counts"]["allocations_major"] > 0 and info["counts"]["collections"] > 0, info
for function, line, words, kept, variable in truths:
    rows = [row for row in top if is_at(row, function, int(line))]
    covers(function, sum(row["words"] for row in rows),
           sum(row["words_error"] ** 2 for row in rows) ** 0.5, int(words))
    for name in "table", "traced":
        groups = [g for g in load(name)["groups"] if g["sampler"] == "memprof" and
                  is_at(g["site"], function, int(line)) and g["root"]]  # the rest is garbage
        mine = [g for g in groups if g["root"].endswith(variable) or " field " in g["root"]]
        others = sum(g["estimated_words"] for g in groups) - sum(g["estimated_words"] for g in mine)
        assert others <= 3 * rate / 8, "%s: %s is kept by another: %s" % (name, function, groups)
        covers("  kept", sum(g["estimated_words"] for g in mine),
               sum(g["error_words"] ** 2 for g in mine) ** 0.5, int(kept))
