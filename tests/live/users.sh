#!/usr/bin/env bash
# Variables of a stripped library are told by the functions that use them.
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
roots = [r for r in json.load(open(sys.argv[1]))["roots"] if r["module"] == "libusers.so"]
told = {r["function"]: r["retained_words"] for r in roots if r["function"]}
untold = [r["retained_words"] for r in roots if not r["function"]]
print(told, untold)
sys.exit(len(roots) != 3 + 12 or set(told) != {"users_keep", "users_fill", "users_share"} or
         told["users_keep"] < (4 << 20) // 8 or told["users_fill"] != 1001 or
         sorted(untold) != [0] * 11 + [1001])
PYTHON
"$HEAPSNAP" roots "$work/heap.snap" | grep -q 'libusers.so, used by users_keep' || fail "table"
"$HEAPSNAP" suspects "$work/heap.snap" | tr '\n' ' ' | tr -s ' ' >"$work/suspects"
grep -q '1\. \.bss+0x[0-9a-f]* (libusers.so, used by users_keep) alone keeps' "$work/suspects" ||
    fail "$(cat "$work/suspects")"
grep -q '2\. 13 roots together (set:1: 12 of libusers.so, 1 of users) keep' "$work/suspects" ||
    fail "$(cat "$work/suspects")"
grep -q 'at \.bss+0x[0-9a-f]* (\(users\|libusers.so[^)]*\))\.' "$work/suspects" ||
    fail "$(cat "$work/suspects")"
