#!/usr/bin/env bash
# parts: ocaml
# A plugin loaded by Dynlink: dynamic globals, and frames with tables of the plugin.
. "$(dirname "$0")/_roots.sh"
cp "$fixtures/roots_plugin.ml" "$work/"
(cd "$work" && ocamlfind ocamlopt -w -a -g -shared roots_plugin.ml -o roots_plugin.cmxs) ||
    fail "building the plugin"
build roots_dynlink dynlink roots_dynlink.ml roots_dynlink_stubs.c
check roots_dynlink "$work/roots_plugin.cmxs"
strip "$work/roots_plugin.cmxs"
check roots_dynlink "$work/roots_plugin.cmxs"
