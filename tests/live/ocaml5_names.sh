#!/usr/bin/env bash
# parts: ocaml
# Source names through the .cmi and .cmt of OCaml 5, read by a helper of that compiler; a helper of
# another one says that it cannot.
. "$(dirname "$0")/_ocaml5.sh"
. "$SOURCE_DIR/tests/live/_roots_check.sh"
build ocaml5_names -bin-annot ocaml5_names.ml
if [ -x "$(dirname "$HEAPSNAP")/heapsnap-ocaml-names" ] &&
    [[ $(ocamlfind ocamlopt -version 2>/dev/null) == 4.* ]]; then
    start "$work/ocaml5_names"
    "$HEAPSNAP" dump "$pid" -o "$work/heap.snap" || fail "dump"
    "$HEAPSNAP" info "$work/heap.snap" | grep "^note .* is of OCaml 4.* and cannot read" ||
        fail "a helper of another compiler is not told of"
    # Where the program's compiler is at hand, what reads its files is built, and found again.
    mkdir "$work/path"
    printf '#!/bin/sh\nexec "%s" "$@"\n' "$ocaml5" >"$work/path/ocamlopt"
    chmod 755 "$work/path/ocamlopt"
    for path in "$work/path:$PATH" "$PATH"; do
        PATH=$path "$HEAPSNAP" dump "$pid" -o "$work/heap.snap" 2>"$work/talk" ||
            fail "dump: $(cat "$work/talk")"
        "$HEAPSNAP" roots "$work/heap.snap" -n 0 >"$work/roots" 2>"$work/talk" || fail "roots"
        grep -q 'Ocaml5_names[.].* ocaml5_names.ml:' "$work/roots" ||
            { "$HEAPSNAP" info "$work/heap.snap" | grep note; fail "no names by '$path'"; }
    done
    rm -r "$work/cache"
    leave
fi
with_names
check ocaml5_names
