#!/usr/bin/env bash
# A container of C++ in a static variable is one owner, though nothing names its words and code
# mentions each by its own address; a thread-local one is one owner of all its threads.
. "$(dirname "$0")/_native.sh"
need g++ strip

g++ -O1 -s -pthread -o "$work/static_containers" "$fixtures/static_containers.cpp" ||
    fail "building"
start "$work/static_containers"
dump
"$HEAPSNAP" suspects "$work/heap.snap" --json -n 0 >"$work/suspects.json" || fail "suspects"
python3 - "$work/suspects.json" <<'PYTHON' || fail "owners"
import json, re, sys
rows = json.load(open(sys.argv[1]))["suspects"]
said = [" ".join(row["sentence"].split()) for row in rows if row["list"] in ("owner", "joint")]
place = re.compile(r"\.bss\+0x[0-9a-f]+ to \+0x[0-9a-f]+ .*alone keeps")
alone = [text for text in said if place.match(text)]
threads = [text for text in said
           if re.match(r"3 x TLS of static_containers\+0x[0-9a-f]+ to \+0x[0-9a-f]+ keep", text)]
joint = [row for row in rows if row["list"] == "joint"]
if len(alone) != 6 or len(threads) != 1 or joint:
    print("\n".join(said))
    sys.exit(1)
PYTHON
leave
