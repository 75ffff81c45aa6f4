#!/usr/bin/env bash
# parts: ocaml
# An OCaml program whose heap cannot be read, bytecode of OCaml 5, is told what it is, with exit
# code 3, and goes on.
. "$(dirname "$0")/_ocaml5.sh"

# refused PROGRAM PATTERN: dumps the running process $pid
refused()
{
    local code=0
    rm -f "$work/heap.snap"
    "$HEAPSNAP" dump "$pid" -o "$work/heap.snap" >"$work/out" 2>&1 || code=$?
    cat "$work/out"
    [ "$code" = 3 ] || fail "$1: exit code $code, expected 3"
    grep -q -e "$2" "$work/out" || fail "$1: the message lacks '$2'"
    [ ! -e "$work/heap.snap" ] || fail "$1: a file was left behind"
    kill -0 "$pid" || fail "$1: the target did not survive"
}

root=${ocaml5%/*}
[ -x "$root/usr/bin/ocamlc.opt" ] || { echo "skipped: no bytecode compiler of OCaml 5"; exit 77; }
in_root=("$root/usr/lib64/ld-linux-x86-64.so.2" --library-path "$root/usr/lib/x86_64-linux-gnu")
OCAMLLIB=$("$ocaml5" -where)
export OCAMLLIB
cp "$fixtures/heap_wait.ml" "$work/"
compile_bytecode()
{
    (cd "$work" && "${in_root[@]}" "$root/usr/bin/ocamlc.opt" -w -a heap_wait.ml "$@") ||
        fail "building: $*"
}

compile_bytecode -o heap_wait.byte
start "${in_root[@]}" "$root/usr/bin/ocamlrun" "$work/heap_wait.byte"
refused "byte" "OCaml 5 bytecode"
leave

compile_bytecode -cc "$root/cc" -custom -o heap_wait.custom
start "$work/heap_wait.custom"
refused "custom" "OCaml 5 bytecode"
leave
