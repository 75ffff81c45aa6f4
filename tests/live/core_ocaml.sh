#!/usr/bin/env bash
# parts: ocaml
# OCaml 4: the core of a stopped program says what the live dump says, threads included; the core of
# one that ended in the middle of anything is read once, for there is no other moment, and a note
# says when it was no good one.
. "$(dirname "$0")/_core.sh"
need ocamlfind
case "$(ocamlfind ocamlopt -version)" in
4.13.*|4.14.*) ;;
*) echo "skipped: the compiler is not OCaml 4.13 or 4.14"; exit 77 ;;
esac

build()
{
    cp "$fixtures/$1.ml" "$work/"
    (cd "$work" && ocamlfind ocamlopt -w -a -g -thread -package unix,threads.posix,str -linkpkg \
        "$1.ml" -o "$1") || fail "building $1"
}

for program in heap_shapes roots_threads; do
    build "$program"
    start_at_home "$work/$program"
    stop_by_user
    dump_live
    take_gcore by_gcore
    dump_core "$work/by_gcore"
    same "$program by gcore"
    if take_kernel_core by_kernel; then
        dump_core "$work/by_kernel"
        same "$program by the kernel"
    fi
    stop_target
done

# Busy allocating: the moment is what it is.
build heap_storm
for attempt in 1 2 3 4 5; do
    start_at_home "$work/heap_storm"
    take_gcore busy
    stop_target
    dump_core "$work/busy"
    "$HEAPSNAP" info "$work/other/heap.snap" >"$work/info" || fail "info"
    grep -q "a core: nothing was stopped" "$work/info" || fail "the way it was kept still"
    grep -q "stops" "$work/talk" && fail "more than one look: $(cat "$work/talk")"
    note=$(grep -o "the core was taken [^;]*" "$work/talk" || true)
    echo "busy, $attempt: ${note:-a good moment}"
    grep -q "DOES NOT HOLD" "$work/info" && [ -z "$note" ] && fail "no note: $(cat "$work/info")"
done
exit 0
