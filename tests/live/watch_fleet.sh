#!/usr/bin/env bash
# parts: export watch
# watch --export parquet: every dump as tables, in the layout of 'export --to parquet'; also of
# dumps whose snapshots go. What cannot be written is said and does not end the watch. (That engines
# read the tables is oracles/fleet.sh's.)
. "$(dirname "$0")/_native.sh"
. "$(dirname "$0")/_watch.sh"
need gcc

cp "$fixtures/diff_leak.c" "$work/"
gcc -O1 -g -o "$work/server" "$work/diff_leak.c" || fail "building"
start "$work/server" leak

# until_log PATTERN N: waits for so many lines of this kind, with a round of the program for each.
until_log()
{
    for _ in $(seq 900); do
        [ "$(cat "$work"/snaps/watch.log* 2>/dev/null | grep -c "$1")" -ge "$2" ] && return
        sleep 0.1
    done
    fail "no $2 times '$1': $(cat "$work/snaps/watch.log")"
}

watching()
{
    rm -rf "$work/snaps"
    mkdir "$work/snaps"
    chmod 700 "$work/snaps"
    [ -z "${blocked:-}" ] || : >"$work/snaps/host=$blocked"
    "$HEAPSNAP" watch "$pid" --every 500ms --keep 1 -q -o "$work/snaps" \
        --export "${format:-parquet}" "$@" &
    watcher=$!
}

watching --host web-1 --service "a shop"
until_log event=dump 3
end_watch "$watcher"
tables=$(find "$work/snaps/host=web-1/service=a%20shop" -name '*.parquet')
times=$(find "$work/snaps" -name 'time=*' | wc -l)
[ "$times" -ge 3 ] || fail "$times dumps as tables"
[ "$(find "$work/snaps" -name '*.snap' | wc -l)" = 1 ] || fail "--keep 1"
for name in snapshots keys roots sets types; do
    [ "$(grep -c "/$name.parquet" <<<"$tables")" = "$times" ] || fail "$name: $tables"
done
grep -q 'leaks\|blocks' <<<"$tables" && fail "tables that nobody asked for: $tables"
grep 'event=warn' "$work/snaps/watch.log" && fail "a warning"
[ -z "$(find "$work/snaps" -name '*.idx*' -o -name '*.types*')" ] || fail "an index is left"

# The same bytes as an export of the snapshot that stayed.
"$HEAPSNAP" export "$(find "$work/snaps" -name '*.snap')" --to parquet -o "$work/again" \
    --host web-1 --service "a shop" --tables snapshots,keys,roots,sets,types || fail "export"
(cd "$work/again" && find . -name '*.parquet') | while read -r file; do
    cmp "$work/again/$file" "$work/snaps/$file" || exit 1
done || fail "other tables than export writes"
[ "$(find "$work/again" -name '*.parquet' | wc -l)" = 5 ] || fail "five tables"

# Of dumps for their keys alone, too; without keys; the tables that are asked for.
watching --host h --tables keys --when 'growing>900TiB/s'
until_log event=look 2
end_watch "$watcher"
[ "$(find "$work/snaps" -name keys.parquet | wc -l)" -ge 2 ] || fail "tables of looks"
[ "$(find "$work/snaps" -name '*.parquet' | wc -l)" = \
    "$(find "$work/snaps" -name keys.parquet | wc -l)" ] || fail "--tables keys"
watching --host h --no-keys
until_log event=dump 2
end_watch "$watcher"
[ -z "$(find "$work/snaps" -name '*.keys')" ] || fail "key files with --no-keys"
[ "$(find "$work/snaps" -name keys.parquet | wc -l)" -ge 2 ] || fail "tables with --no-keys"

# A file where a directory must be: said of each dump, and there are more of them.
blocked=h watching --host h
until_log 'event=warn .*no tables of this dump: cannot make the directory' 2
until_log event=dump 3
end_watch "$watcher"
grep "event=warn.*/proc/" "$work/snaps/watch.log" && fail "the message names a descriptor"

# The figures of the last dump, in one file that a collector may read.
format=prometheus watching --service "a shop" --mode 644 --no-keys
until_log event=dump 2
end_watch "$watcher"
[ "$(cd "$work/snaps" && echo *.prom)" = heapsnap.prom ] || fail "$(ls "$work/snaps")"
[ "$(stat -c %a "$work/snaps/heapsnap.prom")" = 644 ] || fail "--mode"
"$HEAPSNAP" export "$(find "$work/snaps" -name '*.snap')" --to prometheus --service "a shop" |
    cmp - "$work/snaps/heapsnap.prom" || fail "other figures than of the last dump"
grep -q '^heapsnap_heap_bytes{service="a shop"} [1-9]' "$work/snaps/heapsnap.prom" || fail "figures"
! grep 'event=warn' "$work/snaps/watch.log" || fail "a warning"
status=0
"$HEAPSNAP" watch "$pid" --export prometheus --tables keys -o "$work/never" 2>"$work/said" ||
    status=$?
[ "$status" = 2 ] || fail "--tables of prometheus: $status, $(cat "$work/said")"

for wrong in "--host=h" "--tables=keys" "--no-addresses"; do
    status=0
    "$HEAPSNAP" watch "$pid" "$wrong" -o "$work/never" 2>"$work/said" || status=$?
    [ "$status" = 2 ] || fail "$wrong: $status, $(cat "$work/said")"
done
[ ! -e "$work/never" ] || fail "something was begun"
leave
