#!/usr/bin/env bash
# parts: ocaml
# The first sentence on an OCaml program that grows as those of public reports do, and functions
# without a name by file and line.
. "$(dirname "$0")/_native.sh"
need ocamlfind

cp "$fixtures/ocaml_suspects.ml" "$work/"
(cd "$work" && ocamlfind ocamlopt -g -bin-annot ocaml_suspects.ml -o ocaml_suspects) \
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
awk '/^ 1\./ { on = 1 } on && /^    heapsnap |^$/ { exit } on { printf "%s ", $0 }' \
    "$work/text" | tr -s ' ' >"$work/first"
for words in "3000 Ocaml_suspects.conn" ".buffer.buffer" \
    "Ocaml_suspects.listeners (ocaml_suspects.ml:$(line_of "let listeners")) alone keeps"; do
    grep -qF -- "$words" "$work/first" ||
        { cat "$work/text"; fail "no '$words' in the first sentence"; }
done
"$HEAPSNAP" types "$work/heap.snap" -n 0 >"$work/types" 2>"$work/talk" || fail "types"
line=$(line_of "Buffer.add_string conn.buffer (text")
function="closure Ocaml_suspects.(fun at ocaml_suspects.ml:$line)"
grep -F "$function" "$work/types" | awk '$1 == 3000 { found = 1 } END { exit !found }' ||
    { cat "$work/types"; fail "no 3000 '$function'"; }
