#!/usr/bin/env bash
# parts: sql
# Objects of Boehm's collector are blocks, those that it has freed are none: by its own sizes its
# lists' variables retain what they have, the heap is as large as it says, and no leak is certain.
. "$(dirname "$0")/_native.sh"
need gcc
[ -e /usr/include/gc.h ] || { echo "skipped: no libgc-dev"; exit 77; }

check()
{
    start "$1"
    dump
    ! grep -q "is not read" "$work/talk" || { cat "$work/talk"; fail "$2: unread"; }
    rm -f "$work"/heap.snap.idx
    "$HEAPSNAP" info "$work/heap.snap" >"$work/info" || fail "$2: info"
    [ "$(grep -c "^proof *holds: Boehm's collector" "$work/info")" = 3 ] ||
        { cat "$work/info"; fail "$2: proofs"; }
    ! grep '^proof' "$work/info" | grep -v 'holds: ' || fail "$2: a proof fails"
    read -r _ n words < <(grep '^ODD' "$work/log")
    [ "$("$HEAPSNAP" sql "$work/heap.snap" "select count(*) from blocks where words = $words" \
        --format tsv | tail -1)" = "$n" ] || fail "$2: freed objects"
    "$HEAPSNAP" leaks "$work/heap.snap" >"$work/leaks" || fail "$2: leaks"
    ! grep '^certain' "$work/leaks" || fail "$2: a certain leak"
    [ "$2" = stripped ] || owned "$2"
    leave
}

gcc -O1 "$fixtures/boehm_heap.c" -o "$work/named" -lgc -lpthread || fail "building"
cp "$work/named" "$work/stripped"
strip -s "$work/stripped"
check "$work/stripped" stripped
check "$work/named" named
