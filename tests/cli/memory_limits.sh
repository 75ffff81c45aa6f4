# --memory is a promise: under a hard limit of the system, page cache and all, the index is computed
# byte for byte as with all memory, and the look commands answer; less than is possible is refused
# before anything is begun, with exit 6. HS_LONG=1 for 50 million blocks at 8 and 5 bytes each.
. "$(dirname "$0")/lib.sh"

limited=$SOURCE_DIR/bench/limited.sh
snap=$work/heap.snap
rc=0
"$limited" 67108864 true || rc=$?
[ "$rc" != 77 ] || skip "no hard limits of memory here"

blocks=3000000
[ -z "${HS_LONG:-}" ] || blocks=50000000
"$BUILD_DIR/bin/make_heap" "$blocks" "$snap" >/dev/null

cold()
{
    dd of="$1" oflag=nocache conv=notrunc,fdatasync count=0 2>/dev/null
}

# under BYTES WHAT: an index under that limit, of which 4 MiB are left to what cannot be counted
under()
{
    local bytes=$1 what=$2
    rm -f "$snap.idx" "$snap.idx.part"
    cold "$snap"
    LIMITED_REPORT=$work/report "$limited" "$bytes" "$HEAPSNAP" index "$snap" \
        --memory $((bytes - (4 << 20))) >"$work/out" 2>"$work/talk" ||
        fail "index under $bytes bytes ($what): exit $?: $(cat "$work/talk")"
    cmp -s "$snap.idx" "$work/whole.idx" || fail "other bytes under $bytes bytes ($what)"
    echo "under $bytes bytes ($what): $(tr '\n' ' ' <"$work/report")"
}

"$HEAPSNAP" index "$snap" --memory 8GiB >/dev/null
mv "$snap.idx" "$work/whole.idx"
base=$((32 << 20))
if [ -n "${HS_LONG:-}" ]; then
    under $((8 * blocks)) "8 bytes per block"
    under $((5 * blocks)) "5 bytes per block"
else
    under $((8 * blocks + base)) "8 bytes per block and 32 MiB"
    under $((5 * blocks + base)) "5 bytes per block and 32 MiB"
fi

# The others answer from the index, whatever its size.
cold "$snap"
cold "$snap.idx"
for command in "roots $snap -n 3" "paths $snap --to #2000000" "dominators $snap -n 5" \
    "object $snap #1000000" "info $snap"; do
    # shellcheck disable=SC2086
    "$limited" $((48 << 20)) "$HEAPSNAP" $command --memory 40MiB >"$work/out" 2>"$work/talk" ||
        fail "$command under 48 MiB: exit $?: $(cat "$work/talk")"
    [ -s "$work/out" ] || fail "$command says nothing"
done
for command in types leaks; do
    "$limited" $((5 * blocks + base)) "$HEAPSNAP" $command "$snap" \
        --memory $((5 * blocks + base - (4 << 20))) >"$work/out" 2>"$work/talk" ||
        fail "$command under 5 bytes per block and 32 MiB: exit $?: $(cat "$work/talk")"
done

# What cannot be done is not begun.
rm -f "$snap.idx"
rc=0
"$HEAPSNAP" index "$snap" --memory 13MiB >"$work/out" 2>"$work/talk" || rc=$?
[ "$rc" = 6 ] || fail "13 MiB: exit $rc, not 6: $(cat "$work/talk")"
grep -q "hint:.*--memory" "$work/talk" || fail "no hint: $(cat "$work/talk")"
[ ! -e "$snap.idx" ] && [ ! -e "$snap.idx.part" ] || fail "something was begun"
