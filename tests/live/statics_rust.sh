#!/usr/bin/env bash
# Variables that a macro of Rust declares have the name that the program has for them, with and
# without debug information; those of Rust's own library keep only what nothing of the program does.
. "$(dirname "$0")/_native.sh"
need rustc
cp "$fixtures/statics_rust.rs" "$work/"

said_of()
{
    start "$work/$1" "$2"
    dump
    leave
    "$HEAPSNAP" suspects "$work/heap.snap" -n 1 >"$work/said" || fail "suspects"
    tr -s ' \n' '  ' <"$work/said" | grep -qE "$3" || fail "$1 $2: not '$3': $(cat "$work/said")"
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "roots"
    python3 - "$work/roots.json" <<'PYTHON' || fail "$1 $2: the tier of Rust's own variables"
import json, sys
own = [root for root in json.load(open(sys.argv[1]))["roots"]
       if root["kind"] in ("tls", "global") and (root["name"] or "").startswith("std::") and
       not root["name"].startswith("std::io::")] # whose buffers are its own
print([(root["name"], root["tier"]) for root in own])
sys.exit(any(root["tier"] == "firm" for root in own) or not own)
PYTHON
}

for rustc in $(rust_compilers); do
    "$rustc" --edition=2021 -g -O -o "$work/described" "$work/statics_rust.rs" 2>"$work/said" ||
        { cat "$work/said"; fail "building with $rustc"; }
    said_of described lazy '^.* 1\. statics_rust::REGISTRY .*6000 statics_rust::Plan'
    said_of described local '^.* 1\. statics_rust::PLANS .*6000 statics_rust::Plan'
    strip -g "$work/described" -o "$work/symbols"
    said_of symbols lazy '^.* 1\. statics_rust::REGISTRY .*alone keeps'
    said_of symbols local '^.* 1\. statics_rust::PLANS .*alone keeps'
done
