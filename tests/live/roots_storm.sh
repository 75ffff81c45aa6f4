#!/usr/bin/env bash
# parts: ocaml
# 110 stops at arbitrary instructions, 220 with HS_LONG: each is exact, or says what it could not
# make exact; the target lives on every time.
. "$(dirname "$0")/_roots.sh"
build roots_storm unix,threads.posix roots_storm.ml

# storm VARIANT MODE STOPS: half as many, but with HS_LONG. The target never waits: the dumps are
# judged when it is there no more.
storm()
{
    local variant=$1 mode=$2 stops=$(($3 / 2)) exact=0 stated=0 snap
    [ -z "${HS_LONG:-}" ] || stops=$3
    start "$work/$variant" "$mode"
    for i in $(seq "$stops"); do
        "$HEAPSNAP" dump "$pid" --no-names -o "$work/$i.snap" 2>"$work/said" ||
            fail "dump: $(cat "$work/said")"
        kill -0 "$pid" || fail "the target did not survive the dump"
    done
    "$HEAPSNAP" dump "$pid" --no-names -o "$work/last.snap" 2>"$work/said" ||
        fail "the target died: $(cat "$work/said")"
    stop_target
    for i in $(seq "$stops"); do
        snap=$work/$i.snap
        "$HEAPSNAP" roots "$snap" --json -n 0 >"$work/$i.json" || fail "roots"
        rm -f "$snap".*
    done
    python3 "$compare" --each "$work/log" "$work"/*.json >"$work/inexact" ||
        fail "comparing: $(cat "$work/inexact")"
    exact=$((stops - $(wc -l <"$work/inexact")))
    while read -r snap said; do
        if "$HEAPSNAP" info "${snap%.json}.snap" --json | python3 -c '
import json, sys
sys.exit(not any(note["gap"] for note in json.load(sys.stdin)["notes"]))'; then
            stated=$((stated + 1))
        else
            fail "$variant $mode: inexact and silent: $said"
        fi
    done <"$work/inexact"
    rm -f "$work"/*.json "$work"/*.snap*
    echo "$variant $mode: $stops stops, $exact exact, $stated said that they are not"
    [ "$exact" -ge $((stops * 9 / 10)) ] || fail "$variant $mode: too few stops are exact"
}

storm roots_storm pure 30
storm roots_storm alloc 80
storm roots_storm.stripped alloc 30
storm roots_storm churn 40
storm roots_storm threads 40
