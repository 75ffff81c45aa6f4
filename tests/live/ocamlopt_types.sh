#!/usr/bin/env bash
# parts: ocaml
# The compiler itself in the middle of a large file: most of its heap is held by its stack and by
# closures alone. It rests where it prints into a pipe that nobody reads, so it stands at one place.
. "$(dirname "$0")/_target.sh"
need ocamlopt.opt python3
[ -x "$(dirname "$HEAPSNAP")/heapsnap-ocaml-types" ] ||
    { echo "skipped: heapsnap-ocaml-types was not built"; exit 77; }
[ -f "$(ocamlopt.opt -where)/compiler-libs/optcompile.cmt" ] ||
    { echo "skipped: no .cmt files of the compiler"; exit 77; }

python3 - "$work/large.ml" <<'PYTHON'
import sys
lines = ["type v = A | B of int * v | C of { x : v; y : float } | D of string list"]
for i in range(800):
    lines.append(f"""let f{i} (x : v) y = match x with
  | A -> y + {i}
  | B (n, _) when n > {i} -> List.fold_left (fun z p -> z + p) n [y; {i}]
  | C {{ x = B (m, D l); y = q }} -> int_of_float (q *. {i}.5) + List.length l + m
  | B (n, _) -> n * 2
  | C _ | D _ -> String.length ("text{i}" ^ string_of_int y)""")
open(sys.argv[1], "w").write("\n".join(lines) + "\n")
PYTHON
chmod 755 "$work"
mkfifo "$work/printed"
exec 8<>"$work/printed"
(cd "$work" && exec ocamlopt.opt -w -a -dcmm -c large.ml >"$work/log" 2>&8 8>&-) &
pid=$!
# It rests for good when it waits to write: then its processor time stays.
before=-1
for _ in $(seq 600); do
    read -r -a stat <"/proc/$pid/stat" || fail "the compiler has ended"
    [ "${stat[2]}" != S ] || [ "${stat[13]}" -lt 10 ] || [ "${stat[13]}" != "$before" ] || break
    before=${stat[13]}
    sleep 0.1
done
"$HEAPSNAP" dump "$pid" --names-timeout 600s -o "$work/heap.snap" 2>"$work/talk" ||
    fail "dump: $(cat "$work/talk")"
"$HEAPSNAP" check "$work/heap.snap" >"$work/talk" 2>&1 || fail "check: $(cat "$work/talk")"
"$HEAPSNAP" info "$work/heap.snap" >"$work/info" || fail "info"
grep 'source types' "$work/info" || fail "no source types"
python3 - "$work/info" <<'PYTHON' || fail "shares"
import re, sys
text = " ".join(open(sys.argv[1]).read().split())
n, words, fits, misfits = re.search(
    r"% of (\d+) structured blocks \(([\d.]+) % of words\); (\d+) fits,.* (\d+) misfits",
    text).groups()
print(f"{words} % of words, {misfits} misfits")
sys.exit(float(words) < 85 or int(misfits) * 100_000 > int(fits) or int(n) < 100_000)
PYTHON
"$HEAPSNAP" paths "$work/heap.snap" --to type:Cmm.fundecl -n 3 >"$work/paths" || fail "paths"
grep -q 'stack Asmgen' "$work/paths" || fail "held by the stack: $(cat "$work/paths")"
