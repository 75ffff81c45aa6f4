#!/usr/bin/env bash
# parts: ocaml
# Source types of a program that knows how many blocks of each type it has: every count is equal,
# nothing misfits. With the types of some variables exchanged a hundred times as many blocks misfit.
# A helper that dies, hangs, lies or takes all memory costs types alone.
. "$(dirname "$0")/_target.sh"
need ocamlfind python3

mkdir "$work/bin"
cp "$HEAPSNAP" "$work/bin/heapsnap"
box=$(dirname "$HEAPSNAP")/heapsnap-dwarf
[ ! -x "$box" ] || cp "$box" "$work/bin/"
printf '#!/bin/sh\ncat >/dev/null\n' >"$work/bin/heapsnap-ocaml-names"
chmod 755 "$work/bin/heapsnap-ocaml-names"
heapsnap=$work/bin/heapsnap
helper=$work/bin/heapsnap-ocaml-types

# The program, its table, the same with the types of every tenth variable exchanged.
python3 - "$work" <<'PYTHON' || fail "the generator"
import sys
work, N = sys.argv[1], 40
source, table, roots = [], ["#heapsnap-ocaml-types 1"], []
for i in range(N):
    fields = [f"f{k}" for k in range(i + 1)]
    source.append(f"type t{i} = {{ {'; '.join(f + ' : string' for f in fields)} }}")
    source.append(f"let l{i} = List.init 300 (fun n -> {{ " +
                  "; ".join(f"{f} = string_of_int n" for f in fields) + " })")
    table += [f"type\tblock\tlist\tt{i} list", f"row\t{2 * i}\t0\t2\tfields\t::",
              f"child\t{2 * i + 1}\thd", f"child\t{2 * i}\ttl",
              f"type\tblock\tProgram.t{i}\tProgram.t{i}",
              f"row\t{2 * i + 1}\t0\t{i + 1}\tfields\t-"]
    table += [f"child\t{2 * N}\t{f}" for f in fields]
    roots.append(2 * i)
table += ["type\tleaf\tstring\tstring", f"row\t{2 * N}\t252\t*\tleaf\t-",
          "unit\tProgram\ttyped\t-", "unit\tUnix\tno_cmt\t-"]
source += ['let () = Gc.full_major (); print_endline "READY";',
           "  (try ignore (input_line stdin) with End_of_file -> ());",
           "  ignore (Sys.opaque_identity (" + ", ".join(f"l{i}" for i in range(N)) + "))"]
open(f"{work}/program.ml", "w").write("\n".join(source) + "\n")


def write(name, roots):
    lines = table + [f"root\tProgram\t{i}\t{t}" for i, t in enumerate(roots)]
    lines.append(f"#end types={2 * N + 1} rows={2 * N + 1} children=0 roots={N}")
    open(f"{work}/{name}", "w").write("\n".join(lines) + "\n")


write("table", roots)
for i in range(0, N - 1, 10):
    roots[i], roots[i + 1] = roots[i + 1], roots[i]
write("swapped", roots)
PYTHON
(cd "$work" && ocamlfind ocamlopt -w -a -g -bin-annot -package unix -linkpkg program.ml \
    -o program) || fail "building"
start "$work/program"

# helps SCRIPT: the helper from now on. It runs as the owner of the target.
helps()
{
    printf '#!/bin/sh\n%s\n' "$1" >"$helper"
    chmod 755 "$helper"
}
dump()
{
    rm -f "$work/heap.snap"*
    "$heapsnap" dump "$pid" -o "$work/heap.snap" "${@:2}" 2>"$work/talk" || fail "dump: $1"
    "$heapsnap" check "$work/heap.snap" >"$work/checked" 2>&1 || fail "check: $1"
    "$heapsnap" info "$work/heap.snap" >"$work/info" 2>&1 || fail "info: $1"
}
# misfits: as the note counts them.
misfits()
{
    sed -n 's/.* joins, \([0-9]*\) misfits.*/\1/p' "$work/info"
}
chmod 755 "$work" "$work/bin"
chmod 644 "$work/table" "$work/swapped"

helps "cat >/dev/null; cat '$work/table'"
dump "the whole table"
[ "$(misfits)" = 0 ] || fail "misfits: $(grep 'source types' "$work/info")"
grep -q 'units, 1 have no .cmt (Unix)' "$work/info" || fail "units that lack types"
"$heapsnap" types "$work/heap.snap" --json --group-by instance >"$work/types.json" || fail types
python3 - "$work/types.json" <<'PYTHON' || fail "counts"
import json, sys
found = {row["type"]: row["objects"] for row in json.load(open(sys.argv[1]))["types"]}
wrong = [(name, found.get(name)) for i in range(40) for name in (f"Program.t{i}", f"t{i} list")
         if found.get(name) != 300]
