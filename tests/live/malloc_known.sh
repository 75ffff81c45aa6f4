#!/usr/bin/env bash
# parts: sql
# Every block of a program that knows its heap, none missing, none false, under mimalloc and
# gperftools' tcmalloc: blocks that other threads have freed, of threads that have ended, huge and
# aligned ones. Stops in the middle of an allocator's work are known to be so. The libraries are
# Debian's, without symbols.
. "$(dirname "$0")/_native.sh"
need gcc

gcc -O1 -g -pthread "$fixtures/malloc_known.c" -o "$work/known" || fail "building"
gcc -O1 -pthread "$fixtures/heap_known_storm.c" -o "$work/storm" || fail "building the storm"
strip -s "$work/known"

# read_whole NAME RUNTIME PROOFS: of a snapshot whose target stood still
read_whole()
{
    rm -f "$work/heap.snap.idx"
    "$HEAPSNAP" info "$work/heap.snap" >"$work/info" || fail "$1: info"
    grep -q "^runtime *$2\$" "$work/info" || { cat "$work/info"; fail "$1: version"; }
    [ "$(grep -c "^proof *holds: ${2%% *}: " "$work/info")" = "$3" ] ||
        { cat "$work/info"; fail "$1: proofs"; }
    ! grep -E '^(missing|proof *fails)' "$work/info" || fail "$1: something is missing"
}

# check NAME RUNTIME PROOFS COMMAND...: against what the program wrote down
check()
{
    local name=$1 runtime=$2 proofs=$3
    shift 3
    start "$@" "$work/known.txt"
    dump
    read_whole "$name" "$runtime" "$proofs"
    "$HEAPSNAP" sql "$work/heap.snap" "select address, words from blocks where static = 0" \
        --format tsv -n 0 >"$work/blocks" || fail "$name: sql"
    python3 "$SOURCE_DIR/tests/live/_malloc_compare.py" "$work/known.txt" "$work/blocks" 16 ||
        fail "$name"
    stop_target
}

# storm NAME LIBRARY: each of five dumps is whole, or says that it was not
storm()
{
    local whole=0
    LD_PRELOAD=$2 "$work/storm" >"$work/log" 2>&1 &
    pid=$!
    sleep 0.3
    for _ in $(seq 5); do
        dump
        "$HEAPSNAP" info "$work/heap.snap" >"$work/info" || fail "$1: info"
        if grep -q '^missing *inconsistent' "$work/info"; then continue; fi
        ! grep -E '^(missing|proof *fails)' "$work/info" || fail "$1: damage, and no word of it"
        whole=$((whole + 1))
    done
    stop_target
    [ "$whole" -ge 2 ] || fail "$1: $whole of 5 dumps were whole"
    echo "$1: $whole of 5 dumps whole, beside threads that allocate all the time"
}

tested=0
# library NAME FILE RUNTIME PROOFS
library()
{
    local path
    path=$(gcc -print-file-name="$2")
    [ -e "$path" ] || { echo "left out: no $2"; return; }
    check "$1" "$3" "$4" env LD_PRELOAD="$path" "$work/known"
    storm "$1" "$path"
    tested=$((tested + 1))
}
library mimalloc libmimalloc.so.2 'mimalloc 2\.[0-9]' 2
library tcmalloc libtcmalloc_minimal.so.4 'tcmalloc 2' 3
[ "$tested" -gt 0 ] || { echo "skipped: neither is installed"; exit 77; }
