#!/usr/bin/env bash
# parts: ocaml
# Globals, stack locals under a deep recursion, C roots of every list, a named value, C locals.
. "$(dirname "$0")/_roots.sh"
build roots_basic unix roots_basic.ml roots_basic_stubs.c
check roots_basic
