#!/usr/bin/env bash
# Lost records of a library without debug information have its names, by lines of a rule file; and
# what is lost is told first also where no leak can be certain: one end of a connection may have it.
. "$(dirname "$0")/_native.sh"
need gcc
echo '#include <json-c/json.h>' | gcc -E -xc - >/dev/null 2>&1 ||
    { echo "skipped: no json-c/json.h"; exit 77; }
gcc -O1 -g -o "$work/records" "$fixtures/records.c" -ljson-c || fail "building"

# first PATTERN: the first sentence has it, its lines joined. A stale word may keep one of them.
first()
{
    "$HEAPSNAP" suspects "$work/heap.snap" >"$work/said" || fail "suspects"
    tr -s ' \n' ' ' <"$work/said" | grep -qE "$1" || fail "not '$1': $(cat "$work/said")"
    rm -f "$work"/heap.snap*
}

start "$work/records" 500
dump
first "1[.] Lost, as no root leads to it: "
dump
first "of the heap: (500|49.) json_object \(object\), "
dump --rules=-records
first "of the heap: [0-9]+ blocks of 56 bytes, "
leave

start "$work/records" 500 blind
dump
first "1[.] Lost, as far as could be read, as no root leads to it: "
dump
first "of the heap: (500|49.) json_object \(object\), "
dump
first "certainty possible"
leave
