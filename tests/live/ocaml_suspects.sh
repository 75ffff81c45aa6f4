#!/usr/bin/env bash
# parts: ocaml
# The first sentence on OCaml programs that grow as those of public reports do: one inner name where
# a module or a registry leads to the same thing, and functions without a name by file and line.
. "$(dirname "$0")/_native.sh"
need ocamlfind

cp "$fixtures/ocaml_suspects.ml" "$work/"
(cd "$work" && ocamlfind ocamlopt -g -bin-annot ocaml_suspects.ml -o ocaml_suspects) \
    >"$work/talk" 2>&1 || { cat "$work/talk"; fail "building"; }

# told KIND WORDS...: the first sentence has all of these words.
told()
{
    local kind=$1 words
    shift
    start "$work/ocaml_suspects" "$kind"
    dump
    COLUMNS=80 "$HEAPSNAP" suspects "$work/heap.snap" >"$work/text" 2>"$work/talk" ||
        fail "$kind: suspects"
    awk '/^ 1\./ { on = 1 } on && /^    heapsnap |^$/ { exit } on { printf "%s ", $0 }' \
        "$work/text" | tr -s ' ' >"$work/first"
    for words in "$@"; do
        grep -qF -- "$words" "$work/first" ||
            { cat "$work/text"; fail "$kind: no '$words' in its first sentence"; }
    done
    leave
}

# line_of TEXT: where the program has it.
line_of()
{
    grep -nF -m 1 -- "$1" "$fixtures/ocaml_suspects.ml" | cut -d: -f1
}

table=$(line_of "let table")
told memo "Ocaml_suspects.Store.Cache.table (ocaml_suspects.ml:$table) alone keeps" \
    "3000 (string, Ocaml_suspects.entry) Hashtbl.bucketlist"
told callbacks \
    "Ocaml_suspects.listeners (ocaml_suspects.ml:$(line_of "let listeners")) alone keeps" \
    "3000 Ocaml_suspects.conn" ".buffer.buffer"
"$HEAPSNAP" types "$work/heap.snap" -n 0 >"$work/types" 2>"$work/talk" || fail "types"
line=$(line_of "Buffer.add_string conn.buffer (text")
function="closure Ocaml_suspects.(fun at ocaml_suspects.ml:$line)"
grep -F "$function" "$work/types" | awk '$1 == 3000 { found = 1 } END { exit !found }' ||
    { cat "$work/types"; fail "no 3000 '$function'"; }
told registry "Ocaml_suspects.seen (ocaml_suspects.ml:$(line_of "let seen")) alone keeps"
"$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" 2>"$work/talk" || fail "roots"
python3 - "$work/roots.json" <<'PYTHON' || fail "the module and the registry keep nothing alone"
import json, sys
rows = {row["name"]: row for row in json.load(open(sys.argv[1]))["roots"]}
for name in "Store", "Store.Cache", "registry":
    row = rows.get("Ocaml_suspects." + name)
    if row is not None and row["retained_words"] > 64:
        sys.exit("%s retains %d words" % (name, row["retained_words"]))
PYTHON
