"""The third list of bench/wild: programs of Debian 12 that hold what they have read, and wait.

Each is given a file, or lines on its standard input, which stays open. Name, package, command,
words before the file, or all words where the text is its standard input, text, suffix (None: there
is no file)."""

JAVASCRIPT = 'var a = []; for (var i = 0; i < 100000; i++) a.push("item" + i);\n'
GLIB = "\nnew imports.gi.GLib.MainLoop(null, false).run();\n"
PROLOG = """:- dynamic(item/2).
fill(100000) :- !.
fill(I) :- assertz(item(I, at(I))), J is I + 1, fill(J).
:- initialization(fill(0)).
"""
SCHEME = """(define a (make-vector 50000))
(do ((i 0 (+ i 1))) ((= i 50000))
  (vector-set! a i (string-append "item" (number->string i))))
(read)
"""
LOGO = """make "a []
repeat 50000 [make "a fput word "item repcount :a]
make "x readword
"""
BASIC = """10 DIM A$(20000)
20 FOR I = 1 TO 20000
30 A$(I) = "item" + STR$(I)
40 NEXT I
50 INPUT X$
"""
REXX = "/**/\ndo i = 1 to 100000; a.i = 'item' || i; end\nparse pull x\n"
NICKLE = """string[100000] a;
for (int i = 0; i < 100000; i++) a[i] = sprintf("item%d", i);
string s = File::fgets(stdin);
"""
TCL = "for {set i 0} {$i < 200000} {incr i} {set a($i) item$i}\ngets stdin\n"
DASH = "i=0\nwhile [ $i -lt 50000 ]; do eval a$i=item$i; i=$((i + 1)); done\nread x\n"
CMAKE = """foreach(i RANGE 30000)
  set(a${i} "item${i}")
endforeach()
execute_process(COMMAND cat)
"""
MAKE = "all: ; @read x\n" + "".join(f"f{i}: f{i + 1}; @echo item{i}\n" for i in range(30000))
LEDGER = "".join(f"2026/01/{i % 28 + 1:02} item{i}\n    A{i % 500}    $1\n    B\n\n"
                 for i in range(20000))
LINES = "".join(f"item{i} {'x' * 60}\n" for i in range(100000))
PAIRS = "".join(f"item{i} item{i * 7919 % 100003}\n" for i in range(100000))
SYMBOLS = "".join(f"item{i}: .quad item{i}\n" for i in range(100000))

THIRD = (
    ("mujs", "mujs", "mujs", ("mujs",), JAVASCRIPT + "readline();\n", ".js"),
    ("duktape", "duktape", "duk", ("duk", "-i"), JAVASCRIPT, ".js"),
    ("gjs", "gjs", "gjs", ("gjs",), JAVASCRIPT + GLIB, ".js"),
    ("gprolog", "gprolog", "gprolog", ("gprolog", "--consult-file"), PROLOG, ".pl"),
    ("tinyscheme", "tinyscheme", "tinyscheme", ("tinyscheme",), SCHEME, ".scm"),
    ("ucblogo", "ucblogo", "ucblogo", ("ucblogo",), LOGO, ""),
    ("bwbasic", "bwbasic", "bwbasic", ("bwbasic",), BASIC, ".bas"),
    ("regina", "regina-rexx", "regina", ("regina",), REXX, ".rexx"),
    ("nickle", "nickle", "nickle", ("nickle",), NICKLE, ".5c"),
    ("expect", "expect", "expect", ("expect",), TCL, ""),
    ("dash", "dash", "dash", ("dash",), DASH, ""),
    ("cmake", "cmake", "cmake", ("cmake", "-P"), CMAKE, ".cmake"),
    ("make", "make", "make", ("make", "-f"), MAKE, ""),
    ("ledger", "ledger", "ledger", ("ledger", "-f"), LEDGER, ".dat"),
    ("sort", "coreutils", "sort", ("sort",), LINES, None),
    ("tsort", "coreutils", "tsort", ("tsort",), PAIRS, None),
    ("sed", "sed", "sed", ("sed", "H;d"), LINES, None),
    ("as", "binutils", "as", ("as", "-o", "/dev/null"), SYMBOLS, None),
    ("xz", "xz-utils", "xz", ("xz", "-9", "-T1", "-c"), LINES, None),
)