print(wrong)
sys.exit(len(wrong) != 0)
PYTHON
"$heapsnap" paths "$work/heap.snap" --to type:Program.t7 -n 0 >"$work/paths" || fail "paths"
grep -q 't7 list.hd > Program.t7' "$work/paths" || fail "paths by a type"
"$heapsnap" roots "$work/heap.snap" >"$work/roots" || fail "roots"
grep -q 't39 list' "$work/roots" || fail "a variable's type"
before=$(misfits)

helps "cat >/dev/null; cat '$work/swapped'"
dump "exchanged types"
[ "$(misfits)" -ge $((100 * (before + 1))) ] || fail "exchanged types: $(misfits) misfits"

# Names of variables come with the types; else they are asked for by themselves, late.
# named SCRIPT NAME: a variable is called so, no other is; types are there.
named()
{
    helps "cat >/dev/null; $1"
    dump "$1"
    [ "$(misfits)" = "$before" ] || fail "$1: $(grep 'source types' "$work/info")"
    "$heapsnap" roots "$work/heap.snap" --json >"$work/roots" || fail "roots: $1"
    python3 - "$work/roots" "Program.$2" <<'PYTHON' || fail "names: $1"
import json, sys
roots = [(r["name"], r["file"], r["line"]) for r in json.load(open(sys.argv[1]))["roots"]]
named = [r for r in roots if r[0] and r[0].startswith("Program.")]
print(named)
sys.exit(named != [(sys.argv[2], "program.ml", 5)])
PYTHON
}
printf '#!/bin/sh\ncat >/dev/null\nprintf "Program\\t7\\tasked\\tprogram.ml\\t5\\t-\\n"\n' \
    >"$work/bin/heapsnap-ocaml-names"
named "cat '$work/table'" asked
first="head -n 1 '$work/table'; echo '#names'"
rest="tail -n +2 '$work/table'"
row='Program\t8\tgiven\tprogram.ml\t5\t-\n'
named "$first; printf '$row'; echo '#types'; $rest" given
named "$first; printf '$row#units wanted=9\n'; echo '#types'; $rest" given
grep -q 'names of variables: 0 of 9 OCaml units' "$work/info" || fail "the note on names"
helps "cat >/dev/null; $first; echo garbage; echo '#types'; $rest"
dump "garbage for names"
grep -q 'no source names: .*line 1 is not a line of names' "$work/info" || fail "garbage for names"
[ "$(misfits)" = "$before" ] || fail "garbage for names costs types"
helps "cat >/dev/null; $first; printf '$row'"
dump "names without an end"
grep -q 'no source types: line 3' "$work/info" || fail "names without an end: types"
"$heapsnap" roots "$work/heap.snap" --json >"$work/roots"
grep -q 'Program.asked' "$work/roots" || fail "names without an end"

# spoilt SCRIPT NOTE [OPTION...]: types are missing, a note says why; all else is there.
spoilt()
{
    helps "$1"
    dump "$1" "${@:3}"
    grep -q "$2" "$work/info" || fail "no note '$2': $(grep 'source types' "$work/info")"
    "$heapsnap" roots "$work/heap.snap" >"$work/roots" || fail "roots: $1"
    grep -q "Program field 39" "$work/roots" || fail "a variable: $1"
}
spoilt "echo Segmentation fault" "no source types: line 1"
spoilt "cat /dev/urandom | head -c 300000" "no source types"
spoilt "cat '$work/table'; echo garbage" "no source types: line"
spoilt "head -n 100 '$work/table'; kill -SEGV \$\$" "not complete: .*signal 11"
grep -q 'source types: [0-9.]* %' "$work/info" || fail "what it said before it died does not count"
spoilt "head -c 2000 '$work/table'" "not complete: the answer has no end"
spoilt "head -n 1 '$work/table'; python3 -c 'x = bytearray(1 << 33)'" "not complete: .*exit status"
spoilt "head -n 1 '$work/table'; yes '#' | head -c 400000000" "not complete: .*too \(much\|long\)"
spoilt "exec sleep 60" "took too long" --names-timeout 1500ms
grep -q 'took too long.* --names-timeout gives it more' "$work/talk" ||
    fail "who dumps is not told that types are missing: $(cat "$work/talk")"
rm "$helper"
dump "no helper"
if grep -q 'source types' "$work/info"; then
    fail "a note on types that nobody looked for"
fi

# A program of which there are no files at all: the helpers as they are find those of the library.
if [ -x "$(dirname "$HEAPSNAP")/heapsnap-ocaml-types" ]; then
    rm "$work"/program.cm* "$work/bin/heapsnap-ocaml-names"
    cp "$(dirname "$HEAPSNAP")"/heapsnap-ocaml-* "$work/bin/"
    dump "no .cmt" --names-timeout 600s
    grep -q 'source types: of .* units, .*(.*Program' "$work/info" ||
        fail "no .cmt: $(cat "$work/info")"
    [ "$(misfits)" = 0 ] || fail "no .cmt: $(grep 'source types' "$work/info")"
    "$heapsnap" roots "$work/heap.snap" >"$work/roots" || fail "roots: no .cmt"
    grep -q "Program field 39" "$work/roots" || fail "no .cmt: a variable"
fi
leave
echo "counts are equal"
