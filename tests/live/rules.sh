#!/usr/bin/env bash
# What no debug information says is told by a file of rules: a type that owns nothing, a view of a
# call, a table of a house's own runtime. Without the file each stands beside the owner, and nothing
# is said to be exact; with it each owner keeps its own alone; a set that is turned off is as if it
# were not there.
. "$(dirname "$0")/_native.sh"
need g++

cat >"$work/house.rules" <<'RULES'
heapsnap-rules 1
type   "house::ObserverPtr<*>"  pointers find
type   "house::Window"          on-stack borrowed
symbol "_house_*"               in executable tier runtime
symbol "_house_slots"           heap "house slots"
RULES

alone()
{
    if (owned "$1" >"$work/owned"); then echo yes; else echo no; fi
}

g++ -std=c++17 -O1 -g -o "$work/rules" "$fixtures/rules.cpp" || fail "building"
start "$work/rules" 2000
dump
[ "$(alone none)" = no ] || fail "without rules each has one owner: $(cat "$work/owned")"
"$HEAPSNAP" suspects "$work/heap.snap" >"$work/said" 2>&1 || fail "suspects"
grep -q "Some of" "$work/said" && ! grep -q "of fewer, nothing" "$work/said" ||
    fail "no reserve: $(cat "$work/said")"
tr -s ' \n' ' ' <"$work/said" |
    grep -qF 'rule says so: type "house::ObserverPtr<*>" pointers find' ||
    fail "no rule is named: $(cat "$work/said")"

rm -f "$work"/heap.snap*
dump --rules "$work/house.rules"
owned "with rules"
"$HEAPSNAP" suspects "$work/heap.snap" >"$work/said" 2>&1 || fail "suspects"
! grep -q "Some of\|rule says so" "$work/said" || fail "a reserve: $(cat "$work/said")"
"$HEAPSNAP" info "$work/heap.snap" >"$work/said" || fail "info"
grep -q '^note.*rules [0-9a-f]\{16\}: .*std, of the user house' "$work/said" ||
    fail "info: $(grep rules "$work/said")"
"$HEAPSNAP" suspects "$work/heap.snap" --policy conservative | grep 'roots together' >/dev/null ||
    fail "rules lower what a word is worth: by --policy conservative all count alike"

# Why says which line of which file it was.
"$HEAPSNAP" info "$work/heap.snap" --json >"$work/info.json" || fail "info --json"
grep -q 'house slots (rules): recognised' "$work/info.json" || fail "the house's heap is not seen"
for line in 'weak-pointer by house.rules:2' 'borrowed-by-call by house.rules:3' \
    'runtime-table by house.rules:4' 'runtime-table by rules.d/libc.rules:'; do
    grep -q "is $line" "$work/info.json" || fail "no line: $line"
done
node=$("$HEAPSNAP" sql "$work/heap.snap" "select r.target from roots r where r.rule = 'weak-pointer'
    and r.name like '%observed%'" --format tsv | tail -1)
"$HEAPSNAP" object "$work/heap.snap" "#$node" --why |
        grep -F 'weak-pointer (house.rules:2)' >/dev/null ||
    fail "why: $("$HEAPSNAP" object "$work/heap.snap" "#$node" --why)"

# Rules of roots can be switched off one by one, and then none of these is lowered so.
for rule in weak-pointer borrowed-by-call runtime-table no-variable; do
    count="select count(*) from roots where rule = '$rule'"
    [ "$("$HEAPSNAP" sql "$work/heap.snap" "$count" --format tsv | tail -1)" != 0 ] ||
        fail "$rule lowers nothing"
    "$HEAPSNAP" dump "$pid" --rules "$work/house.rules" --rules="-$rule" -o "$work/off.snap" \
        2>"$work/talk" || fail "dump without $rule: $(cat "$work/talk")"
    [ "$("$HEAPSNAP" sql "$work/off.snap" "$count" --format tsv | tail -1)" = 0 ] ||
        fail "$rule was not switched off"
    rm -f "$work"/off.snap*
done

# One line less is one owner more, and the other lines still hold.
for line in 2 3 4; do
    sed "${line}d" "$work/house.rules" >"$work/less.rules"
    rm -f "$work"/heap.snap*
    dump --rules "$work/less.rules"
    [ "$(alone "$line")" = no ] && [ "$(grep -c 'FAILED: [a-z]* keeps' "$work/owned")" = 1 ] ||
        fail "without line $line: $(cat "$work/owned")"
done

# As the user's own file, and turned off.
mkdir -p "$XDG_CONFIG_HOME/heapsnap/rules.d"
cp "$work/house.rules" "$XDG_CONFIG_HOME/heapsnap/rules.d"
rm -f "$work"/heap.snap*
dump
owned "the user's"
rm -f "$work"/heap.snap*
dump --rules=-house
[ "$(alone off)" = no ] || fail "--rules=-house"
leave
