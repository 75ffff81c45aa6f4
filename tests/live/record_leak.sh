#!/usr/bin/env bash
# parts: record
# A leaking C++ server under record, under load: one command names who allocated the leak and the
# global that keeps it, and its estimate covers the server's own truth.
. "$(dirname "$0")/_native.sh"
need g++
[ -e "$BUILD_DIR/bin/libheapsnap-record.so" ] || skip "no recorder in this build"
requests=${HS_LEAK_REQUESTS:-120000}
rounds=${HS_LEAK_ROUNDS:-3}
pause=${HS_LEAK_PAUSE:-0}

cp "$fixtures/record_leak.cpp" "$work/"
g++ -O2 -g -pthread -o "$work/shop" "$work/record_leak.cpp" ||
    fail "building"

# truths N: the server has told so many.
truths()
{
    for _ in $(seq 1200); do
        [ "$(grep -c truth "$work/log")" -ge "$1" ] && return
        sleep 0.1
    done
    fail "the server does not answer: $(cat "$work/recorder")"
}

# run NAME OPTIONS...: a whole life of the server with a dump in the middle.
run()
{
    local name=$1
    shift
    mkfifo "$work/requests.$name"
    : >"$work/log"
    "$HEAPSNAP" record --rate 64KiB -o "$work/$name.trace" "$@" -- "$work/shop" \
        <"$work/requests.$name" >"$work/log" 2>"$work/recorder" &
    recorder=$!
    exec 9>"$work/requests.$name"
    for round in $(seq "$rounds"); do
        echo "serve $requests" >&9
        truths "$round"
        sleep "$pause"
    done
    pid=$(pgrep -P "$recorder" -x shop) || fail "no server"
    dump
    mv "$work/heap.snap" "$work/$name.snap"
    exec 9>&-
    wait "$recorder" || fail "record: $(cat "$work/recorder")"
}

# compare SNAPSHOT OPTIONS...: the cross table against the truth.
compare()
{
    local name=$1
    shift
    "$HEAPSNAP" samples "$work/$name.snap" --group-by site,root --json "$@" \
        >"$work/table.json" || fail "samples"
    python3 - "$work/log" "$work/table.json" "$name $*" <<'PYTHON' || fail "$name $*"
import json, sys
table = json.load(open(sys.argv[2]))
truth = [int(word) for word in open(sys.argv[1]).read().split("truth")[-1].split()[:2]]
rows = table["groups"]
leak = [row for row in rows if row["site"]["function"].split("::")[-1] in
        ("copy_body", "forget_to_answer")]
assert leak, "no row names the leaking site: " + json.dumps(rows[:3])
first = max(rows, key=lambda row: row["estimated_words"])
assert "copy_body" in first["site"]["function"], "the first row is " + json.dumps(first)
assert first["site"]["file"].endswith("record_leak.cpp") and first["site"]["line"] > 0
for row in leak:
    assert row["root"].endswith("unanswered"), "kept by " + row["root"]
words = sum(row["estimated_words"] for row in leak)
error = sum(row["error_words"] ** 2 for row in leak) ** 0.5
# A chance of 1 in 10^6 with an error that is itself an estimate.
print(sys.argv[3], "leaked: estimated %d +- %d words, truth %d" % (words, error, truth[0] // 8))
assert abs(words - truth[0] / 8) < 5 * error, "not covered"
assert error < truth[0] / 8 / 4, "an error that large tells nothing"
PYTHON
}

run plain
compare plain
compare plain --trace "$work/plain.trace"
"$HEAPSNAP" samples "$work/plain.snap" --group-by site,root --trace "$work/plain.trace" -n 4
