# Wrong command lines: exit 2, one message, and the nearest name where there is one.
. "$(dirname "$0")/lib.sh"

refuses()
{
    local message=$1 hint=$2
    shift 2
    exits 2 "$@"
    says "$message"
    [ -z "$hint" ] || hints "$hint"
    [ ! -s "$work/out" ] || fail "heapsnap $*: wrote to standard output: $(cat "$work/out")"
    [ "$(wc -l <"$work/err")" -le 2 ] || fail "heapsnap $*: more than a message and a hint"
}

# Without a command the overview is an answer, but not to what a script wanted.
exits 2
grep -q '^  heapsnap dump PID' "$work/out" || fail "no overview"

refuses "unknown command 'rots'" "did you mean 'heapsnap roots'?" rots heap.snap
refuses "unknown command 'Dump'" "did you mean 'heapsnap dump'?" Dump 1
refuses "unknown command 'frobnicate'" "'heapsnap help' lists the commands" frobnicate
refuses "unknown command ''" "" ''

refuses "unknown option '--min-word' of 'roots'" "did you mean '--min-words'?" \
    roots x --min-word 3
refuses "unknown option '--jsn' of 'info'" "did you mean '--json'?" info x --jsn
refuses "unknown option '--disjoint' of 'roots'" "'heapsnap roots -h' lists its options" \
    roots x --disjoint
refuses "unknown option '-z' of 'roots'" "'heapsnap roots -h' lists its options" roots x -z
refuses "unknown option '--form' of 'roots'" "" roots x --form json # whole words only
refuses "--format needs a value (FORMAT)" "" roots x --format
refuses "--json takes no value" "" roots x --json=yes
refuses "--json is given twice" "" roots x --json --json
refuses "'xml' is not a value of --format" "one of table|json|ndjson|tsv" roots x --format xml
refuses "'' is not a value of --format" "one of table|json|ndjson|tsv" roots x --format=
refuses "'globe' is not a value of --kind" "" roots x --kind global,globe
refuses "'' is not a value of --kind" "" roots x --kind global,
refuses "'size' is not a value of --sort" "one of retained|reachable|name" roots x --sort size

for bad in -1 +1 1.5 0x10 ' 1' '1 ' ''; do
    exits 2 roots x --min-words "$bad"
    says "--min-words: '$bad' is not a size"
    exits 2 roots x "--min-words=$bad"
    says "--min-words: '$bad' is not a size"
    exits 2 roots x --min-bytes "$bad"
    says "--min-bytes: '$bad' is not a size"
    exits 2 leaks x --fail-over "$bad"
    says "--fail-over: '$bad' is not a size"
done
for bad in -1 +1 1k 1.5 0x10 ' 1' '1 ' ''; do
    exits 2 roots x -n "$bad"
    says "-n: '$bad' is not a count"
    exits 2 roots x --rows "$bad"
    says "--rows: '$bad' is not a count"
done
refuses "--to needs a value (WHAT)" "'#4' wants quotes: to a shell # begins a comment" paths x --to
refuses "'object' needs SNAP|PID WHAT" \
    "usage: heapsnap object SNAP|PID WHAT; '#4' wants quotes: to a shell # begins a comment" \
    object x
refuses "'types' does not take 'Job'" "'heapsnap paths x --to type:Job' says who keeps it" \
    types x Job
if has_part export; then
    exits 5 export "$$" --to folded
    grep -qxF "hint: 'heapsnap dump $$ -o $$.snap' makes a snapshot of the process" "$work/err" ||
        fail "no hint to dump: $(cat "$work/err")"
fi
exits 2 roots x --fail-unless-attributed 101
says "--fail-unless-attributed: '101' is more than 100 percent"
exits 2 roots x --min-words 18446744073709551616
says "--min-words: '18446744073709551616' is too large: it does not fit 64 bits"
refuses "--min-bytes is given twice, as words or as bytes" "" \
    roots x --min-words 3 --min-bytes 1MiB

refuses "'roots' needs SNAP|PID" "usage: heapsnap roots SNAP|PID" roots
refuses "--names-timeout: there is no search in no time" "--no-names leaves the search out" \
    dump 1 --names-timeout 0
for command in info roots dominators paths leaks samples; do
    exits 2 $command x y
    says "'$command' does not take 'y'"
    hints "'heapsnap diff x y' compares two snapshots"
done
refuses "'object' does not take 'z'" "" object x y z
refuses "'version' does not take 'x'" "" version x
refuses "no help for 'rots'" "" help rots
refuses "no completion for the shell 'tcsh'" "one of bash, zsh, fish" completion tcsh
refuses "no man page for 'nothing'" "" help man:nothing
for bad in 0 -1 abc 12x 99999999999999999999 ''; do
    exits 2 dump -o "$work/never" -- "$bad"
    says "'$bad' is not a process id"
done
[ ! -e "$work/never" ] || fail "a file was made for a wrong command line"
[ -z "$(ls -A "$work" | grep -F .never || true)" ] || fail "a neighbour was left behind"
if has_part export; then
    exits 2 export "$work/none"
    mentions "'export' needs --to FORMAT"
fi

# Escape sequences in what was typed do not reach the terminal.
exits 2 $'\e[31mred'
! grep -q $'\e' "$work/err" || fail "an escape sequence was passed on"

# -h fits one screen, examples first; --help says more; both name every option of the table.
while read -r command; do
    exits 0 "$command" -h
    [ "$(wc -l <"$work/out")" -le 23 ] || fail "$command -h is longer than a screen"
    [ "$(wc -L <"$work/out")" -le 80 ] || fail "$command -h is wider than 80 columns"
    cp "$work/out" "$work/short"
    exits 0 "$command" --help
    [ "$(wc -c <"$work/out")" -ge "$(wc -c <"$work/short")" ] || fail "$command --help says less"
    [ "$(wc -L <"$work/out")" -le 80 ] || fail "$command --help is wider than 80 columns"
    cp "$work/out" "$work/long"
    exits 0 help "$command"
    cmp -s "$work/out" "$work/long" || fail "help $command differs from $command --help"
done < <("$HEAPSNAP" --help | sed -n 's/^  \([a-z]\+\) .*/\1/p' | grep -v '^heapsnap$')

exits 0 --version
grep -qxE 'heapsnap [0-9]+\.[0-9]+\.[0-9]+ \(heap\.snap format [0-9]+\)' "$work/out" ||
    fail "unexpected version line"
cp "$work/out" "$work/version"
exits 0 -V
cmp -s "$work/out" "$work/version" || fail "-V is not --version"
# Thresholds are named with their exit code, codes in the overview.
exits 0 leaks -h
grep -qx 'exit code 1: done, and --fail-over was crossed' "$work/out" || fail "leaks -h: no code 1"
exits 0 -h
grep -q '^Exit codes: 0 done, 1 a threshold' "$work/out" || fail "no exit codes"
grep -q '130 interrupted (Ctrl-C)' "$work/out" || fail "no exit code 130"
# Help wins over what is wrong elsewhere on the line.
exits 0 roots --nonsense -h
exits 0 -h
