#!/usr/bin/env bash
# A block that malloc has mapped is one block, whatever was said to the kernel of part of it, as
# numpy does of all large arrays; what its words lead to is kept, in a core of the process as well.
. "$(dirname "$0")/_native.sh"
need gcc

gcc -O1 -g "$fixtures/split_block.c" -o "$work/split_block" || fail "building"

# check WHAT
check()
{
    rm -f "$work"/heap.snap.idx
    "$HEAPSNAP" info "$work/heap.snap" >"$work/info" || fail "$1: info"
    ! grep '^proof' "$work/info" | grep -v 'holds: ' || fail "$1: proofs"
    "$HEAPSNAP" roots "$work/heap.snap" --format tsv -n 0 >"$work/roots" || fail "$1: roots"
    # 8,000,016 bytes for the table in whole pages, and 2,000 blocks of 40
    awk -F'\t' -v words=$((1000446 + 2000 * 5)) '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        $(at["name"]) == "table" { found = $(at["retained_words"]) }
        END { if (found != words) print "table retains " found ", not " words; exit found != words }
    ' "$work/roots" || { head -4 "$work/roots"; fail "$1"; }
    "$HEAPSNAP" leaks "$work/heap.snap" --json >"$work/leaks" || fail "$1: leaks"
    python3 -c 'import json, sys; sys.exit(json.load(open(sys.argv[1]))["groups"] != [])' \
        "$work/leaks" || { "$HEAPSNAP" leaks "$work/heap.snap" | head; fail "$1: leaks"; }
}

for what in plain huge locked unforked undumped read_only closed; do
    start "$work/split_block" $what
    if grep WITHOUT "$work/log"; then # this kernel, or who runs the test, may not
        [ $what != plain ] || fail "plain"
        continue
    fi
    dump
    check $what
    stop_target
done

if /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
    cat >"$work/arrays.py" <<'PYTHON'
import sys
import numpy
data = [numpy.ones(1000000 + i * 1000) for i in range(20)]
print("READY", flush=True)
sys.stdin.readline()
PYTHON
    start /usr/bin/python3 "$work/arrays.py"
    dump
    rm -f "$work"/heap.snap.idx
    ! "$HEAPSNAP" info "$work/heap.snap" | grep '^proof' | grep -v 'holds: ' || fail "numpy: proofs"
    "$HEAPSNAP" suspects "$work/heap.snap" >"$work/suspects" || fail "numpy: suspects"
    grep -q '^ 1\. __main__\.data (arrays.py) alone keeps 154\.' "$work/suspects" ||
        { head -4 "$work/suspects"; fail "numpy"; }
else
    echo "WITHOUT numpy"
fi
