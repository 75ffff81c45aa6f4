#!/usr/bin/env bash
# parts: ocaml
# heapsnap-ocaml-types: the types of a program's variables from its .cmt files, and what it says of
# files that are of no use. The program counts its own blocks by type: every type it speaks of must
# be in the answer.
source "$(dirname "$0")/lib.sh"
helper=$(dirname "$HEAPSNAP")/heapsnap-ocaml-types
[ -x "$helper" ] || skip "heapsnap-ocaml-types was not built"
command -v ocamlfind >/dev/null || skip "no ocamlfind"
mkdir "$work/p"
cp "$SOURCE_DIR/tests/live/fixtures/ocaml_types.ml" "$work/p/"
(cd "$work/p" && ocamlfind ocamlopt -w -a -bin-annot ocaml_types.ml -o ocaml_types) \
    >"$work/log" 2>&1 || fail "building: $(tail -3 "$work/log")"
echo go | "$work/p/ocaml_types" >"$work/counts"
export HELPER=$helper
python <<'END'
import os
import re
import shutil
import struct
import subprocess
import time
from _ocaml_types import Answer, Elf, ask, ask_late, request

work, helper = os.environ["WORK"], os.environ["HELPER"]
program = work + "/p/ocaml_types"
cmt = work + "/p/ocaml_types.cmt"
good = open(cmt, "rb").read()


def answer(lines=(), program=program, dirs=(work + "/p",)):
    code, text = ask(helper, request(program, dirs, lines))
    assert code == 0, code
    return Answer(text)


def unit(a, name="Ocaml_types"):
    return a.units[name][0]


def check(what, message):
    assert what, message


def held_types():
    """What a function of any type captured has one by the variable that holds its closure: each of
    the module's is asked for."""
    name = re.compile(r"camlOcaml_types(?:__|[.$])(ask_\d+)")
    asker, = {found[1] for found in map(name.fullmatch, Elf(program).symbols) if found}
    late = "closure Ocaml_types * *\n" + "".join(f"held Ocaml_types {slot} Ocaml_types {asker}\n"
                                          for slot in range(400))
    code, text = ask_late(helper, request(program, [work + "/p"]), late.encode())
    assert code == 0, code
    a = Answer(text)
    check(a.held, f"no variable may hold a closure of {asker}")
    return {t["display"] for t in a.types}


# A value of an extensible type is named by its constructor, which the program's own data tell: of
# the files its type is asked.
of_constructor = {"Ocaml_types.Failed": "exn", "Ocaml_types.Started": "int Ocaml_types.event",
                  "Ocaml_types.Ended": "int Ocaml_types.event"}


def counted_types():
    # What only a stack keeps has a type by the call that it stands in, at the place of its text.
    call = "(input_char stdin)"
    source = open(work + "/p/ocaml_types.ml").read().splitlines()
    line, = [i for i, text in enumerate(source) if call in text]
    first = source[line].index(call)
    a = answer(["closure Ocaml_types * *",
                f"frame ocaml_types.ml {line + 1} {first} {first + len(call)}"])
    check(a.is_whole() and unit(a) == "typed", a.notes)
    displays = {t["display"] for t in a.types} | held_types()
    for line in open(work + "/counts"):
        name = line.rstrip("\n").partition("\t")[2]
        name = of_constructor.get(name, name)
        if name and not name.startswith("?"):
            check(name in displays, f"{name} is not in the answer")
    check({"existential type", "Obj.t"} <= displays, "reasons")


def one(a, display):
    found = a.find(display)
    check(len(found) == 1, f"{display}: {len(found)}")
    return found[0]


def shapes(t):
    return [(r["tag"], r["size"], r["kind"], r["constructor"]) for r in t["rows"]]


def labels(row):
    return [label for _, label in row["children"]]


