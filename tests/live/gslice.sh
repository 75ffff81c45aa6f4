#!/usr/bin/env bash
# parts: sql
# Programs of GLib: each slice is a block, at its place and of its size; objects have their types,
# where slices are, and where GLib 2.76 and later takes each from malloc; so have containers.
. "$(dirname "$0")/_native.sh"
need gcc
need pkg-config

build()
{
    # shellcheck disable=SC2046
    gcc -O1 -g -pthread "$fixtures/glib_heap.c" $(pkg-config --cflags --libs gobject-2.0) \
        -o "$work/glib_heap" "$@" || fail "building $*"
}

# check NAME HAS_SLICES COMMAND...
check()
{
    local name=$1 has_slices=$2
    shift 2
    start "$@" "$work/truth"
    dump
    rm -f "$work"/heap.snap.idx
    "$HEAPSNAP" info "$work/heap.snap" >"$work/info" || fail "$name: info"
    ! grep '^proof' "$work/info" | grep -v 'holds: ' || fail "$name: proofs"
    "$HEAPSNAP" types "$work/heap.snap" -n 0 --format tsv >"$work/types" || fail "$name: types"
    awk -F'\t' '{ n[$NF] = $1 }
        END { exit n["TestPlain"] != 300 || n["TestPrivate"] != 500 || n["TestDerived"] != 700 ||
              n["TestDerivedClass"] != 1 }' "$work/types" ||
        { grep Test "$work/types"; fail "$name: types"; }
    "$HEAPSNAP" leaks "$work/heap.snap" --json >"$work/leaks" || fail "$name: leaks"
    python3 - "$work/leaks" <<'PYTHON' || { cat "$work/leaks"; fail "$name: leaks"; }
import json, sys
groups = json.load(open(sys.argv[1]))["groups"]
lost = sum(g["count"] for g in groups if g["type"].startswith(("block of 160 ", "block of 168 ")))
sys.exit(lost != 40 or sum(g["count"] for g in groups) != 40)
PYTHON
    "$HEAPSNAP" sql "$work/heap.snap" --format tsv -n 0 "select address, type from blocks
        where replace(type, 'struct _', '') in ('GHashTable', 'GPtrArray', 'GString')" |
        sed 's/struct _//' >"$work/containers" || fail "$name: sql"
    python3 "$SOURCE_DIR/tests/live/_gcontainers_compare.py" "$work/truth" "$work/containers" ||
        fail "$name: containers"
    if $has_slices; then
        grep -q '^runtime *gslice 2\.' "$work/info" || fail "$name: no slices"
        "$HEAPSNAP" sql "$work/heap.snap" "select address, words from blocks" --format tsv -n 0 \
            >"$work/nodes" || fail "$name: sql"
        python3 "$SOURCE_DIR/tests/live/_gslice_compare.py" "$work/truth" "$work/nodes" ||
            fail "$name: slices"
    else
        ! grep -q 'gslice' "$work/info" || fail "$name: slices"
    fi
    stop_target
}

build
own_slices=true
pkg-config --atleast-version=2.76 glib-2.0 && own_slices=false
check "debug information" $own_slices "$work/glib_heap"
text=$("$HEAPSNAP" sql "$work/heap.snap" "select id from blocks where idom in
    (select id from blocks where type = 'TestPlain') limit 1" --format tsv | tail -n 1)
"$HEAPSNAP" paths "$work/heap.snap" --to "#$text" --limit 1 >"$work/path" || fail "paths"
grep -q '= plain\[[0-9]*\]->text$' "$work/path" || { cat "$work/path"; fail "members"; }
cp "$work/glib_heap" "$work/stripped"
strip -s "$work/stripped"
for _ in 1 2 3; do
    check "stripped" $own_slices "$work/stripped"
done
check "slices from malloc" false env G_SLICE=always-malloc "$work/stripped"

root=${GLIB_ROOT:-$SOURCE_DIR/build/glib-root}
status=0
"$SOURCE_DIR/scripts/glib-root" "$root" >"$work/unpack" 2>&1 || status=$?
if [ $status -eq 77 ]; then
    echo "WITHOUT the GLib of Debian 13: $(tail -n 1 "$work/unpack")"
    exit 0
fi
[ $status -eq 0 ] || { cat "$work/unpack"; fail "glib-root"; }
libraries=$root/usr/lib/x86_64-linux-gnu
build -Wl,--dynamic-linker="$libraries/ld-linux-x86-64.so.2" -Wl,-rpath="$libraries"
strip -s "$work/glib_heap"
check "GLib of Debian 13" false "$work/glib_heap"
