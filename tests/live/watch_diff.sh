#!/usr/bin/env bash
# watch --diff: each dump leaves its key file, also when its snapshot is deleted; what grew is
# logged; 'heapsnap diff DIR' says the same of the whole series. Without --diff there is none.
. "$(dirname "$0")/_native.sh"
need gcc

# dumps N: waits for so many in the log, a round of the program before each.
dumps()
{
    local n=$1
    echo >&9
    for _ in $(seq 900); do
        [ "$(cat "$work"/snaps/watch.log* 2>/dev/null | grep -c 'event=dump')" -ge "$n" ] && return
        sleep 0.1
    done
    fail "no dump $n"
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
    kill "$watcher"
    wait "$watcher" || fail "the watch"
}

cp "$fixtures/diff_leak.c" "$work/"
gcc -O1 -g -o "$work/server" "$work/diff_leak.c" || fail "building"
start "$work/server" leak
watching --diff
keys=$(find "$work/snaps" -name '*.snap.keys' | wc -l)
snaps=$(find "$work/snaps" -name '*.snap' | wc -l)
[ "$keys" -ge 3 ] && [ "$keys" -gt "$snaps" ] || fail "$keys key files of $snaps snapshots"
[ -z "$(find "$work/snaps" -name '*.idx*')" ] || fail "an index is left"
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
[ -z "$(find "$work/snaps" -name '*.keys')" ] || fail "keys that nobody asked for"
leave
