#!/usr/bin/env bash
# parts: ocaml
# The first sentence on an OCaml program that grows as those of public reports do, and functions
# without a name by file and line.
. "$(dirname "$0")/_native.sh"
need ocamlfind

cp "$fixtures/ocaml_suspects.ml" "$fixtures/ocaml_suspects_stubs.c" "$work/"
(cd "$work" && ocamlfind ocamlopt -g -bin-annot -ccopt -g ocaml_suspects_stubs.c \
    ocaml_suspects.ml -o ocaml_suspects) \
    >"$work/talk" 2>&1 || { cat "$work/talk"; fail "building"; }

# line_of TEXT: where the program has it.
line_of()
{
    grep -nF -m 1 -- "$1" "$fixtures/ocaml_suspects.ml" | cut -d: -f1
}

start "$work/ocaml_suspects"
dump
leave
COLUMNS=80 "$HEAPSNAP" suspects "$work/heap.snap" >"$work/text" 2>"$work/talk" || fail "suspects"
# sentence N: all of it in one line.
sentence()
{
    awk -v "which=^ $1[.]" '$0 ~ which { on = 1 } on && /^$/ { exit } on { printf "%s ", $0 }' \
        "$work/text" | tr -s ' '
}
sentence 1 >"$work/first"
for words in "3000 Ocaml_suspects.conn" ".buffer.buffer" \
    "Ocaml_suspects.listeners (ocaml_suspects.ml:$(line_of "let listeners")) alone keeps"; do
    grep -qF -- "$words" "$work/first" ||
        { cat "$work/text"; fail "no '$words' in the first sentence"; }
done
# A module and its field are one owner, called by the field, and the population is the program's own
# function, which only the line table has a line of; in a stripped program it has none.
sentence 2 >"$work/second"
line=$(line_of "(fun () -> conn.alive)")
place="ocaml_suspects.ml:$(line_of "let hooks")"
for words in "Ocaml_suspects.Registry.hooks ($place) alone keeps" \
    "2000 closure Ocaml_suspects.(fun at ocaml_suspects.ml:$line)" \
    "--to 'type:closure Ocaml_suspects.(fun at ocaml_suspects.ml:$line)'"; do
    grep -qF -- "$words" "$work/second" ||
        { cat "$work/text"; fail "no '$words' in the second sentence"; }
done
"$HEAPSNAP" types "$work/heap.snap" -n 0 >"$work/types" 2>"$work/talk" || fail "types"
line=$(line_of "listeners := (fun text ->")
function="closure Ocaml_suspects.(fun at ocaml_suspects.ml:$line)"
grep -F "$function" "$work/types" | awk '$1 == 3000 { found = 1 } END { exit !found }' ||
    { cat "$work/types"; fail "no 3000 '$function'"; }
# A method has no line of its own where it begins: that of the function before it is not taken.
object="object (method at ocaml_suspects.ml:$(line_of "method refresh text"))"
grep -F "$object" "$work/types" | awk '$1 == 500 { found = 1 } END { exit !found }' ||
    { cat "$work/types"; fail "no 500 '$object'"; }

# What most of the memory is lies outside of OCaml's heap: then the dump has it, too.
start "$work/ocaml_suspects" bigarrays
dump
"$HEAPSNAP" dump --heaps ocaml "$pid" -o "$work/alone.snap" 2>"$work/talk" || fail "dump alone"
leave
COLUMNS=80 "$HEAPSNAP" suspects "$work/heap.snap" >"$work/text" 2>"$work/talk" || fail "suspects"
sentence 1 >"$work/first"
for words in "Ocaml_suspects.headers (ocaml_suspects.ml:$(line_of "let headers")) alone keeps 25" \
    "400 data of a Bigarray of which a part is left"; do
    grep -qF -- "$words" "$work/first" ||
        { cat "$work/text"; fail "no '$words' in the first sentence of pages"; }
done
! grep -qF "not in this dump" "$work/text" || { cat "$work/text"; fail "memory is left out"; }
COLUMNS=80 "$HEAPSNAP" suspects "$work/alone.snap" >"$work/text" 2>"$work/talk" || fail "suspects"
grep -qF "not in this dump" "$work/text" || { cat "$work/text"; fail "all is in the dump"; }

