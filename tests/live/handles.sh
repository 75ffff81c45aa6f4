#!/usr/bin/env bash
# What a handle lists that only its library describes has a name and a number, by a line of a rule
# file alone: statements of Debian's SQLite by the line that is shipped, a house's cursors by the
# user's. A list that ends in a circle has neither, nor has anything without its line.
. "$(dirname "$0")/_native.sh"
need gcc
echo '#include <sqlite3.h>' | gcc -E -xc - >/dev/null 2>&1 ||
    { echo "skipped: no sqlite3.h"; exit 77; }

cat >"$work/house.rules" <<'RULES'
heapsnap-rules 1
handle "house"  lists "cursor" first 24 next 8 back 16
RULES
gcc -O1 -DHOUSE -c -o "$work/house.o" "$fixtures/handles.c" &&
    gcc -O1 -g -o "$work/handles" "$fixtures/handles.c" "$work/house.o" -lsqlite3 ||
    fail "building"
start "$work/handles" 400

dump --rules "$work/house.rules"
types_are "lists"
"$HEAPSNAP" types "$work/heap.snap" --group-by container --json -n 0 >"$work/lists" || fail "lists"
python3 - "$work/lists" <<'PYTHON' || fail "$(cat "$work/lists")"
import json, sys
rows = json.load(open(sys.argv[1]))["containers"]
found = sorted((row["elements"], row["containers"]) for row in rows)
sys.exit(found != [(400, 1), (400, 1)])
PYTHON
"$HEAPSNAP" suspects "$work/heap.snap" >"$work/said" || fail "suspects"
tr -s ' \n' ' ' <"$work/said" | grep -q "db (.*) alone keeps .*: 400 sqlite3_stmt (opaque), " ||
    fail "$(cat "$work/said")"

# Without the lines there is nothing of that name but what a stale variable may lead to.
rm -f "$work"/heap.snap*
dump --rules=-handles
if (types_are "no lists") >"$work/without"; then fail "lists without rules"; fi
grep -qE '^no lists: [0-3] of sqlite3_stmt' "$work/without" || fail "$(cat "$work/without")"
grep -qE '^no lists: [0-3] of cursor' "$work/without" || fail "$(cat "$work/without")"
leave
