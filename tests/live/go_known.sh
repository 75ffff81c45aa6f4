#!/usr/bin/env bash
# parts: go
# Go programs that know what their variables keep, to the byte: with symbols, stripped, without
# section headers, as PIE, at work; versions that are not read are refused by name.
. "$(dirname "$0")/_native.sh"
need go strip

export GOCACHE=$BUILD_DIR/go-cache GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local HOME=$work
case $(go env GOVERSION) in
go1.19* | go1.2[1-4]* | go1.2[67]*) ;;
*) echo "skipped: $(go env GOVERSION) is not read"; exit 77 ;;
esac
mkdir -p "$work/src"
cp "$fixtures/go_known.go" "$work/src/main.go"
printf 'module known\n\ngo 1.19\n' >"$work/src/go.mod"
build()
{
    (cd "$work/src" && go build "${@:2}" -o "$work/$1" .) || fail "building $1"
}
build known

# compare WHAT names|package: what roots keep, as the program has measured it. It may have allocated
# a little between two looks.
compare()
{
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "$1: roots"
    "$HEAPSNAP" info "$work/heap.snap" --json >"$work/info.json" || fail "$1: info"
    python3 - "$work/roots.json" "$work/info.json" "$work/log" "$@" <<'PYTHON' || fail "$1"
import json, sys
roots, info, log, what, how = sys.argv[1:6]
roots, info = json.load(open(roots))["roots"], json.load(open(info))
bad = []
keeps = {}
for root in roots:
    keeps[root["name"]] = keeps.get(root["name"], 0) + root["retained_words"] * 8
lines = [line.split() for line in open(log)]
said = {line[1]: int(line[2]) for line in lines if line[0] == "KEEPS"}
heap = [int(n) for n in next(line for line in lines if line[0] == "HEAP")[1:4]]
if how == "names":
    for name in ("main.registry", "main.sessions", "main.queue", "main.huge", "main.table",
                 "main.cells", "main.book", "main.desk"):
        if abs(keeps.get(name, 0) - said[name]) > 1024 + said[name] / 100:
            bad.append(f"{name} keeps {keeps.get(name, 0)} bytes, not {said[name]}")
    pooled = keeps.get("sync.Pool main.pool", 0) # and the queues that they are in
    if not 200 * 112 <= pooled <= 200 * 112 + 65536:
        bad.append(f"the pool keeps {pooled} bytes")
else: # without symbols a package has one row
    there = sum(said[name] for name in said if name.startswith("main."))
    found = keeps.get("variables of package main", 0)
    if abs(found - there) > 4096 + there / 50:
        bad.append(f"package main keeps {found} bytes, not {there}")
# What several lead to: main's goroutine before the variables and goroutines that it shares it with.
for name, root in (("alarms", "timers of main.(*alarm).ring"), ("server", "goroutine main.main"),
                   ("textures", "finalizers of main.texture")):
    if abs(keeps.get(root, 0) - said[name]) > 24576 + said[name] / 20:
        bad.append(f"{root} keeps {keeps.get(root, 0)} bytes, not {said[name]}")
if keeps.get("goroutine main.stuck", 0) < 50 * 20480:
    bad.append(f"50 goroutines keep {keeps.get('goroutine main.stuck', 0)} bytes")
proofs = {proof["what"]: proof for proof in info["proofs"]}
for name in ("HeapAlloc", "Mallocs - Frees", "HeapInuse", "stacks and work buffers"):
    name = "Go: " + name
    if name not in proofs or not proofs[name]["holds"]:
        bad.append(f"the proof '{name}': {proofs.get(name)}")
if not bad and what != "busy" and abs(proofs["Go: HeapAlloc"]["found"] - heap[0]) > 65536:
    bad.append(f"a heap of {proofs['Go: HeapAlloc']['found']} bytes, not {heap[0]}")
unreached = info["words"] - info["reached_words"] if "reached_words" in info else 0
if what != "busy" and unreached * 8 > 65536:
    bad.append(f"{unreached * 8} bytes are reached by nothing after a collection")
if [r["name"] for r in info["runtimes"] if r["name"] == "go"] != ["go"]:
    bad.append(f"runtimes {info['runtimes']}")
print(f"{what}: {len(roots)} roots, {proofs.get('Go: HeapAlloc')}")
for text in bad:
    print("FAILED: " + text)
sys.exit(bad != [])
PYTHON
}

