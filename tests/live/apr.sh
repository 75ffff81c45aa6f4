#!/usr/bin/env bash
# parts: sql
# Pools of the Apache Portable Runtime give out what the program asked them for, hang on their
# parents alone, and retain what the program says, to the word; what only a pool that has ended led
# to is lost. The library as Debian has it, without symbols: global_pool is found and named.
. "$(dirname "$0")/_native.sh"
need gcc
need pkg-config
pkg-config --exists apr-1 || { echo "skipped: no APR"; exit 77; }

# shellcheck disable=SC2046
gcc -O1 -g "$fixtures/apr_heap.c" $(pkg-config --cflags --libs apr-1) -o "$work/named" ||
    fail "building"
cp "$work/named" "$work/stripped"
strip -s "$work/stripped"
for name in named stripped; do
    start "$work/$name" "$work/truth"
    dump
    rm -f "$work"/heap.snap.idx
    "$HEAPSNAP" info "$work/heap.snap" >"$work/info" || fail "$name: info"
    grep -q '^proof *holds: apr: ' "$work/info" || { cat "$work/info"; fail "$name: proof"; }
    ! grep '^proof' "$work/info" | grep -v 'holds: ' || fail "$name: proofs"
    "$HEAPSNAP" sql "$work/heap.snap" "select b.address, b.words, b.retained_words,
        coalesce(o.address, 0), b.type from blocks b left join blocks o on o.id = b.idom" \
        --format tsv -n 0 >"$work/blocks" || fail "$name: sql"
    "$HEAPSNAP" leaks "$work/heap.snap" --json >"$work/leaks" || fail "$name: leaks"
    python3 "$SOURCE_DIR/tests/live/_apr_compare.py" "$work/truth" "$work/blocks" "$work/leaks" ||
        fail "$name"
    "$HEAPSNAP" roots "$work/heap.snap" -n 1 >"$work/roots" || fail "$name: roots"
    grep -qE '^ *[0-9]+ +9[0-9]\.[0-9]% .* global_pool ' "$work/roots" ||
        { cat "$work/roots"; fail "$name: global_pool is not first"; }
    stop_target
done
