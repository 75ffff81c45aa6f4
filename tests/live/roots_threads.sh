#!/usr/bin/env bash
# parts: ocaml
# Systhreads blocked in a sleep, a condition, a read and a mutex: stacks and the scan hook's roots.
. "$(dirname "$0")/_roots.sh"
build roots_threads unix,threads.posix roots_threads.ml
check roots_threads
