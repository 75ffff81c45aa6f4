#!/usr/bin/env bash
# parts: ocaml
# Bytecode of OCaml 4, run by ocamlrun and with its interpreter in itself: the heap, globals by the
# file's table of symbols, slots of the interpreter's stack. What is reached equals what the program
# itself says (Obj.reachable_words).
. "$(dirname "$0")/_native.sh"
need ocamlfind ocamlc ocamlrun

case $(ocamlc -version) in
4.13.* | 4.14.*) ;;
*) echo "skipped: no OCaml 4.13 or 4.14"; exit 77 ;;
esac
cp "$fixtures/ocaml_bytes_store.ml" "$fixtures/ocaml_bytes_main.ml" "$work/"

# compile OUTPUT [OPTIONS...]
compile()
{
    local output=$1
    shift
    (cd "$work" && ocamlfind ocamlc -g "$@" ocaml_bytes_store.ml ocaml_bytes_main.ml \
        -o "$output") >"$work/talk" 2>&1 || { cat "$work/talk"; fail "building $output"; }
}

# judge WHAT: roots reach what the program says.
judge()
{
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" 2>"$work/talk" ||
        { cat "$work/talk"; fail "roots of $1"; }
    python3 - "$work/log" "$work/roots.json" "$1" <<'PYTHON' || fail "words of $1"
import json, sys
said = dict(line.split() for line in open(sys.argv[1]) if len(line.split()) == 2)
rows = json.load(open(sys.argv[2]))["roots"]
found = {}
for row in rows:
    found.setdefault(row["name"], set()).add(row["reachable_words"])
slots = set().union(*(n for root, n in found.items() if root.startswith("stack slot ")))
wrong = 0
for what, name in (("table", "Ocaml_bytes_store field 0"), ("small", "Ocaml_bytes_store field 1")):
    there = found.get(name, set())
    if there != {int(said[what])}:
        print(f"{sys.argv[3]}: {what} reaches {there}, it says {said[what]}")
        wrong += 1
if int(said["kept"]) not in slots:
    print(f"{sys.argv[3]}: no slot reaches {said['kept']} words: {sorted(slots)[-5:]}")
    wrong += 1
sys.exit(wrong != 0)
PYTHON
}

compile program
start "$work/program"
dump
leave
judge "a program that ocamlrun runs"
"$HEAPSNAP" suspects "$work/heap.snap" >"$work/text" 2>"$work/talk" || fail "suspects"
grep -q "1[.] .*Ocaml_bytes_store field 0" "$work/text" || # and the closure that uses it
    { cat "$work/text"; fail "the table is not the first suspect"; }
compile custom -custom
start "$work/custom"
dump
leave
judge "a program with its interpreter"
