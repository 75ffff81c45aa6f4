#!/usr/bin/env bash
# Memory that is not all read, because its pages lie apart in too many places, or because it is a
# large map of a file, more signals or full pipes than are looked at in a stop, and files of a
# thread that are not those of all: what only they hold is no certain leak, and the row says why.
. "$(dirname "$0")/_native.sh"
need gcc

gcc -O1 -g -pthread -o "$work/blind" "$fixtures/blind.c" || fail "building"
# blind REASON [FILE]
blind()
{
    local reason=$1
    shift
    rm -f "$work/log"
    "$work/blind" "$@" >"$work/log" &
    pid=$!
    for _ in $(seq 300); do grep -qs READY "$work/log" && break; sleep 0.1; done
    dump
    kill "$pid"
    wait "$pid" 2>/dev/null || true
    "$HEAPSNAP" leaks "$work/heap.snap" --json -n 0 >"$work/leaks.json" || fail "leaks"
    python3 - "$work/leaks.json" "$reason" <<'PYTHON' || fail "$reason"
import json, sys
groups = json.load(open(sys.argv[1]))["groups"]
certain = sum(g["count"] for g in groups if g["certainty"] == "certain")
why = [g["why"] for g in groups]
print(f"{certain} certain leaks; {why}")
n_lost = sum(g["count"] for g in groups if g["words_each"] == 25)
sys.exit(certain != 0 or n_lost < 97 or not any(sys.argv[2] in text for text in why))
PYTHON
}
blind "protected or shared memory was not all read"
blind "large private maps of files were not read" "$work/file"
blind "waits in pipes, sockets or signals could not all be seen" signals
blind "waits in pipes, sockets or signals could not all be seen" pipes
blind "messages wait in a queue" mqueue
blind "messages wait in a queue" notify
if [ -r /proc/sysvipc/msg ]; then
    blind "messages wait in a queue" msg
fi
blind "not all files that threads have open could be looked into" table
blind "not all files that threads have open could be looked into" thread
