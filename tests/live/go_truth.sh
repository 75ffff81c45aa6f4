#!/usr/bin/env bash
# parts: go
# What Go's runtime counts of itself, against what is listed: HeapAlloc and the number of objects of
# runtime.MemStats to the byte, instances of types as the program counts them; with symbols and
# without, at rest and in six dumps at work. Of the installed Go, and of each root of $HS_GO_ROOTS.
. "$(dirname "$0")/_native.sh"
roots=${HS_GO_ROOTS:-}
installed=$(command -v go >/dev/null && go env GOROOT) && roots="$installed $roots"
[ -n "$roots" ] || { echo "skipped: no go"; exit 77; }

export GOCACHE=$BUILD_DIR/go-cache GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local HOME=$work
mkdir -p "$work/src"
cp "$fixtures/go_truth.go" "$work/src/main.go"
printf 'module truth\n\ngo 1.19\n' >"$work/src/go.mod"

# ask: what the program counts now, in $told.
ask()
{
    local n
    n=$(grep -c '^HEAP' "$work/log" || true)
    printf x >&9
    for _ in $(seq 300); do
        if [ "$(grep -c '^HEAP' "$work/log")" -gt "$n" ]; then
            told=$(grep '^HEAP' "$work/log" | tail -1)
            return
        fi
        sleep 0.05
    done
    fail "no answer"
}

# compare WHAT [HEAP BYTES OBJECTS]: the proofs hold, and the instances are there; of a program at
# rest also what it has told.
compare()
{
    "$HEAPSNAP" info "$work/heap.snap" --json >"$work/info.json" || fail "$1: info"
    python3 - "$work/info.json" "$@" <<'PYTHON' || fail "$1: counts"
import json, sys
proofs = {proof["what"]: proof for proof in json.load(open(sys.argv[1]))["proofs"]}
bad = [f"{name}: {proof}" for name, proof in proofs.items() if not proof["holds"]]
there = [proofs[name]["found"] for name in ("Go: HeapAlloc", "Go: Mallocs - Frees")]
if len(proofs) < 5:
    bad.append(f"the proofs {list(proofs)}")
if len(sys.argv) > 3 and there != [int(n) for n in sys.argv[4:6]]:
    bad.append(f"{there} are listed, the program counts {sys.argv[4:6]}")
print(f"{sys.argv[2]}: {there[0]} bytes, {there[1]} objects")
print("\n".join("FAILED: " + text for text in bad) or "its proofs hold")
sys.exit(bad != [])
PYTHON
    types_are "$1"
}

# at_rest WHAT PROGRAM: a dump between two questions that have the same answer.
at_rest()
{
    local before
    start "$2"
    for _ in 1 2 3 4 5; do
        ask
        before=$told
        rm -f "$work/heap.snap"*
        dump
        ask
        [ "$told" != "$before" ] || break
    done
    [ "$told" = "$before" ] || fail "$1: it is never at rest"
    # shellcheck disable=SC2086
    compare "$1" $told
    leave
}

# at_work WHAT PROGRAM: six dumps at any moment. One of which a proof does not hold, and which says
# so, is made once more: all copies of it may have come at a bad moment.
at_work()
{
    local i
    start "$2" busy
    for i in 1 2 3 4 5 6; do
        for _ in 1 2 3; do
            rm -f "$work/heap.snap"*
            dump
            "$HEAPSNAP" info "$work/heap.snap" >"$work/said" || fail "info"
            grep -q 'DOES NOT HOLD' "$work/said" || break
            echo "$1, at work $i: once more"
        done
        compare "$1, at work $i"
    done
    leave
}

n=0
for root in $roots; do
    go=$root/bin/go
    version=$(GOROOT=$root "$go" env GOVERSION)
    case $version in
    go1.19* | go1.2[1-4]* | go1.2[67]*) ;;
    *) echo "$version is not read"; continue ;;
    esac
    (cd "$work/src" && GOROOT=$root "$go" build -o "$work/whole" . &&
        GOROOT=$root "$go" build -ldflags='-s -w' -o "$work/bare" .) || fail "building by $version"
    at_rest "$version" "$work/whole"
    at_rest "$version, stripped" "$work/bare"
    at_work "$version" "$work/whole"
    at_work "$version, stripped" "$work/bare"
    n=$((n + 1))
done
[ "$n" != 0 ] || { echo "skipped: no version that is read"; exit 77; }
echo "$n versions of Go"
