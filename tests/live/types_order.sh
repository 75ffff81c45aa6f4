#!/usr/bin/env bash
# The type of a block depends on what the process holds, not on the order in which roots and blocks
# are gone through, nor on where blocks lie: programs of C, C++ and Rust are dumped plainly, with
# roots and the queue of blocks shuffled, and with both and regions of 64 KiB instead of 16 MiB.
# Each block has the same type then; and of what types_order.cpp made each has the right one.
. "$(dirname "$0")/_native.sh"
need g++ gcc
n_tried=0

# dumped NAME SEED REGION_BITS: the address and the type of each block, one a line.
dumped()
{
    rm -f "$work"/order.snap*
    ORDER_SEED=$2 ORDER_REGION_BITS=$3 "$BUDGET_DUMP" "$pid" "$work/order.snap" 0 \
        >"$work/talk" 2>&1 || fail "$1: $(cat "$work/talk")"
    "$ORACLE" "$work/order.snap" types >"$work/$1" || fail "$1: types"
}

# same WHAT COMMAND...
same()
{
    local what=$1 other
    shift
    start "$@"
    kill -STOP "$pid"
    dumped plain 0 0
    [ "$(wc -l <"$work/plain")" -gt 50 ] || fail "$what: there is nothing to compare"
    dumped shuffled 7 0
    dumped both 11 16
    kill -CONT "$pid"
    for other in shuffled both; do
        cmp -s "$work/plain" "$work/$other" ||
            fail "$what, $other: $(diff "$work/plain" "$work/$other" | grep -c '^>') differ,
$(diff "$work/plain" "$work/$other" | head -6)"
    done
    echo "$what: $(wc -l <"$work/plain") blocks have the same types in three orders"
    n_tried=$((n_tried + 1))
}

# built NAME FLAGS...: fixture NAME; false when this machine cannot.
built()
{
    local name=$1 compiler=gcc
    shift
    case $name in *.cpp) compiler=g++ ;; esac
    "$compiler" -g -o "$work/program" "$fixtures/$name" "$@" 2>"$work/said" && return
    echo "NOT TESTED: $name: $(head -1 "$work/said")"
    return 1
}

built types_order.cpp -std=c++17 -O0 || fail "building"
same types_order "$work/program" 1000
dump
types_are types_order
built types_chosen.cpp -std=c++17 -O1 && same types_chosen "$work/program" 200
built deques.cpp -std=c++17 -O1 && same deques "$work/program" 512 20
built numbered.cpp -std=c++17 -O1 && same numbered "$work/program" 500
built shapes_cpp.cpp -std=c++17 -O1 && same shapes_cpp "$work/program" 200
built enclosing.c -O1 && same enclosing "$work/program" 300
built types_header.c -O1 && same header "$work/program" 1000
built tails.c -O1 && same tails "$work/program" 1000
glib=$(pkg-config --cflags --libs gobject-2.0 2>/dev/null) &&
    # shellcheck disable=SC2086
    built glib_heap.c -O1 -pthread $glib && same glib "$work/program" "$work/truth"
for version in 6 5; do # of which one will do
    qt=$(pkg-config --cflags --libs "Qt${version}Core" 2>/dev/null) &&
        # shellcheck disable=SC2086
        built qt.cpp -std=c++17 -fPIC -O0 $qt && same "qt$version" "$work/program" 300 && break
done
if clang++ -stdlib=libc++ -std=c++17 -O1 -g -fstandalone-debug -o "$work/program" \
    "$fixtures/types_chosen.cpp" 2>"$work/said"; then
    same "types_chosen libc++" "$work/program" 200
fi
for rustc in $(rust_compilers | head -1); do
    cp "$fixtures/types_chosen.rs" "$work/"
    "$rustc" --edition=2021 -g -o "$work/program" "$work/types_chosen.rs" 2>"$work/said" ||
        fail "building Rust"
    same "types_chosen.rs" "$work/program" 200
done
echo "$n_tried programs"
[ "$n_tried" -ge 6 ] || fail "too few programs could be built"
