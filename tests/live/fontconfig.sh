#!/usr/bin/env bash
# What fontconfig makes in memory leads to its parts by distances: none of them is a leak, but
# those of patterns and sets that nothing leads to; all have their types.
. "$(dirname "$0")/_native.sh"
need gcc
need pkg-config

build()
{
    # shellcheck disable=SC2046
    gcc -O1 -g "$fixtures/fontconfig_heap.c" $(pkg-config --cflags --libs fontconfig) \
        -o "$work/fontconfig_heap" "$@" || fail "building $*"
}

# counts TYPE: how many blocks have it
counts()
{
    awk -F'\t' -v type="$1" '$NF == type { print $1 }' "$work/types"
}

check_types()
{
    "$HEAPSNAP" types "$work/heap.snap" -n 0 --format tsv >"$work/types" || fail "types"
    local kind n
    while read -r kind n; do
        case $kind in
            patterns) [ "$(counts FcPattern)" = "$n" ] && [ "$(counts FcPatternElt)" = "$n" ] ;;
            values) [ "$(counts FcValueList)" = "$n" ] ;;
            sets) [ "$(counts FcCharSet)" = "$n" ] && [ "$(counts 'FcCharSet leaves')" = "$n" ] ;;
            leaves) [ "$(counts FcCharLeaf)" = "$n" ] ;;
        esac || { cat "$work/log"; grep Fc "$work/types"; fail "$kind"; }
    done < <(grep '^[a-z]' "$work/log")
}

# check_leaks NAME MISSING: what the program lost, but for so many whose addresses are still in
# memory that was used before, and nothing else
check_leaks()
{
    "$HEAPSNAP" leaks "$work/heap.snap" --json >"$work/leaks" || fail "$1: leaks"
    python3 - "$work/leaks" "$2" <<'PYTHON' || { "$HEAPSNAP" leaks "$work/heap.snap"; fail "$1"; }
import json, sys
lost = {"FcPattern": 7, "FcCharSet": 5}
heads = {}
for group in json.load(open(sys.argv[1]))["groups"]:
    if group["heads"] != 0 and group["certainty"] == "certain":
        heads[group["type"]] = heads.get(group["type"], 0) + group["heads"]
print(heads)
missing = sum(n - heads.pop(name, 0) for name, n in lost.items())
sys.exit(heads != {} or not 0 <= missing <= int(sys.argv[2]))
PYTHON
}

build
start "$work/fontconfig_heap" own
dump
check_types
check_leaks "own" 0
for _ in 1 2; do
    rm -f "$work"/heap.snap*
    start "$work/fontconfig_heap" fonts
    dump
    check_leaks "fonts" 6
done
