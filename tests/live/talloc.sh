#!/usr/bin/env bash
# parts: sql
# talloc's chunks have the names and the owners that talloc itself reports, whoever else leads to
# them; a server retains what hangs below it, to the word; what nothing leads to is lost, unless
# talloc keeps account of it.
. "$(dirname "$0")/_native.sh"
need gcc
need pkg-config
pkg-config --exists talloc || { echo "skipped: no talloc"; exit 77; }

# check NAME CERTAINTY COMMAND...: CERTAINTY of what is lost
check()
{
    local name=$1 certainty=$2
    shift 2
    start "$@"
    dump
    rm -f "$work"/heap.snap.idx
    "$HEAPSNAP" info "$work/heap.snap" >"$work/info" || fail "$name: info"
    grep -q '^proof *holds: talloc: ' "$work/info" || { cat "$work/info"; fail "$name: proof"; }
    ! grep '^proof' "$work/info" | grep -v 'holds: ' || fail "$name: proofs"
    "$HEAPSNAP" sql "$work/heap.snap" "select b.address, b.words, b.retained_words,
        coalesce(o.address, 0), b.type from blocks b left join blocks o on o.id = b.idom" \
        --format tsv -n 0 >"$work/blocks" || fail "$name: sql"
    "$HEAPSNAP" leaks "$work/heap.snap" --json >"$work/leaks" || fail "$name: leaks"
    python3 "$SOURCE_DIR/tests/live/_talloc_compare.py" "$work/truth" "$work/blocks" \
        "$work/leaks" "$certainty" || fail "$name"
    stop_target
}

# shellcheck disable=SC2046
gcc -O1 -g "$fixtures/talloc_heap.c" $(pkg-config --cflags --libs talloc) -o "$work/named" ||
    fail "building"
cp "$work/named" "$work/stripped"
strip -s "$work/stripped"
check "debug information" certain "$work/named" "$work/truth"
check "stripped" certain "$work/stripped" "$work/truth"
check "null_context" possible "$work/named" "$work/truth" -n
