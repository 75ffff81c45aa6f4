#!/usr/bin/env bash
# parts: ocaml python record
# The sessions of README.md, docs/guide.md and docs/answers.md are what their commands print of
# Debian's redis-server, python3 and coqtop and of examples, but for figures.
set -euo pipefail
redis-server --version 2>/dev/null | grep 'v=7\.0\.' >/dev/null &&
    coqtop --version 2>/dev/null | grep 'version 8\.16\.' >/dev/null &&
    /usr/bin/python3 --version 2>/dev/null | grep ' 3\.11\.' >/dev/null ||
    { echo "skipped: the guide shows redis 7.0, Coq 8.16 and Python 3.11"; exit 77; }
exec python3 -B "$SOURCE_DIR/scripts/guide" --check
