#!/usr/bin/env bash
# parts: ocaml
# heapsnap-ocaml-types is fed what has no end or is too large: it ends in time with what it has, and
# what it says closes over itself.
source "$(dirname "$0")/lib.sh"
helper=$(dirname "$HEAPSNAP")/heapsnap-ocaml-types
[ -x "$helper" ] || skip "heapsnap-ocaml-types was not built"
command -v ocamlfind >/dev/null || skip "no ocamlfind"
export HELPER=$helper
python <<'END'
import os
import re
import resource
import struct
import subprocess
import time
from _ocaml_types import Answer, ask

work, helper = os.environ["WORK"], os.environ["HELPER"]


def check(what, message):
    assert what, message


def text(s):
    return bytes([0x20 + len(s)]) + s if len(s) < 32 else b"\x09" + bytes([len(s)]) + s


def units(wanted):
    """What the linker leaves in a program: a marshalled list of (unit, digest, None, [])."""
    body = b""
    for name, digest in wanted.items():
        body += b"\xa0\xc0" + text(name.encode()) + b"\x90" + text(digest) + b"\x40\x40"
    body += b"\x40"
    return struct.pack(">IIIII", 0x8495a6be, len(body), 0, 0, 0) + body


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))


def compiled(name, source, options=()):
    with open(f"{work}/{name}.ml", "w") as f:
        f.write(source)
    subprocess.run(["ocamlfind", "ocamlc", "-w", "-a", "-bin-annot", *options, "-c", name + ".ml"],
                   cwd=work, check=True, capture_output=True, timeout=200, preexec_fn=limited)
    out = subprocess.run(["ocamlobjinfo", f"{work}/{name}.cmi"], capture_output=True,
                         text=True, check=True).stdout
    found = re.findall(r"([0-9a-f]{32})\t(\w+)", out)
    return {unit: bytes.fromhex(digest) for digest, unit in found}


def answer(wanted, lines=(), limit=None):
    started = time.monotonic()
    body = units(wanted)
    question = b"dir %s\n" % work.encode() + b"".join(l.encode() + b"\n" for l in lines)
    question += b"map %d\n" % len(body) + body
    run = [helper] if limit is None else ["bash", "-c", f"ulimit -v {limit}; exec {helper}"]
    done = subprocess.run(run, input=question, capture_output=True, timeout=120)
    check(done.returncode == 0, f"exit {done.returncode}: {done.stderr[-200:]}")
    return Answer(done.stdout.decode()), time.monotonic() - started


def in_less_time(wanted, seconds):
    """What it says when the time is short: what it needs is not the same each time."""
    b, _ = answer(wanted, [f"seconds {seconds:.4f}"])
    while b.is_whole() and seconds > 0.001:
        seconds /= 3
        b, _ = answer(wanted, [f"seconds {seconds:.4f}"])
    return b


def root(a, unit, at):
    return a.types[a.roots[unit, at]]


def functor_without_end():
    """Each level applies the one below twice: 2^9 modules; and 60 applications in each other."""
    lines = ["module type S = sig type t val v : t list ref end",
             "module F0 (X : S) = struct type t = A of X.t let v : t list ref = ref [] end"]
    for i in range(1, 10):
        lines.append(f"""module F{i} (X : S) = struct
  module Y = struct type t = X.t * int let v : t list ref = ref [] end
  module A = F{i - 1} (X)
  module B = F{i - 1} (Y)
  type t = B of A.t * B.t
  let v : t list ref = ref []
end""")
    lines += ["module X0 = struct type t = int let v : t list ref = ref [] end",
              "module M = F9 (X0)", "let x : M.t list ref = ref []"]
    lines += [f"module X{i} = F0 (X{i - 1})" for i in range(1, 60)]
    lines += ["let y : X2.t list ref = ref []", "let z : X59.t list ref = ref []"]
    wanted = compiled("endless", "\n".join(lines))
    a, seconds = answer(wanted, ["seconds 60"])
    check(a.is_whole() and a.units["Endless"][0] == "typed", a.notes)
    check(any("F0(Endless.F0(Endless.X0)).t" in t["display"] for t in a.types), "two of them")
    check(1 << 9 < len(a.types) < 20000, len(a.types))
    b = in_less_time(wanted, seconds / 8)
    check(b.types == a.types[:len(b.types)], "a part is the beginning")


