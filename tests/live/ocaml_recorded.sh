#!/usr/bin/env bash
# parts: ocaml record
# An OCaml program that nobody prepared runs under record: its own heap is sampled by the runtime,
# and what its samples stand for is what the program knows, of what it allocated and of what it
# keeps, by function and line, stripped or not. A program that samples by itself comes first.
. "$SOURCE_DIR/tests/live/_roots.sh"
. "$SOURCE_DIR/tests/live/_recorded.sh"

build recorded unix recorded.ml
compare "$work/recorded" 8000 20000
compare "$work/recorded.stripped" 8000 20000
compare "$work/recorded" 1 300

build recorded_rough unix,threads.posix recorded_rough.ml
same "$work/recorded_rough" 80000 2000

build recorded_own unix recorded_own.ml
for stop in "" stop; do
    # shellcheck disable=SC2086
    "$work/recorded_own" $stop >"$work/alone" || fail "own alone"
    # shellcheck disable=SC2086
    told "until the program used Gc.Memprof itself" "$work/recorded_own" $stop
    cmp "$work/alone" "$work/out" || fail "a program that samples by itself says something else"
done

(cd "$work" && ocamlfind ocamlc -w -a -package unix -linkpkg recorded.ml -o recorded.bytecode) ||
    fail "bytecode"
told "it runs bytecode" "$work/recorded.bytecode" 10

# A real program, with the same result: the compiler.
mkdir "$work/one" "$work/other"
for place in one other; do cp "$fixtures/recorded.ml" "$work/$place/"; done
(cd "$work/one" && ocamlopt.opt -w -a -c recorded.ml) || fail "the compiler alone"
(cd "$work/other" && "$HEAPSNAP" record --rate 8000 --quiet -o "$work/compiler.trace" -- \
    ocamlopt.opt -w -a -c recorded.ml) || fail "the compiler under record"
for file in cmx cmi o; do
    cmp "$work/one/recorded.$file" "$work/other/recorded.$file" || fail "another $file"
done
"$HEAPSNAP" trace top "$work/compiler.trace" --heap minor,major >"$work/out" || fail "trace top"
grep -q "Stdlib\.\|Misc\.\|Env\." "$work/out" || fail "no functions of the compiler"

# It is left alone where that is wanted.
"$HEAPSNAP" record --ocaml off --rate 8000 -o "$work/off.trace" -- "$work/recorded" 1000 \
    </dev/null >"$work/out" 2>"$work/log" || fail "off"
if grep -q "OCaml" "$work/log"; then fail "what is not wanted is no trouble"; fi
"$HEAPSNAP" trace info "$work/off.trace" | grep "in the minor heap  *0 " >/dev/null ||
    fail "not off"
