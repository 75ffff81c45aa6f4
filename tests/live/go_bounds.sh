#!/usr/bin/env bash
# parts: go
# Go programs at their bounds: each dump ends, with an answer or with a sentence that says why not.
# Very many goroutines; a map that grows all the time and is never collected; a program that begins
# and ends; versions that are not the program's; a module's tables that are gone; a program that was
# unpacked into memory.
. "$(dirname "$0")/_native.sh"
need go cc timeout nm

export GOCACHE=$BUILD_DIR/go-cache GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local HOME=$work
version=$(go env GOVERSION)
case $version in
go1.19* | go1.2[1-4]* | go1.2[67]*) ;;
*) echo "skipped: $version is not read"; exit 77 ;;
esac
mkdir -p "$work/src"
cp "$fixtures/go_bounds.go" "$work/src/main.go"
printf 'module bounds\n\ngo 1.19\n' >"$work/src/go.mod"
(cd "$work/src" && go build -o "$work/bounds" .) || fail "building"
limit=$([ -n "$SANITIZED" ] && echo 900 || echo 200)
small=$([ -n "$SANITIZED" ] && echo 10 || echo 1)

# ends WHAT [CODE...]: a dump of $pid ends in time, with one of these codes, and says why if it is
# not 0.
ends()
{
    local what=$1 code=0
    shift
    rm -f "$work/heap.snap"*
    timeout "$limit" "$HEAPSNAP" dump "$pid" -o "$work/heap.snap" 2>"$work/talk" || code=$?
    case " $* " in
    *" $code "*) ;;
    *) cat "$work/talk"; fail "$what: the dump ended with $code" ;;
    esac
    ended=$code
    if [ "$code" = 0 ]; then
        "$HEAPSNAP" check "$work/heap.snap" >/dev/null || fail "$what: check"
    else
        grep -q '^heapsnap: ' "$work/talk" || { cat "$work/talk"; fail "$what: no reason"; }
        [ ! -e "$work/heap.snap" ] || fail "$what: a snapshot was left"
    fi
}

n=$((100000 / small))
start "$work/bounds" many "$n"
ends "many goroutines" 0
"$HEAPSNAP" types "$work/heap.snap" --json -n 0 >"$work/types.json" || fail "types"
python3 - "$work/types.json" "$n" <<'PYTHON' || fail "many goroutines"
import json, sys
there = sum(row["objects"] for row in json.load(open(sys.argv[1]))["types"]
            if row["type"] == "goroutine main.wait")
print(f"{there} goroutines")
sys.exit(there != int(sys.argv[2]))
PYTHON
leave

# Garbage is never freed: a limit of memory ends it, not this test, which takes half a minute.
start env GOGC=off GOMEMLIMIT=1GiB "$work/bounds" grow $((200000 / small))
for i in 1 2 3 4; do
    ends "a map that grows, $i" 0
    "$HEAPSNAP" info "$work/heap.snap" >"$work/said" || fail "info"
    ! grep -q 'DOES NOT HOLD' "$work/said" || { cat "$work/said"; fail "a map that grows, $i"; }
done
leave

for i in 1 2 3 4 5 6 7 8; do # any moment of a short life
    "$work/bounds" end >/dev/null 2>&1 &
    pid=$!
    code=0
    rm -f "$work/heap.snap"*
    timeout "$limit" "$HEAPSNAP" dump "$pid" -o "$work/heap.snap" 2>"$work/talk" || code=$?
    case $code in
    0 | 3 | 4 | 6) ;;
    *) cat "$work/talk"; fail "a short life: $code" ;;
    esac
    wait "$pid" || fail "a short life does not end well"
    pid=""
done

# What says that it is of another version is refused, or all that is proved of its heap holds.
for minor in 19 21 22 23 24 26 27; do
    sed "s/go1\.\(19\|2[0-9]\)\./go1.$minor./g" "$work/bounds" >"$work/lies"
    chmod +x "$work/lies"
    start "$work/lies" many 100
    ends "says 1.$minor" 0 3
    if [ "$ended" = 0 ]; then
        "$HEAPSNAP" info "$work/heap.snap" >"$work/said" || fail "info"
        ! grep -q 'DOES NOT HOLD' "$work/said" || { cat "$work/said"; fail "says 1.$minor"; }
    fi
    echo "says 1.$minor: $ended $(head -1 "$work/talk")"
    leave
done

# The record that leads to all tables, gone in memory.
start "$work/bounds" many 100
kill -STOP "$pid"
at=$(nm "$work/bounds" | awk '$3 == "runtime.firstmoduledata" { print $1 }')
dd if="/proc/$pid/mem" bs=1 skip=$((16#$at)) count=552 of="$work/kept" status=none ||
    fail "reading the module"
dd if=/dev/zero of="/proc/$pid/mem" bs=1 seek=$((16#$at)) count=552 conv=notrunc status=none ||
    fail "damaging the module"
ends "a module without tables" 3
cat "$work/talk"
grep -q "the tables of the Go program 'bounds' were not found" "$work/talk" || fail "the reason"
dd if="$work/kept" of="/proc/$pid/mem" bs=1 seek=$((16#$at)) count=552 conv=notrunc status=none ||
    fail "mending the module"
ends "a module that is whole again" 0
kill -CONT "$pid"
leave

cc -O1 -fpie -pie -o "$work/packed" "$fixtures/go_packed.c" || fail "building"
start "$work/packed" "$work/bounds" many 1000
ends "unpacked into memory" 3
cat "$work/talk"
leave
echo "$version: bounds"