# see_types WHAT: values behind interfaces have types, and closures the names of their functions;
# what only plain pointers lead to has the type that code makes it of.
see_types()
{
    "$HEAPSNAP" types "$work/heap.snap" --json -n 0 >"$work/types.json" || fail "$1: types"
    python3 - "$work/types.json" <<'PYTHON' || fail "$1: types"
import json, sys
there = {row["type"]: row["objects"] for row in json.load(open(sys.argv[1]))["types"]}
exact = {"main.session": 5591, "goroutine main.stuck": 50, "main.order": 5385, "main.store": 1,
         "map[string]*main.session": 1, "map[int]*main.order": 1, "chan []uint8": 1,
         "[]*main.order": 1, "map[string]int": 3000, "main.cell": 500, "main.scratch": 200,
         "main.record": 400, "map[string]*main.record": 1, "[]sync.poolLocal": 1,
         "main.texture": 200, "main.zone": 2, "array behind a substring": 300}
wrong = {name: there.get(name, 0) for name, n in exact.items()
         if not n <= there.get(name, 0) <= n + n // 100 + 3}
closures = [name for name in there if name.startswith("closure main.main.func")]
print(f"{len(there)} types, {closures}")
sys.exit(f"wrong: {wrong}" if wrong else None if closures else "no closure is named")
PYTHON
}

# see_leaked WHAT: the goroutines that nothing can wake, by function, are those that the program has
# made so, in leaks and in suspects.
see_leaked()
{
    "$HEAPSNAP" leaks "$work/heap.snap" --json >"$work/leaks.json" 2>"$work/talk" ||
        fail "$1: leaks"
    "$HEAPSNAP" suspects "$work/heap.snap" --json >"$work/suspects.json" || fail "$1: suspects"
    python3 - "$work/log" "$work/leaks.json" "$work/suspects.json" <<'PYTHON' || fail "$1: leaked"
import json, sys
lines = [line.split() for line in open(sys.argv[1])]
said = {line[1]: int(line[2]) for line in lines if line[0] == "LEAKED"}
bad = []
for name in sys.argv[2:]:
    leaked = json.load(open(name))["leaked_goroutines"]
    there = {}
    for row in leaked["groups"]:
        there[row["function"]] = there.get(row["function"], 0) + row["count"]
        place = row["file"] is not None and row["file"].endswith("main.go") and row["line"] > 0
        if not place or not row["waits"].endswith(" in " + row["function"]):
            bad.append(f"{name}: {row}")
    if there != said or leaked["count"] != sum(said.values()):
        bad.append(f"{name}: {there}, not {said}")
    if not leaked["words"] * 8 > 2048 * leaked["count"]:
        bad.append(f"{name}: {leaked['words']} words, not even their stacks")
print(f"{sum(said.values())} leaked goroutines")
sys.exit("\n".join(bad) if bad else None)
PYTHON
}

# see_samples WHAT ROOT: the runtime has noted where each object was allocated: those of a function,
# kept by a variable, are as many as the program has made, and have the bytes that it has measured.
see_samples()
{
    "$HEAPSNAP" samples "$work/heap.snap" --group-by site,root --json -n 0 >"$work/samples.json" ||
        fail "$1: samples"
    python3 - "$work/samples.json" "$work/log" "$2" <<'PYTHON' || fail "$1: samples"
import json, sys
document, root = json.load(open(sys.argv[1])), sys.argv[3]
lines = [line.split() for line in open(sys.argv[2])]
said = {line[1]: int(line[2]) for line in lines if line[0] == "KEEPS"}
rows = [row for row in document["groups"]
        if "main.fillQueue" == row["site"]["function"] and root in (row["root"] or "")]
n = sum(row["n_samples"] for row in rows)
words = sum(row["estimated_words"] or 0 for row in rows)
print(f"{len(document['groups'])} groups, of fillQueue {n} samples, {words} words")
if not 1000 <= n <= 1003:
    sys.exit(f"{n} samples: {document['groups'][:9]}")
is_rated = document["samplers"][0]["estimated_words"] is not None # without symbols since 1.24
if (is_rated or root == "main.queue") and abs(words * 8 - said["main.queue"]) > 30000:
    sys.exit(f"{words} words: {document['groups'][:9]}")
PYTHON
}

start "$work/known"
dump
compare symbols names
see_samples symbols main.queue
see_leaked symbols
"$HEAPSNAP" leaks "$work/heap.snap" >"$work/said" 2>"$work/talk" || fail "leaks"
"$HEAPSNAP" suspects "$work/heap.snap" >>"$work/said" || fail "suspects"
for text in "160 goroutines wait for ever" "20 x main.lock, made at" "in main.await: "; do
    grep -q "$text" "$work/said" || { cat "$work/said"; fail "leaked: no '$text'"; }
done
[ "$(grep -c "160 goroutines wait for ever" "$work/said")" = 2 ] || fail "leaked: in one look alone"
rm -f "$work/heap.snap"*
dump --heaps all
compare all names
"$HEAPSNAP" info "$work/heap.snap" >"$work/said" || fail "info"
! grep -q "Go's runtime" "$work/said" || { cat "$work/said"; fail "its heap is not read"; }
see_types symbols
"$HEAPSNAP" paths "$work/heap.snap" --to type:main.session >"$work/said" || fail "paths"
grep -q 'main\.sessions' "$work/said" || { cat "$work/said"; fail "the path of a session"; }
"$HEAPSNAP" paths "$work/heap.snap" --to type:main.scratch >"$work/said" || fail "pool"
grep -q 'sync.Pool main.pool' "$work/said" && grep -q 'poolDequeue.vals' "$work/said" ||
    { cat "$work/said"; fail "the path of what is in a pool"; }
! grep -q '(main.pool)' "$work/said" || { cat "$work/said"; fail "a pool is called twice"; }
COLUMNS=1000 "$HEAPSNAP" suspects "$work/heap.snap" -n 0 >"$work/said" || fail "suspects"
tr -s ' \n' ' ' <"$work/said" | grep -q 'at main\.desk\.papers' ||
    { cat "$work/said"; fail "the member of what an interface's variable leads to"; }
"$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "roots"
python3 - "$work/roots.json" "$fixtures/go_known.go" <<'PYTHON' || fail "where timers are made"
import json, sys
lines = open(sys.argv[2]).read().split("\n")
made = [row for row in json.load(open(sys.argv[1]))["roots"]
        if row["name"] == "timers of time.NewTimer and time.After"]
sys.exit(not made or "time.After" not in lines[(made[0]["line"] or 1) - 1])
PYTHON
"$HEAPSNAP" types "$work/heap.snap" --group-by container >"$work/said" || fail "containers"
grep -q '3000.*entries of map\[string\]\*main.session' "$work/said" ||
    { cat "$work/said"; fail "the entries of a map"; }
"$HEAPSNAP" doctor "$pid" >"$work/said" 2>&1 || fail "doctor"
grep -q 'a program of Go 1\.' "$work/said" || { cat "$work/said"; fail "doctor"; }
"$HEAPSNAP" leaks "$work/heap.snap" >"$work/said" 2>&1 || fail "leaks"
! grep -q certain "$work/said" || { cat "$work/said"; fail "a certain leak in a collector's heap"; }
leave

cp "$work/known" "$work/bare"
strip "$work/bare"
python3 - "$work/bare" <<'PYTHON'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[40:48] = bytes(8)  # e_shoff
data[60:64] = bytes(4)  # e_shnum, e_shstrndx
open(sys.argv[1], "wb").write(data)
PYTHON
rm -f "$work/heap.snap"*
start "$work/bare"
dump
compare "without symbols and sections" package
see_types "without symbols and sections"
see_leaked "without symbols and sections"
see_samples "without symbols and sections" "package main"
leave

build pie -buildmode=pie -ldflags='-s -w'
start "$work/pie" busy
for _ in 1 2 3; do
    rm -f "$work/heap.snap"*
    dump
    compare busy package
    see_leaked busy
done
leave

# A version that is not known, and one that lies of itself, are refused in one sentence.
sed 's/go1\.\(19\|2[0-9]\)\./go1.99./g' "$work/known" >"$work/other"
chmod +x "$work/other"
start "$work/other"
"$HEAPSNAP" dump "$pid" -o "$work/other.snap" 2>"$work/talk" && fail "a heap of no known version"
grep -q "is a program of Go 1\.99\.[0-9]*, whose heap is not read" "$work/talk" ||
    { cat "$work/talk"; fail "the refusal"; }
[ ! -e "$work/other.snap" ] || fail "a snapshot was left"
leave
echo "Go: $(go version)"
