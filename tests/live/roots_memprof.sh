#!/usr/bin/env bash
# parts: ocaml
# Gc.Memprof: sampled ids and user data that is a block.
. "$(dirname "$0")/_roots.sh"
build roots_memprof unix roots_memprof.ml
check roots_memprof
