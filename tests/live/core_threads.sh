#!/usr/bin/env bash
# A snapshot is the same, byte for byte, for every number of threads that collect edges: of lists,
# tables and trees, a tenth of them lost, without debug information and with it.
. "$(dirname "$0")/_target.sh"
need gcc gcore

# same NAME FLAGS...: bench/native_target.c, built so.
same()
{
    local name=$1 n
    shift
    gcc -O2 "$@" -o "$work/$name" "$SOURCE_DIR/bench/native_target.c" || fail "building"
    start "$work/$name" 150000
    gcore -o "$work/core" "$pid" >"$work/gcore.log" 2>&1 || { cat "$work/gcore.log"; fail gcore; }
    mv "$work/core.$pid" "$work/core"
    stop_target
    for n in 1 2 4; do
        "$HEAPSNAP" dump --core "$work/core" --threads $n -o "$work/$n.snap" \
            >"$work/talk" 2>&1 || { cat "$work/talk"; fail "$name: $n threads"; }
        cmp "$work/1.snap" "$work/$n.snap" || fail "$name: $n threads make other bytes"
    done
    grep "150002 objects" "$work/talk" >/dev/null || fail "$name: $(cat "$work/talk")"
    echo "$name: $(stat -c %s "$work/1.snap") bytes with 1, 2 and 4 threads"
}

same untyped -s
same typed -g
