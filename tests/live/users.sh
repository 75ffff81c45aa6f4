#!/usr/bin/env bash
# Variables of a stripped library are told by the functions that use them; the many words of an
# array are one; and to what has no name nothing is attributed.
. "$(dirname "$0")/_native.sh"
need gcc
[ "$(uname -m)" = x86_64 ] || { echo "skipped: code of x86-64 alone is decoded"; exit 77; }

gcc -O2 -fPIC -shared "$fixtures/users_lib.c" -o "$work/libusers.so" || fail "building"
gcc -O2 "$fixtures/users_main.c" -o "$work/users" -L"$work" -lusers -Wl,-rpath,"$work" ||
    fail "building"
strip -s "$work/libusers.so" "$work/users"
start "$work/users"
dump
"$HEAPSNAP" roots "$work/heap.snap" --json >"$work/roots" || fail "roots"
python3 - "$work/roots" <<'PYTHON' || { cat "$work/roots"; fail "roots"; }
import json, sys
listing = json.load(open(sys.argv[1]))
# of a place in a section, in thread-local storage or of a key nobody says that it owns
places = {r["name"].split("+")[0]: r["retained_words"] for r in listing["roots"]}
assert places["TLS of users"] > 1 << 17 and places["pthread_setspecific key 0"] > 1 << 17, places
assert listing["attributed_words"] < 1 << 12, listing["attributed_words"]
roots = [r for r in listing["roots"] if r["module"] == "libusers.so"]
told = {r["function"]: r["retained_words"] for r in roots if r["function"]}
untold = [r["retained_words"] for r in roots if not r["function"]]
print(told, untold)
# the twelve words of one array are one root, of which each has its own name
pools = [r for r in roots if r["function"] == "users_share"]
sys.exit(len(roots) != 4 or set(told) != {"users_keep", "users_fill", "users_share"} or
         told["users_keep"] < (4 << 20) // 8 or told["users_fill"] != 1001 or
         untold != [1001] or [" to +0x" in r["name"] for r in pools] != [True])
PYTHON
"$HEAPSNAP" roots "$work/heap.snap" | grep -q 'libusers.so, used by users_keep' || fail "table"
"$HEAPSNAP" suspects "$work/heap.snap" | tr '\n' ' ' | tr -s ' ' >"$work/suspects"
grep -q '1\. \.bss+0x[0-9a-f]* (libusers.so, used by users_keep) alone keeps' "$work/suspects" ||
    fail "$(cat "$work/suspects")"
grep -q '2\. 2 roots together (set:1: [^)]*\.bss+0x[0-9a-f]* to +0x[0-9a-f]*[^)]*) keep' \
    "$work/suspects" ||
    fail "$(cat "$work/suspects")"
grep -q 'at \.bss+0x[0-9a-f]* \(of users\|used by users_[a-z]*\)\.' "$work/suspects" ||
    fail "$(cat "$work/suspects")"
# a path says which word of the array it begins with
"$HEAPSNAP" paths "$work/heap.snap" --to set:1 |
    grep -q '\.bss+0x[0-9a-f]* (libusers.so, used by users_share)' ||
    fail "$("$HEAPSNAP" paths "$work/heap.snap" --to set:1)"
