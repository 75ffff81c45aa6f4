#!/usr/bin/env bash
# parts: sql
# A pointer that owns nothing, a container, a tree of owners and a class with a link back are each
# added by a line of a user's file, and the answer changes by that line alone; obstacks by the line
# that is shipped. A line that is wrong has a place and a reason.
. "$(dirname "$0")/_native.sh"
need g++

cat >"$work/house.rules" <<'RULES'
heapsnap-rules 1
type      "house::Peek<*>"  pointers find
owners    "house chunk"  header 48 parent 0 child 8 next 16 prev 24 when symbol "house_chunk_free"
class     "house::Part"     words 1 find
container "house::Bag"      at "slots" elements "n_taken" room "n_room"
RULES

g++ -std=c++17 -O1 -g -o "$work/rules" "$fixtures/rules_added.cpp" || fail "building"
start "$work/rules" 400
dump --rules "$work/house.rules"
owned "all"
for tree in 'house chunk, expected 401' 'obstack chunk, expected'; do
    "$HEAPSNAP" info "$work/heap.snap" | grep "^proof *holds: owners: .*: $tree" >/dev/null ||
        fail "no proof: $tree: $("$HEAPSNAP" info "$work/heap.snap" | grep proof)"
done
bag()
{
    "$HEAPSNAP" types "$work/heap.snap" --group-by container --json -n 0 >"$work/bags" ||
        fail "types"
    python3 - "$work/bags" <<'PYTHON'
import json, sys
rows = json.load(open(sys.argv[1]))["containers"]
print([(row["elements"], row["room"]) for row in rows])
PYTHON
}
[ "$(bag)" = "[(400, 800)]" ] || fail "the bag: $(bag)"

# less LINE VARIABLES [OPTION]: without this line these are not alone, and all others are.
less()
{
    local line=$1 but
    read -r -a but <<<"$2"
    shift 2
    sed "${line}d" "$work/house.rules" >"$work/less.rules"
    rm -f "$work"/heap.snap*
    dump --rules "$work/less.rules" "$@"
    if (owned "without $line") >"$work/owned"; then fail "${but[0]} is alone without line $line"; fi
    grep -q "FAILED: ${but[0]} keeps" "$work/owned" || fail "line $line: $(cat "$work/owned")"
    owned "the others" "${but[@]}"
}
less '2d;5' kept
[ "$(bag)" = "[]" ] || fail "a bag of no rule: $(bag)"
less 3 "server by_number"
less 4 "whole visitor"
less 9 "names interned" --rules=-owners

sed -i '3s/child 8/child 9/' "$work/house.rules"
"$HEAPSNAP" rules --check "$work/house.rules" >"$work/said" 2>&1 && fail "a wrong line is right"
grep -q "house.rules *3 *51 *'9' is no multiple of 8" "$work/said" || fail "$(cat "$work/said")"
leave
