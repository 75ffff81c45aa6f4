# parts: export
# A file system that is full: exit 5 with a message, nothing half written, what was there stays.
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" -eq 0 ] || skip "mounting a small file system needs root"
tiny=$work/tiny
mkdir "$tiny"
mount -t tmpfs -o size=256k,mode=700 tmpfs "$tiny" 2>/dev/null ||
    skip "tmpfs cannot be mounted here"
unmount()
{
    umount -l "$tiny" 2>/dev/null || true
    cleanup
}
trap unmount EXIT

export TINY=$tiny SNAP=$work/heap.snap
python <<'END'
from snapcli import *
s = a_snap()
for i in range(20000): # its list, index and export are all larger than the file system
    s.block(3)
    s.root(i, f"Main.variable_number_{i}", binary="prog", unit="Main")
s.write()
END
[ "$(stat -c %s "$SNAP")" -gt 0 ]

fill()
{
    dd if=/dev/zero of="$tiny/ballast" bs=4k count="$1" status=none 2>/dev/null || true
}

# -o into a disk that fills up on the way, and into one that is full from the start.
for room in none some; do
    rm -rf "${tiny:?}"/*
    echo old >"$tiny/list"
    if [ $room = none ]; then fill 1000; else fill 40; fi
    before=$(ls -A "$tiny")
    for name in list new; do
        for command in "roots $SNAP" "roots $SNAP --json" "roots $SNAP --format tsv"; do
            # shellcheck disable=SC2086
            exits 5 $command -n 0 -o "$tiny/$name"
            mentions "^heapsnap: cannot .*No space left on device"
        done
    done
    [ "$(cat "$tiny/list")" = old ] || fail "room $room: the old file is gone"
    [ "$(ls -A "$tiny")" = "$before" ] || fail "room $room: left: $(ls -A "$tiny")"
done

# export: two tables, each whole or absent.
rm -rf "${tiny:?}"/*
exits 5 export "$SNAP" --to graph -o "$tiny/graph"
mentions "No space left on device"
for table in nodes edges; do
    if [ -e "$tiny/graph/$table.tsv" ]; then
        exits 0 export "$SNAP" --to graph -o "$work/graph"
        cmp -s "$tiny/graph/$table.tsv" "$work/graph/$table.tsv" || fail "half of $table.tsv"
    fi
done
# The tables of a fleet: all or none, and no directory that was made for them. With a name whose
# bytes zstd cannot press away, as the large table of blocks has too many of the same.
rm -rf "${tiny:?}"/*
fill 56
mkdir "$tiny/fleet"
exits 5 export "$SNAP" --to parquet -o "$tiny/fleet"
mentions "No space left on device"
[ -z "$(ls -A "$tiny/fleet")" ] || fail "left: $(find "$tiny/fleet")"
[ -z "$(find "$tiny" -name '.*')" ] || fail "a neighbour was left: $(find "$tiny" -name '.*')"

# The index cannot be kept: the answer is the same, and the snapshot is untouched.
rm -rf "${tiny:?}"/*
exits 0 roots "$SNAP" -o "$work/expected" -n 5
cp "$SNAP" "$tiny/heap.snap" || fail "the snapshot is larger than the file system"
fill 1000
for cache in "$tiny/cache" "$work/cache2"; do
    XDG_CACHE_HOME=$cache exits 0 roots "$tiny/heap.snap" -n 5 -o "$work/answer"
    cmp -s "$work/answer" "$work/expected" || fail "another answer on a full disk"
    cmp -s "$tiny/heap.snap" "$SNAP" || fail "the snapshot was changed"
    [ ! -e "$tiny/heap.snap.idx" ] || fail "an index on a full disk?"
    [ -z "$(find "$tiny" -name '.*' -type f)" ] || fail "left: $(find "$tiny" -name '.*')"
    exits 0 check "$tiny/heap.snap"
done

# A dump of a live program.
program=$work/waits
if command -v ocamlfind >/dev/null; then
    cat >"$work/waits.ml" <<'END'
let kept = Array.init 200000 string_of_int
let () = print_endline "READY"; ignore (input_line stdin); print_string kept.(0)
END
    (cd "$work" && ocamlfind ocamlopt -package unix -linkpkg waits.ml -o "$program" 2>/dev/null) ||
        fail "building a program"
    mkfifo "$work/in"
    "$program" <"$work/in" >"$work/ready" &
    pid=$!
    started+=("$pid")
    exec 9>"$work/in"
    for _ in $(seq 1200); do grep -q READY "$work/ready" && break; sleep 0.05; done
    rm -rf "${tiny:?}"/*
    echo old >"$tiny/heap.snap"
    fill 1000
    exits 5 dump "$pid" -o "$tiny/heap.snap"
    mentions "^heapsnap: cannot .*No space left on device"
    [ "$(cat "$tiny/heap.snap")" = old ] || fail "the old snapshot is gone"
    [ "$(ls -A "$tiny" | xargs)" = "ballast heap.snap" ] || fail "left: $(ls -A "$tiny")"
    exits 5 dump "$pid" -o "$work/no/such/place.snap"
    echo go >&9
    exec 9>&-
    wait "$pid" || fail "the target did not go on"
fi
