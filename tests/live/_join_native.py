"""What the join says of the leaking program.

usage: _join_native.py HEAPSNAP DIRECTORY record|trace|jemalloc
"""
import json
import os
import subprocess
import sys

heapsnap, directory, how = sys.argv[1:]
snap = os.path.join(directory, "record.snap" if how == "trace" else f"{how}.snap")
trace = ["--trace", os.path.join(directory, "app.trace")] if how == "trace" else []


def check(condition, text):
    if not condition:
        sys.exit(text)


def run(*arguments):
    done = subprocess.run([heapsnap, *arguments, *trace, "--json"], capture_output=True, text=True,
                          timeout=100)
    check(done.returncode == 0, f"{arguments}: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


asked = next(int(line.split()[1]) for line in open(os.path.join(directory, "log"))
             if line.startswith("BACKLOG")) // 8
found = run("samples", snap, "-n", "0")
check(len(found["samples"]) > 100, "samples")
check(all(row["site"] for row in found["samples"]), "every sample has its backtrace")
check(all(row["id"] for row in found["samples"]), "every sample has its block")
if how == "trace":
    join = found["join"]
    check(join["in_both"] == len(found["samples"]), f"every sample is in the trace: {join}")
    check(join["lost"] == join["mismatches"] == join["trace_only"] == 0, f"{join}")

top = run("samples", snap, "--group-by", "site")["groups"][0]
check(top["site"]["function"] == "enqueue", f"who allocated it: {top['site']}")


def covers(sampled, error, truth):
    """Samples are drawn at random; four standard errors are exceeded once in 16,000 runs."""
    off = abs(sampled - truth) / error
    print(f"{how}: {sampled} +- {error} words (sampled), {truth} (exact): {off:.2f} errors")
    check(off <= 4, "the estimate does not cover the truth")


if how == "jemalloc":
    # It samples what it gives, 224 bytes for 208. Words of its own may lead into the list, too, so
    # that no single root keeps it.
    covers(top["estimated_words"], top["error_words"], asked // 26 * 28)
    sys.exit()

covers(top["estimated_words"], top["error_words"], asked)
pair = run("samples", snap, "--group-by", "site,root")["groups"][0]
check((pair["site"]["function"], pair["root"]) == ("enqueue", "backlog"), f"the pair: {pair}")
root = next(root for root in run("roots", snap, "--sites")["roots"] if root["name"] == "backlog")
check(root["sites"][0]["site"]["function"] == "enqueue", f"sites: {root['sites']}")
way = run("paths", snap, "--to", "site:enqueue")["paths"][0]
check((way["root"], way["types"]) == ("backlog", ["Request"]), f"the way: {way}")
