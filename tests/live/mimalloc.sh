#!/usr/bin/env bash
# Every block of a program that knows its mimalloc heap, none missing, none false: blocks that other
# threads have freed, of threads that have ended, huge and aligned ones. Stops in the middle of the
# allocator's work are known to be so. The library is Debian's, without symbols.
. "$(dirname "$0")/_native.sh"
need gcc

library=$(gcc -print-file-name=libmimalloc.so.2)
[ -e "$library" ] || { echo "skipped: no libmimalloc2.0"; exit 77; }
gcc -O1 -g -pthread "$fixtures/malloc_known.c" -o "$work/known" || fail "building"
cp "$work/known" "$work/stripped"
strip -s "$work/stripped"

# check NAME COMMAND...: against what the program wrote down
check()
{
    local name=$1
    shift
    start "$@" "$work/known.txt"
    dump
    rm -f "$work/heap.snap.idx"
    "$HEAPSNAP" info "$work/heap.snap" >"$work/info" || fail "$name: info"
    grep -q '^runtime *mimalloc 2' "$work/info" || { cat "$work/info"; fail "$name: version"; }
    [ "$(grep -c '^proof *holds: mimalloc: ' "$work/info")" = 2 ] ||
        { cat "$work/info"; fail "$name: proofs"; }
    ! grep -E '^(missing|proof *fails)' "$work/info" || fail "$name: something is missing"
    "$HEAPSNAP" sql "$work/heap.snap" "select address, words from blocks where static = 0" \
        --format tsv -n 0 >"$work/blocks" || fail "$name: sql"
    python3 "$SOURCE_DIR/tests/live/_malloc_compare.py" "$work/known.txt" "$work/blocks" 40 ||
        fail "$name"
    stop_target
}
check "known" env LD_PRELOAD="$library" "$work/known"
check "stripped" env LD_PRELOAD="$library" "$work/stripped"
check "no arenas" env LD_PRELOAD="$library" MIMALLOC_EAGER_COMMIT=0 "$work/stripped"
