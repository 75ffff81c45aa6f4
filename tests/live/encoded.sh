#!/usr/bin/env bash
# Addresses in the usual disguises make leaks possible, and the row says which disguise it is and
# where one stands; blocks that are lost beside numbers of all kinds stay certain leaks.
. "$(dirname "$0")/_hidden.sh"
need gcc gcore

gcc -O1 -g -o "$work/encoded" "$fixtures/encoded.c" || fail "building"
reasons()
{
    local text
    for text in 'shifted left by 16 bits, such as at 0x' 'shifted left by 3 bits' \
        'shifted left by 1 bit,' 'shifted right by 4 bits' 'shifted right by 1 bit,' \
        'bytes in the other order' 'exclusive or of addresses and a constant' \
        'packed in six bytes' 'with tags above them' 'complements or negatives' \
        'shifted left by 17 bits' 'shifted left by 20 bits' 'shifted left by 23 bits' \
        'addresses as fractions of 64 bits' \
        'addresses added to or subtracted from a constant, such as at ' \
        'distances from 0x[0-9a-f]* in units of 1 byte' \
        'distances from 0x[0-9a-f]* in units of 8' \
        'distances from 0x[0-9a-f]* in units of 16 bytes' "the block's size, before the block"; do
        reason "$text"
    done
    # Among larger tables of numbers that end alike it is not looked for.
    [ -n "$noise" ] || reason 'distances from one address, such as at 0x'
}

# The same rows, when memory is gone over once for each few blocks and each few bases.
in_ranges()
{
    local bits
    for bits in 0 18; do
        ORDER_REGION_BITS=$bits "$BUDGET_DUMP" "$pid" "$work/heap.snap" 0 >"$work/talk" 2>&1 ||
            fail "in ranges: $(cat "$work/talk")"
        compare "in ranges of 2^$bits" 100
        mv "$work/leaks.json" "$work/leaks.$bits"
    done
    cmp "$work/leaks.0" "$work/leaks.18" || fail "other rows in ranges"
}

for noise in "" noise; do
    start "$work/encoded" $noise
    for stop in copy read; do
        dump --stop "$stop"
        compare "$stop $noise" 100
        reasons
    done
    in_ranges
    if [ -z "$noise" ]; then
        gcore -o "$work/core" "$pid" >/dev/null 2>&1 || fail "gcore"
        "$HEAPSNAP" dump --core "$work/core.$pid" -o "$work/heap.snap" 2>"$work/talk" ||
            fail "the core"
        compare core 100
        reasons
    fi
    leave
done
