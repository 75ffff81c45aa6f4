#!/usr/bin/env bash
# parts: ocaml
# Gc.Memprof of OCaml 5.3: every live id has its block, with its words; user data that is a block;
# the period that the profile's rate says.
. "$(dirname "$0")/_ocaml5.sh"
compare_flags=--with-static
. "$SOURCE_DIR/tests/live/_roots_check.sh"
build roots_memprof roots_memprof.ml
check roots_memprof
"$HEAPSNAP" info "$work/heap.snap" --json >"$work/info.json" || fail "info"
python3 - "$work/info.json" <<'END' || fail "the sampler's facts"
import json, sys
samplers = json.load(open(sys.argv[1]))["samplers"]
assert [(s["kind"], s["period_bytes"]) for s in samplers] == [("memprof", 800)], samplers
END
