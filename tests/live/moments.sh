#!/usr/bin/env bash
# bench/moments finds each of several dumps of a program right, and tells when one is not.
. "$(dirname "$0")/_native.sh"
need g++ gcc

HEAPSNAP=$HEAPSNAP "$SOURCE_DIR/bench/moments" --dumps 3 --only slack,types_nodes >"$work/said" ||
    fail "not each time: $(cat "$work/said")"
cat "$work/said"
[ "$(grep -c ' 3 of 3 ' "$work/said")" = 2 ] || fail "not two programs"
! HEAPSNAP=$HEAPSNAP "$SOURCE_DIR/bench/moments" --dumps 1 --only slack --without slack-word \
    >"$work/said" || fail "right without a rule that it needs: $(cat "$work/said")"
grep -q ' 0 of 1 .*OWNS' "$work/said" || fail "nothing is said to be wrong: $(cat "$work/said")"
