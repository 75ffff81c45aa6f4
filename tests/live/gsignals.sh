#!/usr/bin/env bash
# Tables of libgobject's find the handlers of signals, and do not keep: an object has its own, with
# what their closures have, and one that only its own closure refers to is lost.
. "$(dirname "$0")/_native.sh"
need gcc
need pkg-config
pkg-config gobject-2.0 || { echo "skipped: no libglib2.0-dev"; exit 77; }

for options in "-g -O0" "-g -O2"; do
    # shellcheck disable=SC2046,SC2086
    gcc $options "$fixtures/gsignals.c" $(pkg-config --cflags --libs gobject-2.0) \
        -o "$work/gsignals" || fail "building"
    start "$work/gsignals"
    rm -f "$work"/heap.snap.idx
    dump
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "roots"
    "$HEAPSNAP" leaks "$work/heap.snap" --json -n 0 >"$work/leaks.json" || fail "leaks"
    python3 - "$work" "$options" <<'PYTHON' || fail "$options"
import json, sys
work, what = sys.argv[1:]
roots, leaks = (json.load(open(f"{work}/{name}.json")) for name in ("roots", "leaks"))
certain, possible = (sum(g["count"] for g in leaks["groups"]
                         if g["type"].endswith("Thing") and g["certainty"] == c)
                     for c in ("certain", "possible"))
kept = sum(r["retained_words"] for r in roots["roots"] if r["name"].split(".")[0] == "kept")
tables = sum(r["retained_words"] for r in roots["roots"]
             if (r["module"] or "").startswith("libgobject"))
print(f"{what}: {certain} certain and {possible} possible things lost, kept keeps {kept} words, "
      f"libgobject {tables}")
handlers = sum(g["count"] for g in leaks["groups"] if g["type"] == "signal handler on_changed")
print(f"{what}: {handlers} handlers lost")
if not 950 <= handlers <= 1000:
    sys.exit("no handlers of on_changed")
weak = sum(g["count"] for g in leaks["groups"] if g["type"].endswith("GInitiallyUnowned")
           and g["certainty"] == "possible" and g["why"].startswith("only weak references"))
print(f"{what}: {weak} of 140 that only weak references lead to")
if not 133 <= weak <= 140:
    sys.exit(1)
# of a thing 54 words, of its handler 8, of a closure 9, of a text 25; some words are left behind
sys.exit(not 950 <= certain + possible <= 1000 or certain < 900 or kept < 500 * 96 or
         tables > 15000)
PYTHON
    leave
done