def rows_of_types():
    a = answer()
    equal = lambda x, y: check(x == y, f"{x} is not {y}")
    plain = one(a, "Ocaml_types.plain")
    equal(shapes(plain), [(0, "2", "fields", "-")])
    equal(labels(plain["rows"][0]), ["number", "name"])
    shape = one(a, "Ocaml_types.shape")
    equal(shapes(shape), [(0, "2", "fields", "Circle"), (1, "2", "fields", "Named"),
                          (2, "1", "fields", "Pair")])
    equal(labels(shape["rows"][1]), ["label", "inner"])
    equal(a.types[shape["rows"][1]["children"][1][0]]["display"], "Ocaml_types.plain")
    equal(shapes(one(a, "Ocaml_types.point")), [(254, "2", "leaf", "-")])
    boxed = one(a, "Ocaml_types.boxed")
    equal(shapes(boxed), shapes(plain))
    equal(a.types[boxed["alias"]], plain)
    lazy = one(a, "Ocaml_types.plain lazy_t")
    equal(a.types[lazy["inner"]], plain)
    equal([r["tag"] for r in lazy["rows"]], [246, 244, 250])
    poly = one(a, "[`A of Ocaml_types.plain | `B of (int * string) | `C]")
    equal([name for _, name, _ in poly["rows"][0]["cases"]], ["A", "B"])
    equal(poly["rows"][0]["cases"][0][0], 65) # the hash of `A
    equal(shapes(one(a, "exn")), [(248, "*", "leaf", "-"), (0, "*", "ext", "-")])
    module = one(a, "module Shown")
    equal(labels(module["rows"][0]), ["value", "show", "all"])
    equal(shapes(one(a, "float array")), [(254, "*", "leaf", "-"), (0, "0", "leaf", "-")])


def extensions_and_witnesses():
    a = answer()
    arguments = {e["name"]: [label for _, label in e["children"]] for e in a.exts.values()}
    check(arguments["Failed"] == ["0", "1"] and arguments["Ended"] == ["by", "note"], arguments)
    dyn = one(a, "Ocaml_types.dyn")
    (field, payload, family), = dyn["rows"][0]["witnesses"]
    check((field, payload) == (0, 1), "the tag says what the other field is")
    known = {(a.types[t]["display"], how) for f, t, _, _, how in a.known if f == family}
    check(known == {("Ocaml_types.plain", "value"), ("Ocaml_types.shape", "captured"),
                    ("(string * Ocaml_types.plain)", "captured")}, known)


def hidden_definitions():
    """Two types of one name in one module are two."""
    source = work + "/p/shadow.ml"
    open(source, "w").write("""
type t = { a : int; b : string }
let x = ref [ { a = 1; b = "" } ]
type u = t
module M = struct
  type t = A of u * int
  let y : t list ref = ref []
end
let z : M.t list ref = M.y
let v = ref 1
let w = v
let v = ref "s"
let _ = Sys.opaque_identity (w, v, z)
""")
    subprocess.run(["ocamlfind", "ocamlopt", "-w", "-a", "-bin-annot", "shadow.ml", "-o", "shadow"],
                   cwd=work + "/p", check=True, capture_output=True)
    a = answer(program=work + "/p/shadow")
    roots = [a.types[t]["display"] for (u, _), t in sorted(a.roots.items()) if u == "Shadow"]
    check("string ref" in roots and "int ref" in roots, roots)
    check("Shadow.M.t list ref" in roots and "Shadow.t list ref" in roots, roots)


CAPTURES = """type item = { key : string; size : int }
let keep : (int -> item list) list ref = ref []
let outer items (extra : float array) =
  let scale = Array.length extra in
  let inner n = List.filter (fun i -> i.size > n * scale) items in
  let rec even n = if n = 0 then items else odd (n - 1)
  and odd n = if n = 0 then [] else even (n - scale) in
  keep := inner :: even :: !keep;
  let found = inner 3 in
  List.length found
let _ = outer [ { key = ""; size = 1 } ] [| 1.5 |]
let split ?(scale = 2) number items =
  let own = [| number; scale |] in
  let later n = if n < Array.length own then items else if number < scale then [] else items in
  keep := later :: !keep
let _ = split 1 []
module Inner = struct
  let kept : item list ref = ref []
  let closed n = n + 1
  let number = 3
  let store items = kept := items
  let apart n = List.map (fun i -> i.size + n + closed number) !kept
end
module Sealed : sig val store : item list -> unit end = struct include Inner end
"""


