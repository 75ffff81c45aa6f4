#!/usr/bin/env bash
# A source of GLib is its context's: a variable that has one does not keep the others by way of the
# context that the source is in, nor by its neighbours there; what nobody else has, it keeps.
. "$(dirname "$0")/_native.sh"
need gcc
need pkg-config
pkg-config glib-2.0 || { echo "skipped: no libglib2.0-dev"; exit 77; }

for options in "-g -O0" "-g -O2"; do
    # shellcheck disable=SC2046,SC2086
    gcc $options "$fixtures/gsources.c" $(pkg-config --cflags --libs glib-2.0) \
        -o "$work/gsources" || fail "building"
    start "$work/gsources"
    rm -f "$work"/heap.snap.idx
    dump
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "roots"
    "$HEAPSNAP" suspects "$work/heap.snap" --json -n 0 >"$work/suspects.json" || fail "suspects"
    python3 - "$work" "$options" <<'PYTHON' || fail "$options"
import json, re, sys
work, what = sys.argv[1:]
roots, said = (json.load(open(f"{work}/{name}.json")) for name in ("roots", "suspects"))
keeps, sets = {}, {}
for root in roots["roots"]:
    name = root["name"].split(".")[0].split("->")[0]
    keeps[name] = keeps.get(name, 0) + root["retained_words"]
print(what, {name: keeps.get(name, 0) for name in ("watch", "pool", "first", "list")})
text = 400 // 8
ok = (100 * text < keeps["list"] < 110 * text and keeps.get("watch", 0) < 100 and
      keeps.get("first", 0) < 100)
sources = 0
for row in said["suspects"]:
    print(row["sentence"])
    ok &= re.search("watch|first", row["sentence"]) is None
    sources += row["words"] if "_GSource" in row["sentence"] else 0
sys.exit(not ok or sources < 5000 * text)
PYTHON
    leave
done
