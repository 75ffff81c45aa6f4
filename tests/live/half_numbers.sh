#!/usr/bin/env bash
# A number of 32 bits beside the upper half of an old address makes no owner of a large block: in a
# block of unknown type such words are doubtful, and what a real pointer leads into is not.
. "$(dirname "$0")/_native.sh"
need gcc

gcc -O1 "$fixtures/half_numbers.c" -o "$work/half_numbers" || fail "building"

# column NAME COLUMN FILE
column()
{
    awk -F'\t' -v name="$1" -v column="$2" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        $(at["name"]) == name { print $(at[column]) }
    ' "$3"
}

# check WHAT BYTES: of the large block; malloc rounds to whole pages and takes 16 bytes of them
check()
{
    rm -f "$work"/heap.snap*.idx
    "$HEAPSNAP" roots "$work/heap.snap" --format tsv -n 0 >"$work/roots" || fail "$1: roots"
    local words=$((($2 + 4096 - 16) / 8)) found
    found=$(column table retained_words "$work/roots")
    [ "$found" = "$words" ] || fail "$1: table retains $found, not $words"
    found=$(column list retained_words "$work/roots")
    [ "$found" = 3000 ] || fail "$1: list retains $found, not 3000"
    # what both of two real pointers lead to is neither's alone
    found=$(column buffer retained_words "$work/roots")
    [ "$found" = 0 ] || fail "$1: buffer retains $found"
    found=$(column cursor retained_words "$work/roots")
    [ "$found" = 3 ] || fail "$1: cursor retains $found, not 3"
    # the other reading takes all words alike: there the list does lead to the table
    "$HEAPSNAP" roots "$work/heap.snap" --policy conservative --format tsv -n 0 >"$work/roots" ||
        fail "$1: conservative"
    found=$(column table retained_words "$work/roots")
    [ "$found" = 0 ] || fail "$1: by the conservative policy table retains $found"
}

for what in small any; do
    start "$work/half_numbers" $what
    if grep WITHOUT "$work/log"; then # where 5 GiB may not be reserved
        [ $what != small ] || fail "small: no such block"
        continue
    fi
    dump
    check $what $(($([ $what = small ] && echo 64 || echo 5120) << 20))
    stop_target
done