def bodies():
    """What closures captured, under the names of the program's symbols, and a call's variables."""
    with open(work + "/p/captures.ml", "w") as f:
        f.write(CAPTURES)
    built = work + "/p/captures"
    subprocess.run(["ocamlfind", "ocamlopt", "-w", "-a", "-g", "-bin-annot", "captures.ml", "-o",
                    "captures"], cwd=work + "/p", check=True, capture_output=True)
    symbols = subprocess.run(["nm", built], capture_output=True, text=True, check=True).stdout
    call = CAPTURES.splitlines()[8]
    first = call.index("inner 3")
    a = answer(["closure Captures * *", f"frame captures.ml 9 {first} {first + 7}",
                "frame captures.ml 9 1 2", "closure Missing * 3"], program=built)
    names = lambda found: [(label, t is not None and a.types[t]["display"])
                           for t, label in found["children"]]
    captured = {f.rpartition("_")[0]: names(found) for (_, f), found in a.captured.items()}
    both = [("items", "Captures.item list"), ("scale", False)]
    # A variable of a module within the unit is captured, or not; what never changes is not.
    check(captured.pop("store") == [("kept", "Captures.item list ref")], a.captured)
    check(captured.pop("apart") == [("kept", "Captures.item list ref")], a.captured)
    # Defaults split a function, and its parameters come after what it defines.
    later = [("own", "int array"), ("scale", False), ("number", False),
             ("items", "Captures.item list")]
    check(captured.pop("later") == later, a.captured)
    check(captured == {"inner": both, "even": both, "odd": both}, captured)
    for _, function in a.captured:
        check(re.search(rf" camlCaptures(__|[.]){function}\b", symbols), f"no symbol {function}")
    scope, = a.scopes
    check(dict(names(scope)) | {"items": "Captures.item list", "extra": "float array"} ==
          dict(names(scope)) and "found" in dict(names(scope)), names(scope))
    few = answer([f"closure Captures {f} 2" for _, f in list(a.captured)[:1]] +
                 [f"closure Captures {f} 3" for _, f in list(a.captured)[1:]], program=built)
    check(list(few.captured) == list(a.captured)[:1], "the number of captured values counts")
    late = f"closure Captures * *\nlook Captures\nframe captures.ml 9 {first} {first + 7}\n"
    for lines in [[], ["memory 0"]]: # what was read is still there, or is read again
        code, text = ask_late(helper, request(built, [work + "/p"], lines), late.encode())
        later = Answer(text)
        check(code == 0 and later.is_whole(), later.notes)
        said = {f.rpartition("_")[0]: [label for _, label in found["children"]]
                for (_, f), found in later.captured.items()}
        for name in ["later", "store", "apart"]:
            del said[name]
        check(said == {f: [label for label, _ in both] for f in captured}, (lines, said))
        check(len(later.scopes) == 1, (lines, later.scopes))


