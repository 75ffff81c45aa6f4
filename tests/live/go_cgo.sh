#!/usr/bin/env bash
# parts: go
# What C has lost in a Go program: the sentence says which functions call C, stripped or not; calls
# that only free are not told.
. "$(dirname "$0")/_native.sh"
need go cc

export GOCACHE=$BUILD_DIR/go-cache GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local HOME=$work
export CGO_ENABLED=1
case $(go env GOVERSION) in
go1.19* | go1.2[1-4]* | go1.2[67]*) ;;
*) echo "skipped: $(go env GOVERSION) is not read"; exit 77 ;;
esac
mkdir -p "$work/src"
cp "$fixtures/go_cgo.go" "$work/src/main.go"
printf 'module records\n\ngo 1.19\n' >"$work/src/go.mod"
for flags in "" "-s -w"; do
    (cd "$work/src" && go build -ldflags="$flags" -o "$work/records" .) || fail "building"
    start "$work/records"
    rm -f "$work/heap.snap"*
    dump --heaps all
    COLUMNS=1000 "$HEAPSNAP" suspects "$work/heap.snap" >"$work/said" || fail "suspects"
    tr -s ' \n' ' ' <"$work/said" >"$work/words"
    grep -q 'Lost, as no root leads to it' "$work/words" &&
        grep -q 'which Go calls in main.ask (CString, query_new, query_run)\.' "$work/words" ||
        { cat "$work/said"; fail "who calls C, of '$flags'"; }
    "$HEAPSNAP" info "$work/heap.snap" >"$work/said" || fail "info"
    grep -q 'C is called by main.ask' "$work/said" || { cat "$work/said"; fail "the note"; }
    leave
done
echo "$(go version): C"
