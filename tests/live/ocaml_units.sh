#!/usr/bin/env bash
# parts: ocaml
# OCaml: of how many units the variables have names, and which files lack; the files of the
# program's own installation are found; units that call methods have one field more than variables;
# dump and info count the same.
. "$(dirname "$0")/_target.sh"
need ocamlfind python3
case "$(ocamlfind ocamlopt -version)" in
4.13.*|4.14.*) ;;
*) echo "skipped: the compiler is not OCaml 4.13 or 4.14"; exit 77 ;;
esac
[ -x "$(dirname "$HEAPSNAP")/heapsnap-ocaml-names" ] ||
    { echo "skipped: no heapsnap-ocaml-names in this build"; exit 77; }

cd "$work"
mkdir -p built prefix/bin prefix/lib/some-tool
cat >built/methods.ml <<'ML'
class counter = object
  val mutable n = 0
  method add k = n <- n + k
  method n = n
end
let kept_table = Hashtbl.create 10
let twice o = o#add 1; o#add 2; o#n
let fill () =
  let total = ref 0 in
  for i = 1 to 1000 do
    let c = new counter in
    total := !total + twice c;
    Hashtbl.replace kept_table i (c, Bytes.create 100)
  done;
  !total
ML
cat >built/plain.mli <<'ML'
val shown : string list ref
val run : unit -> unit
ML
cat >built/plain.ml <<'ML'
let hidden = ref [ String.make 50 'h' ]
let shown = ref [ String.make 40 's' ]
let run () =
  assert (Methods.fill () = 3000);
  hidden := String.make 60 'i' :: !hidden;
  print_endline "READY";
  (try ignore (input_line stdin) with End_of_file -> ());
  exit (if List.length !hidden = 2 then 0 else 1)
ML
cat >built/bare.ml <<'ML'
let bare_list = ref [ String.make 30 'b' ]
let run () = Plain.run (); ignore !bare_list
ML
echo 'let () = Bare.run ()' >built/start.ml
(cd built && ocamlfind ocamlopt -w -a -bin-annot \
    methods.ml plain.mli plain.ml bare.ml start.ml -o ../prefix/bin/some-tool-gui.opt) ||
    fail "building"
strip prefix/bin/some-tool-gui.opt
# Installed as a package would: all interfaces but one, of the implementations one.
cp built/methods.cmi built/methods.cmt built/plain.cmi built/start.cmi built/start.cmt \
    prefix/lib/some-tool/
mv built elsewhere

cd /
start "$work/prefix/bin/some-tool-gui.opt"
"$HEAPSNAP" dump "$pid" -o "$work/heap.snap" 2>"$work/talk" || fail "dump"
"$HEAPSNAP" dump "$pid" -o "$work/named.snap" --names-path "$work/elsewhere" 2>"$work/named" ||
    fail "dump with --names-path"
leave

cat "$work/talk"
grep -q 'names of variables: [0-9]* of [0-9]* OCaml units' "$work/talk" || fail "no count of units"
grep -q ' 1 only what the .cmi exports, for want of a .cmt (Plain)' "$work/talk" || fail "no .cmt"
grep -q ' 1 without: no .cmi (Bare)' "$work/talk" || fail "no .cmi"
grep -q -- '--names-path' "$work/talk" || fail "no remedy"
"$HEAPSNAP" info "$work/heap.snap" >"$work/info"
grep -q '^note *names of variables: .*(Plain)' "$work/info" || fail "info does not say it"
all=$(sed -n 's/.*names of variables: \([0-9]*\) of \([0-9]*\) OCaml units.*/\1 \2/p' "$work/named")
[ "${all% *}" = "${all#* }" ] || fail "not all by --names-path: $(cat "$work/named")"
! grep -q 'names-path' "$work/named" || fail "a remedy though nothing lacks"

# names FILE: of the program's own units.
names()
{
    "$HEAPSNAP" roots "$1" --kind global -n 0 --format json | python3 -c '
import json, re, sys
for root in json.load(sys.stdin)["roots"]:
    if re.match("(Methods|Plain|Bare)[. ]", root["name"]):
        print(root["name"], root["file"])' | sort
}
names "$work/heap.snap" >"$work/names"
for name in 'Methods.kept_table methods.ml' 'Plain.shown plain.mli' 'Bare field '; do
    grep -q "^$name" "$work/names" || { cat "$work/names"; fail "no '$name'"; }
done
! grep -q 'Plain.hidden' "$work/names" || fail "a name that no file has"
! grep -q 'Methods field' "$work/names" || { cat "$work/names"; fail "the unit with a class"; }
names "$work/named.snap" | grep '^Plain.hidden plain.ml' >/dev/null || fail "Plain.hidden"
names "$work/named.snap" | grep '^Bare.bare_list bare.ml' >/dev/null || fail "Bare.bare_list"

told=$(sed -nE \
    's/^heapsnap: ([0-9]+) objects of ([0-9]+) words and ([0-9]+) static ones, .*/\1 \2 \3/p' \
    "$work/talk")
counted=$("$HEAPSNAP" info "$work/heap.snap" --json | python3 -c '
import json, sys
i = json.load(sys.stdin)
print(i["objects"], i["words"], i["static_objects"])')
[ "$told" = "$counted" ] || fail "dump says '$told', info '$counted'"
