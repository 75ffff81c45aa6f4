"""What the join says of a traced program, against what the program said of itself.

usage: _traced_compare.py HEAPSNAP DIRECTORY   with log, heap.snap, live.ctf, app.ctf
"""
import json
import os
import subprocess
import sys

heapsnap, directory = sys.argv[1:]
snap, live, final = (os.path.join(directory, name) for name in ("heap.snap", "live.ctf", "app.ctf"))


def run(*arguments, code=0):
    done = subprocess.run([heapsnap, *arguments], capture_output=True, text=True, timeout=100)
    check(done.returncode == code, f"{arguments}: exit {done.returncode}: {done.stderr}")
    return done


def check(condition, text):
    if not condition:
        sys.exit(text)


def cases(trace):
    found = json.loads(run("samples", snap, "--trace", trace, "--json", "-n", "0").stdout)
    join = found["join"]
    check(join["lost"] == 0 and join["mismatches"] == 0, f"lost or mismatched: {join}")
    return found, (join["in_both"], join["process_only"], join["trace_only"])


said = {}
for line in open(os.path.join(directory, "log")):
    word, *numbers = line.split()
    said[word] = tuple(map(int, numbers))

found, counted = cases(live)
check(counted == said["COUNTS"], f"live trace: {counted}, the program said {said['COUNTS']}")
check(all(count > 0 for count in counted), f"a case did not happen: {counted}")
rows = found["samples"]
check(all((row["site"] is not None) == (row["join"] == "in both") for row in rows), "sites")

whole = found["samplers"][0]
truth = whole["exact_words"] - said["OWN"][0]
off = abs(whole["estimated_words"] - truth)
print(f"estimate {whole['estimated_words']} +- {whole['error_words']} words (sampled), heap "
      f"{truth} (exact, without the tracker's): {off / whole['error_words']:.2f} standard errors")
check(off <= 3 * whole["error_words"], "the estimate does not cover the truth")

_, counted = cases(final)
n = said["FLUSHED"][0]
check(counted == (n, 0, 0), f"final trace: {counted}, the program said {n}")

table = json.loads(run("samples", snap, "--trace", final, "--group-by", "site,root",
                       "--json").stdout)
top = table["groups"][0]
check(top["site"]["function"].endswith(".cache_add"), f"cache_add allocated most: {top}")
check(top["keeper"] == "root" and top["backtrace"][0]["function"] == "Stdlib__Bytes.make",
      f"the standard library for it: {top}")
roots = json.loads(run("roots", snap, "--trace", final, "--json").stdout)["roots"]
check(roots[0]["id"] == top["root_id"], "which the largest root keeps")
within = abs(roots[0]["sampled_words"] - roots[0]["retained_words"])
check(within <= 3 * roots[0]["sampled_error_words"], f"what it retains: {roots[0]}")
ways = json.loads(run("paths", snap, "--trace", final, "--to", "site:...cache_add",
                      "--json").stdout)
check(ways["paths"][0]["root_id"] == top["root_id"], f"kept by the table: {ways['paths'][0]}")
check(ways["total"]["n_samples"] >= top["n_samples"], "all samples of a function")

dead = None
for line in run("trace", "dump", live).stdout.splitlines():
    words = line.split()
    if words[2] == "collect":
        dead = words[1].lstrip("0") or "0"
        break
check("was collected at t = " in run("paths", snap, "--trace", live, "--to", dead, code=2).stderr,
      "a sample that died")
