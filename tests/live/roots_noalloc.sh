#!/usr/bin/env bash
# parts: ocaml
# A [@@noalloc] C call in progress: its caller's frame is conservative, the frames above precise.
. "$(dirname "$0")/_roots.sh"
build roots_noalloc unix roots_noalloc.ml roots_noalloc_stubs.c
for variant in roots_noalloc roots_noalloc.stripped; do
    echo "$variant"
    start "$work/$variant"
    for _ in 1 2 3 4 5; do
        compare_roots "$variant"
    done
    stop_target
done
