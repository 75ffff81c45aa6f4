#!/usr/bin/env bash
# A Rust program that has forgotten boxes and made cycles of Rc: every block of them is a certain
# leak and nothing else is; what is held has its types, and paths read like source. With each
# compiler that is there.
. "$(dirname "$0")/_native.sh"
need rustc
n=${HS_LEAKS_OBJECTS:-500}

compare()
{
    "$HEAPSNAP" leaks "$work/heap.snap" --json -n 0 >"$work/leaks.json" || fail "leaks"
    "$HEAPSNAP" info "$work/heap.snap" --json >"$work/info.json" || fail "info"
    python3 - "$work/log" "$work/leaks.json" "$work/info.json" "$1" <<'PYTHON' || fail "$1"
import json, sys
said = dict(line.split() for line in open(sys.argv[1]) if line.count(" ") == 1)
leaks, info = json.load(open(sys.argv[2])), json.load(open(sys.argv[3]))
lost, possible = leaks["certain"]["count"], leaks["possible"]["count"]
held = info["objects"] - lost
print(f"{sys.argv[4]}: {lost} certain and {possible} possible leaks, {held} blocks held")
assert lost == int(said["LOST_BLOCKS"]) and possible == 0
assert held >= int(said["HELD_BLOCKS"])
PYTHON
}

# types NAME: as many of each type as the program says, and a path to one of them.
types()
{
    types_are "$1"
    session=$("$HEAPSNAP" paths "$work/heap.snap" --to type:leaks_rust::Session --json |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["target"]["id"])') || fail "paths"
    "$HEAPSNAP" paths "$work/heap.snap" --to "$session" --limit 1 >"$work/paths" || fail "paths"
    grep -q '= leaks_rust::SERVER->sessions\[[0-9]*\]\.__1' "$work/paths" ||
        { cat "$work/paths"; fail "paths of $1"; }
}

cp "$fixtures/leaks_rust.rs" "$work/"
last=""
for rustc in "$(command -v rustc)" /usr/bin/rustc; do
    [ -x "$rustc" ] && [ "$rustc" != "$last" ] || continue
    last=$rustc
    "$rustc" -O -g -o "$work/leaks_rust" "$work/leaks_rust.rs" 2>/dev/null || fail "building"
    strip -o "$work/leaks_rust.stripped" "$work/leaks_rust"
    for program in leaks_rust leaks_rust.stripped; do
        start "$work/$program" "$n"
        dump
        compare "$program of $("$rustc" --version)"
        [ "$program" != leaks_rust ] || types "$program of $("$rustc" --version)"
        leave
    done
done
