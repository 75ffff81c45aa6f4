# parts: export
# go tool pprof opens our profiles: sums, names with their lines, labels, build id, growth.
. "$(dirname "$0")/_client.sh"
need go
export PPROF_NO_BROWSER=1 HOME=$work # it keeps settings and looks for binaries there

pprof()
{
    go tool pprof "$@" >"$work/pprof" 2>"$work/pprof.err" ||
        fail "go tool pprof $*: $(cat "$work/pprof.err")"
}

# sum INDEX FILE: of the samples as pprof has read them.
sum()
{
    pprof -raw "$2"
    python3 - "$work/pprof" "$1" <<'PY'
import re
import sys
total, at = 0, int(sys.argv[2])
for line in open(sys.argv[1], encoding="utf-8"):
    found = re.match(r" *((?:\d+ +)*\d+): [\d ]+$", line)
    if found:
        total += int(found.group(1).split()[at])
    if line.startswith("Locations"):
        break
print(total)
PY
}

export_to pprof
profile=$work/heap.pprof
same "objects" "$(sum 0 "$profile")" "$heap_objects"
same "bytes" "$(sum 1 "$profile")" "$heap_bytes"
pprof -raw "$profile"
grep -q '/usr/bin/shop abcdef0123456789abcdef0123456789abcdef01' "$work/pprof" || fail "no build id"
grep -q 'root global sessions /src/shop.c:318' "$work/pprof" || fail "no line of a root"

# By itself it shows bytes; a name that looks like C++ is whole.
pprof -top -nodecount=0 -nodefraction=0 "$profile"
grep -q '^Type: inuse_space' "$work/pprof" || fail "not by bytes: $(head -5 "$work/pprof")"
grep -qF 'struct session *[]' "$work/pprof" || fail "a name is cut"
grep -qF 'root global </script><b>&amp;' "$work/pprof" || fail "a name is cut"
pprof -sample_index=inuse_space -unit=B -peek '^char' "$profile"
grep -q 'struct session$' "$work/pprof" || fail "no owner in: $(tail -12 "$work/pprof")"
pprof -tags "$profile"
for label in root kind type tier; do
    grep -q "^ *$label: Total" "$work/pprof" || fail "no label $label: $(cat "$work/pprof")"
done
grep -q '\<sessions$' "$work/pprof" || fail "no name of a root alone: $(cat "$work/pprof")"
! grep -q 'root global' "$work/pprof" || fail "a label says twice what it is: $(cat "$work/pprof")"
pprof -top -tagfocus 'root=^sessions$' "$profile"
grep -q 'struct session' "$work/pprof" || fail "no sample of a root"

# What has grown: ten sessions of 4 words.
python3 -B "$clients/fixture.py" newer.snap 10
exits 0 export "$work/newer.snap" --to pprof -o "$work/newer.pprof"
pprof -top -unit=B -diff_base "$profile" -nodefraction=0 "$work/newer.pprof"
grep -qE '^ +320B .* struct session$' "$work/pprof" || fail "no growth: $(head -12 "$work/pprof")"

a_trace
trace_to pprof
same "allocated" "$(sum 1 "$work/trace.pprof")" "$trace_bytes"
same "alive" "$(sum 3 "$work/trace.pprof")" "$live_bytes"
# Parts of a trace are labels, whose sums are those of the same filter.
pprof -tags -sample_index=alloc_space -unit=B "$work/trace.pprof"
for source in minor major external; do
    exits 0 trace top "$trace" --heap "$source" --json -n 1 -o "$work/part.json"
    same "what $source has" "$(sed -n "s/^ *\([0-9]*\)\.0B .*: $source\$/\1/p" "$work/pprof")" \
        "$(python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(d["word_bytes"] * d["total"]["words"])' "$work/part.json")"
done
grep -q '^ *promoted: Total' "$work/pprof" && grep -q ': yes$' "$work/pprof" ||
    fail "nothing of promotions: $(cat "$work/pprof")"
for type in alloc_objects alloc_space inuse_objects inuse_space; do
    pprof -top -sample_index=$type "$work/trace.pprof"
    grep -q "^Type: $type" "$work/pprof" || fail "no $type"
done
