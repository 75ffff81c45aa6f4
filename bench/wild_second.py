"""The second list of bench/wild: interpreters and tools of Debian 12, stripped as they come.

Each is given a program that prints READY once it has its items, and then an item for each number
that it reads."""

AWK = r"""BEGIN {
    for (i = 0; i < 200000; i++) a[i] = "item" i
    print "READY"; fflush()
    while ((getline l) > 0) { print a[l]; fflush() }
}
"""
JQ = r'[range(100000) | "item\(.)"] as $a | "READY", (inputs | $a[.])'
ZSH = """typeset -a a
for ((i = 1; i <= 50001; i++)); do a[i]=item$((i - 1)); done
echo READY
while read -r l; do echo $a[l+1]; done
"""
KSH = """typeset -a a
i=0
while ((i < 50001)); do a[i]=item$i; ((i++)); done
echo READY
while read -r l; do echo ${a[l]}; done
"""
FISH = """set a item(seq 0 50001)
echo READY
while read l; set i (math $l + 1); echo $a[$i]; end
"""
GP = """a = vector(200000, i, Str("item", i - 1));
print("READY");
while(1, n = input(); print(a[n + 1]));
"""
GUILE = """(use-modules (ice-9 rdelim))
(define a (make-vector 200000))
(let loop ((i 0))
  (when (< i 200000)
    (vector-set! a i (string-append "item" (number->string i)))
    (loop (+ i 1))))
(display "READY\\n") (force-output)
(let loop ((l (read-line)))
  (unless (eof-object? l)
    (display (vector-ref a (string->number l))) (newline) (force-output)
    (loop (read-line))))
"""
CHEZ = """(define a (make-vector 200000))
(do ((i 0 (+ i 1))) ((= i 200000)) (vector-set! a i (format "item~a" i)))
(display "READY\\n") (flush-output-port)
(let loop ((i (read)))
  (unless (eof-object? i)
    (display (vector-ref a i)) (newline) (flush-output-port)
    (loop (read))))
"""
TCL = """for {set i 0} {$i < 200000} {incr i} {set a($i) item$i}
puts READY; flush stdout
while {[gets stdin l] >= 0} {puts $a($l); flush stdout}
"""
POSTSCRIPT = """/a 50001 array def
0 1 50000 { /i exch def /s 10 string def
  a i (item) length i s cvs length add string dup 0 (item) putinterval
  dup (item) length i s cvs putinterval put } for
(READY\\n) print flush
/in (%stdin) (r) file def /line 80 string def
{ in line readline not { quit } if cvi a exch get print (\\n) print flush } loop
"""
GNUPLOT = """array A[50001]
do for [i = 1:50001] { A[i] = sprintf("item%d", i - 1) }
set print "-"
print "READY"
load "/dev/stdin"
"""
NUMBER = "{}"

# Name, package, command, words before the program's path, program, question, suffix.
SECOND = (
    ("gawk", "gawk", "gawk", ("gawk", "-f"), AWK, NUMBER, ""),
    ("mawk", "mawk", "mawk", ("mawk", "-W", "interactive", "-f"), AWK, NUMBER, ""),
    ("jq", "jq", "jq", ("jq", "-rn", "--unbuffered", "-f"), JQ, NUMBER, ""),
    ("zsh", "zsh", "zsh", ("zsh", "-f"), ZSH, NUMBER, ""),
    ("ksh", "ksh93u+m", "ksh93", ("ksh93",), KSH, NUMBER, ""),
    ("mksh", "mksh", "mksh", ("mksh",), KSH, NUMBER, ""),
    ("fish", "fish", "fish", ("fish", "-N"), FISH, NUMBER, ""),
    ("pari", "pari-gp", "gp", ("gp", "-q", "-f", "-s", "128M"), GP, NUMBER, ""),
    ("guile", "guile-3.0", "guile", ("guile", "--no-auto-compile"), GUILE, NUMBER, ""),
    ("chez", "chezscheme", "scheme", ("scheme", "--script"), CHEZ, NUMBER, ""),
    ("tcl", "tcl", "tclsh", ("tclsh",), TCL, NUMBER, ""),
    ("ghostscript", "ghostscript", "gs", ("gs", "-q", "-dNODISPLAY", "-dNOSAFER"), POSTSCRIPT,
     NUMBER, ""),
    ("gnuplot", "gnuplot-nox", "gnuplot", ("gnuplot",), GNUPLOT, "print A[{}+1]", ""),
)
