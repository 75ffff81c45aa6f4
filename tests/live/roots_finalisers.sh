#!/usr/bin/env bash
# parts: ocaml
# Gc.finalise and Gc.finalise_last.
. "$(dirname "$0")/_roots.sh"
build roots_finalisers unix roots_finalisers.ml
check roots_finalisers
