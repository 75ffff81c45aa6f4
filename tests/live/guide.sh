#!/usr/bin/env bash
# The first session of docs/guide.md is what its commands print of Debian's redis-server, but for
# figures.
set -euo pipefail
redis-server --version 2>/dev/null | grep 'v=7\.0\.' >/dev/null ||
    { echo "skipped: the guide shows redis 7.0"; exit 77; }
exec python3 -B "$SOURCE_DIR/scripts/guide" --check