def deep_and_wide():
    """Types that are short to write and have no end, or 2^60 nodes, when they are unfolded."""
    lines = ["type t0 = { n : int }"]
    lines += [f"type t{i} = t{i - 1} * t{i - 1}" for i in range(1, 60)]
    lines += ["type u0 = int"] + [f"type u{i} = u{i - 1} list" for i in range(1, 1000)]
    lines += ["let a : t59 list ref = ref []", "let b : u999 list ref = ref []",
              "type 'a p = Nil | Cons of 'a * ('a * 'a) p", "let c : int p ref = ref Nil",
              "type 'a q = Q of 'a q q list * ('a list, 'a array) r and ('a, 'b) r = R of 'b q",
              "let d : string q list ref = ref []",
              "let e : " + "int" + " list" * 2000 + " ref = ref []"]
    a, _ = answer(compiled("deep", "\n".join(lines)))
    check(a.is_whole() and a.units["Deep"][0] == "typed", a.notes)
    check(len(a.types) < 60000, len(a.types))
    check(any(t["head"] == "nested too deeply" for t in a.types), "an end is told")
    check(any(t["display"] == "int Deep.p" for t in a.types), "the beginning is there")


def cyclic():
    a, _ = answer(compiled("cyclic", """
type t = t list
let a : t ref = ref []
let b : (< next : 'a; n : int > as 'a) list ref = ref []
let c : ('a list as 'a) ref = ref []
type 'a u = 'a u option
let d : int u ref = ref None
type v = (v, v) Hashtbl.t * w and w = v array
let e : v list ref = ref []
""", ["-rectypes"]))
    check(a.is_whole() and a.units["Cyclic"][0] == "typed", a.notes)
    t = root(a, "Cyclic", 0)["rows"][0]["children"][0][0]
    rows = a.types[t]["rows"]
    check(rows[0]["constructor"] == "::" and rows[0]["children"][0][0] == t, "t is a list of t")


def many():
    """20,000 types, all of them reached."""
    fields = ["t%d option", "t%d list", "t%d array", "(t%d * string)", "t%d ref", "t%d lazy_t",
              "(string * t%d)", "(t%d, string) Hashtbl.t", "(t%d * t%d)", "t%d list list"]
    n = 20000
    lines = ["type t0 = { n : string }"]
    for i in range(1, n // len(fields) + 1):
        last = [f.replace("%d", str(i - 1)) for f in fields]
        labels = "; ".join(f"f{j} : {f}" for j, f in enumerate(last))
        lines.append(f"type t{i} = {{ {labels} }}")
    lines += [f"let x : t{n // len(fields)} list ref = ref []"]
    wanted = compiled("many", "\n".join(lines))
    a, seconds = answer(wanted, ["seconds 60"])
    check(a.is_whole() and len(a.types) >= n, (len(a.types), a.notes))
    # In less time than it needs it says a part, and ends.
    b = in_less_time(wanted, seconds / 3)
    check(not b.is_whole() and len(b.types) < len(a.types), b.notes)
    check(b.types == a.types[:len(b.types)], "a part is the beginning")
    # So it does with too little memory.
    for limit in [40000, 80000]:
        c, _ = answer(wanted, ["seconds 60"], limit)
        check(c.is_whole() or len(c.types) < len(a.types), f"{limit} KiB: {c.notes}")


for test in [functor_without_end, deep_and_wide, cyclic, many]:
    test()
    print("ok", test.__name__)
END
