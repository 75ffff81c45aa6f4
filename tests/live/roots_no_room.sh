#!/usr/bin/env bash
# parts: ocaml
# Stopped where an allocation has found no room, and the allocation pointer lies below the minor
# heap: a moment like others in which nothing exact can be said, and no damage.
. "$(dirname "$0")/_roots.sh"
need gdb
build roots_storm unix,threads.posix roots_storm.ml

cat >"$work/gdb.txt" <<'END'
set pagination off
set confirm off
handle all nostop noprint pass
break *caml_garbage_collection
continue
set $n = 0
while $n < 1000
  set $state = *(unsigned long **)&Caml_state
  if $state[1] < $state[6]
    echo no room\n
    set $n = 1000
  else
    set $n = $n + 1
    continue
  end
end
delete
shell kill -STOP $(cat pid)
detach
quit
END
start "$work/roots_storm" alloc
echo "$pid" >"$work/pid"
(cd "$work" && exec timeout 300 gdb -nx -q -batch -p "$pid" -x gdb.txt >gdb.log 2>&1) || true
grep -q '^no room' "$work/gdb.log" || { tail -5 "$work/gdb.log"; fail "gdb found no such moment"; }
grep -q '^State:.*T' "/proc/$pid/status" || fail "gdb did not leave it stopped"

"$HEAPSNAP" dump "$pid" --no-names -o "$work/heap.snap" 2>"$work/said" ||
    fail "dump: $(cat "$work/said")"
grep -q "not exact: taken in the middle of an allocation" "$work/said" ||
    fail "it said: $(cat "$work/said")"
"$HEAPSNAP" check "$work/heap.snap" >/dev/null || fail "check"
kill -CONT "$pid"
"$HEAPSNAP" dump "$pid" --no-names -o "$work/heap.snap" 2>"$work/said" ||
    fail "the dump of the running program: $(cat "$work/said")"
echo "$(head -1 "$work/said")"
