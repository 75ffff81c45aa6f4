#!/usr/bin/env bash
# parts: watch
# Each dump of a watch leaves its key file, also when its snapshot is deleted; with --diff what grew
# is logged; 'heapsnap diff DIR' says the same of the whole series. With --no-keys there is none.
# --when 'growing>RATE' keeps the snapshots alone in which a key grows so fast.
. "$(dirname "$0")/_native.sh"
. "$(dirname "$0")/_watch.sh"
need gcc

# dumps N: waits for so many in the log, a round of the program before each; where `often` is set
# two a second, so that also on a busy machine there is one between any two looks.
often=
dumps()
{
    local n=$1 event=${2:-dump} i
    echo >&9
    for i in $(seq 900); do
        [ "$(cat "$work"/snaps/watch.log* 2>/dev/null | grep -c "event=$event")" -ge "$n" ] &&
            return
        sleep 0.1
        [ -z "$often" ] || [ $((i % 5)) != 0 ] || echo >&9
    done
    fail "no $event $n"
}

# watching OPTIONS...: four dumps, of which two stay.
watching()
{
    rm -rf "$work/snaps"
    "$HEAPSNAP" watch "$pid" --every 1s --keep 2 -q -o "$work/snaps" "$@" &
    watcher=$!
    for n in 1 2 3 4; do
        dumps "$n"
    done
    end_watch "$watcher"
}

cp "$fixtures/diff_leak.c" "$work/"
gcc -O1 -g -o "$work/server" "$work/diff_leak.c" || fail "building"
start "$work/server" leak
watching --diff
keys=$(find "$work/snaps" -name '*.snap.keys' | wc -l)
snaps=$(find "$work/snaps" -name '*.snap' | wc -l)
[ "$keys" -ge 3 ] && [ "$keys" -gt "$snaps" ] || fail "$keys key files of $snaps snapshots"
[ -z "$(find "$work/snaps" -name '*.idx*' -o -name '*.types*')" ] || fail "an index is left"
grep -q 'event=diff .*since=heap-.*verdict=".*"' "$work/snaps/watch.log" || fail "no event=diff"
grep -q 'event=growth .*snapshots=3 .*verdict=' "$work/snaps/watch.log" || fail "no event=growth"
grep 'event=warn' "$work/snaps/watch.log" && fail "a warning"
"$HEAPSNAP" diff "$work/snaps" --json >"$work/diff.json" || fail "diff of the folder"
python3 - "$work/diff.json" "$keys" <<'PYTHON' || fail "the series"
import json, sys
diff = json.load(open(sys.argv[1]))
print(diff["verdict"])
assert len(diff["snapshots"]) == int(sys.argv[2]), diff["snapshots"]
assert any(row["key"].startswith("server.sessions") for row in diff["keys"])
PYTHON
watching
[ "$(find "$work/snaps" -name '*.snap.keys' | wc -l)" -ge 3 ] || fail "no keys by default"
grep -q 'event=\(diff\|growth\)' "$work/snaps/watch.log" && fail "growth that nobody asked for"
watching --no-keys
[ -z "$(find "$work/snaps" -name '*.keys')" ] || fail "keys that nobody asked for"
grep 'event=warn' "$work/snaps/watch.log" && fail "a warning without keys"
for wrong in "--diff" "--when=growing>1/s"; do
    status=0
    "$HEAPSNAP" watch "$pid" --no-keys "$wrong" -o "$work/never" 2>"$work/said" || status=$?
    [ "$status" = 2 ] || fail "--no-keys $wrong: $status, $(cat "$work/said")"
done

# looking RATE: four dumps and more; of them the number that stayed.
looking()
{
    rm -rf "$work/snaps"
    "$HEAPSNAP" watch "$pid" --every 1s --keep 0 -q -o "$work/snaps" --when "growing>$1" &
    watcher=$!
    for n in 1 2 3; do
        dumps "$n" look
    done
    dumps "$2" "$3"
    end_watch "$watcher"
    [ "$(find "$work/snaps" -name '*.snap.keys' | wc -l)" -ge 4 ] || fail "$1: no keys"
    [ "$(find "$work/snaps" -name '*.snap' | wc -l)" = \
        "$(grep -c 'event=dump' "$work/snaps/watch.log")" ] || fail "$1: snapshots and log"
    [ -z "$(find "$work/snaps" -name '*.idx*' -o -name '*.types*')" ] || fail "$1: an index is left"
}
# It leaks 150 sessions a round, and there is a round before each dump.
often=yes
looking 1KiB/h 1 dump
grep -q 'event=dump .*when=growing>1024/h bytes_per_hour=[0-9]* key=' "$work/snaps/watch.log" ||
    fail "why it stayed: $(cat "$work/snaps/watch.log")"
looking 900TiB/s 5 look
grep -q 'event=dump' "$work/snaps/watch.log" && fail "a snapshot stayed"
grep -q 'event=look .*bytes_per_hour=[0-9]* key=' "$work/snaps/watch.log" || fail "no rate"
leave