# C roots in memory of malloc are called by the stub that registers them, and weak pointers to what
# has died apart from the others.
start "$work/ocaml_suspects" others
dump
leave
COLUMNS=80 "$HEAPSNAP" suspects "$work/heap.snap" >"$work/text" 2>"$work/talk" || fail "suspects"
tr -s '\n ' ' ' <"$work/text" >"$work/line"
for words in "1500 x C root registered by suspects_add_watch keep" \
    "at ocaml_suspects.ml:$(line_of "add_watch (fun () ->")" \
    "Ocaml_suspects.requests (ocaml_suspects.ml:$(line_of "let requests")) alone keeps" \
    "4000 (int, string list Weak.t) Hashtbl.bucketlist" "mostly 3960 empty weak array"; do
    grep -qF -- "$words" "$work/line" || { cat "$work/text"; fail "no '$words' among others"; }
done
"$HEAPSNAP" types "$work/heap.snap" -n 0 >"$work/types" 2>"$work/talk" || fail "types"
awk '$NF == "array" && $(NF - 1) == "weak" { n[$(NF - 2)] = $1 } END { exit n["empty"] != 3960 }' \
    "$work/types" || { cat "$work/types"; fail "not 3960 empty weak arrays"; }

# What hangs on each entry is told, however far below the variable these are.
start "$work/ocaml_suspects" cache
dump
leave
COLUMNS=80 "$HEAPSNAP" suspects "$work/heap.snap" >"$work/text" 2>"$work/talk" || fail "suspects"
sentence 1 >"$work/first"
grep -qE "7999 Ocaml_suspects.part, [0-9.]+ (B|KiB) each with what hangs on them" "$work/first" ||
    { cat "$work/text"; fail "not what hangs on each entry"; }

# An exception is called by its constructor, which the program says itself.
start "$work/ocaml_suspects" failures
dump
leave
COLUMNS=80 "$HEAPSNAP" suspects "$work/heap.snap" >"$work/text" 2>"$work/talk" || fail "suspects"
sentence 1 >"$work/first"
for words in "Ocaml_suspects.failures (ocaml_suspects.ml:$(line_of "let failures")) alone keeps" \
    "15000 Ocaml_suspects.Bad_record"; do
    grep -qF -- "$words" "$work/first" ||
        { cat "$work/text"; fail "no '$words' in the first sentence of failures"; }
done

# The field of a module is told, and not the functions of a functor that lead there; the member of a
# record that a long queue hangs on; an alarm lives until it is deleted.
told()
{
    local kind=$1 words
    shift
    start "$work/ocaml_suspects" "$kind"
    dump
    leave
    COLUMNS=80 "$HEAPSNAP" suspects "$work/heap.snap" >"$work/text" 2>"$work/talk" ||
        fail "suspects of $kind"
    sentence 1 >"$work/first"
    for words in "$@"; do
        grep -qF -- "$words" "$work/first" ||
            { cat "$work/text"; fail "no '$words' in the first sentence of $kind"; }
    done
}
told kept "Ocaml_suspects.Keeper.kept (ocaml_suspects.ml:$(line_of "module Keeper =")), to which " \
    " lead (set:1), keeps"
told events "20000 Ocaml_suspects.event" "at Ocaml_suspects.log.waiting"
told alarms "4999 x Gc.create_alarm alarm Ocaml_suspects" "keep"

# A channel, which C has, is kept by who has its block, and not by the list of all channels.
start "$work/ocaml_suspects" channels
dump
leave
COLUMNS=80 "$HEAPSNAP" suspects "$work/heap.snap" >"$work/text" 2>"$work/talk" || fail "suspects"
sentence 1 >"$work/first"
for words in "Ocaml_suspects.opened (ocaml_suspects.ml:$(line_of "let opened")) alone keeps" \
    "600 custom _chan" " channel of OCaml"; do
    grep -qF -- "$words" "$work/first" ||
        { cat "$work/text"; fail "no '$words' in the first sentence of channels"; }
done
"$HEAPSNAP" leaks "$work/heap.snap" --certainty certain >"$work/text" 2>"$work/talk" ||
    fail "leaks"
! grep -qF "channel" "$work/text" || { cat "$work/text"; fail "channels are lost"; }

# Without names, in a stripped program, fields are called by the function that uses them.
rm -f "$work"/*.cm?
strip "$work/ocaml_suspects"
start "$work/ocaml_suspects" others
dump
leave
"$HEAPSNAP" roots "$work/heap.snap" -n 0 >"$work/roots" 2>"$work/talk" || fail "roots"
for function in accept watch submit; do
    grep -qE "Ocaml_suspects field [0-9]+ \(used by $function\)" "$work/roots" ||
        { cat "$work/roots"; fail "no field used by $function"; }
done
line=$(line_of "Hashtbl.replace pending")
grep -qE "Ocaml_suspects field [0-9]+ \(used by \(fun at ocaml_suspects.ml:$line\)\)" \
    "$work/roots" || { cat "$work/roots"; fail "no field used by a function without a name"; }