def types_alone():
    """A plugin's list has no units without code: what imports them says which they are."""
    place = work + "/plugin"
    os.mkdir(place)

    def compile(types):
        open(place + "/shapes.mli", "w").write(types)
        subprocess.run(["ocamlfind", "ocamlopt", "-w", "-a", "-bin-annot", "-c", "shapes.mli"],
                       cwd=place, check=True, capture_output=True)

    compile("type t = Round of int * string | Flat of string")
    open(place + "/plug.ml", "w").write("let all : Shapes.t list ref = ref []")
    subprocess.run(["ocamlfind", "ocamlopt", "-w", "-a", "-bin-annot", "-shared", "plug.ml", "-o",
                    "plug.cmxs"], cwd=place, check=True, capture_output=True)
    header = Elf(place + "/plug.cmxs").string("caml_plugin_header")
    text = f"dir {place}\nplugin {len(header)}\n".encode() + header
    a = Answer(ask(helper, text)[1])
    check("Shapes" not in a.units and unit(a, "Plug") == "typed", a.units)
    check(a.types[a.roots["Plug", 0]]["display"] == "Shapes.t list ref", a.roots)
    check([r["constructor"] for r in one(a, "Shapes.t")["rows"]] == ["Round", "Flat"], "Shapes.t")
    compile("type t = Other of string")
    a = Answer(ask(helper, text)[1])
    check(unit(a, "Plug") == "typed" and not a.find("Shapes.t"), "types of another build")


def restore():
    open(cmt, "wb").write(good)


def files_of_no_use():
    check(unit(answer(dirs=[work])) == "typed", "found below")
    os.remove(cmt)
    a = answer()
    check(unit(a) == "no_cmt" and a.is_whole(), "without .cmt")
    for n in [0, 10, 100, len(good) // 2, len(good) - 1]:
        open(cmt, "wb").write(good[:n])
        a = answer()
        check(unit(a) == "stale" and a.is_whole(), f"{n} bytes of a .cmt")
        check(unit(a, "Stdlib__Map") == "typed", "others are typed all the same")
    open(cmt, "wb").write(good[:9] + b"999" + good[12:]) # Caml1999T029...
    check(unit(answer()) == "stale", "another compiler's")
    restore()
    # Another build: the same unit with another interface.
    other = work + "/other"
    os.mkdir(other)
    text = open(work + "/p/ocaml_types.ml").read()
    open(other + "/ocaml_types.ml", "w").write(text + "\nlet one_more = ref 1\n")
    subprocess.run(["ocamlfind", "ocamlopt", "-w", "-a", "-bin-annot", "-c", "ocaml_types.ml"],
                   cwd=other, check=True, capture_output=True)
    for name in ["ocaml_types.cmi", "ocaml_types.cmt"]:
        shutil.copy(work + "/p/" + name, work + "/" + name + ".kept")
    shutil.copy(other + "/ocaml_types.cmt", cmt)
    check(unit(answer()) == "stale", "an implementation of another build")
    shutil.copy(other + "/ocaml_types.cmi", work + "/p/ocaml_types.cmi")
    check(unit(answer()) == "stale", "files of another build")
    shutil.copy(work + "/ocaml_types.cmi.kept", work + "/p/ocaml_types.cmi")
    restore()
    check(unit(answer()) == "typed", "as before")


def damaged():
    """A byte that is wrong costs that unit at most: the others are typed, and the answer closes."""
    for at in [40, 60] + list(range(100, len(good), len(good) // 12)):
        open(cmt, "wb").write(good[:at] + bytes([good[at] ^ 0x55]) + good[at + 1:])
        code, text = ask(helper, request(program, [work + "/p"], ["seconds 20"]))
        check(code == 0, f"exit {code} with byte {at} changed")
        a = Answer(text)
        check(a.is_whole() or any("#stopped" in n for n in a.notes), f"byte {at}: {a.notes}")
        if a.is_whole():
            check(unit(a, "Stdlib__Map") == "typed", f"byte {at}")
    restore()


def bad_requests():
    for text in [b"what 1\n", b"map 999\nshort", b"map -1\n", b"slots A x\n", b"seconds -1\n",
                 b"frame x 1 2\n", b"closure A b\n",
                 b"x\n"]:
        code, _ = ask(helper, text)
        check(code in (1, 2), f"{text}: {code}")
    code, text = ask(helper, b"")
    check(code == 0 and Answer(text).is_whole(), "nothing asked")


for test in [counted_types, rows_of_types, extensions_and_witnesses, hidden_definitions,
             bodies, types_alone, files_of_no_use, damaged, bad_requests]:
    test()
    print("ok", test.__name__)
END
