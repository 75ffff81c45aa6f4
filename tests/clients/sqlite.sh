# parts: sql export
# sqlite3 opens our databases: sums, names, addresses above 2^63, edges.
. "$(dirname "$0")/_client.sh"
need sqlite3
heapsnap export "$heap" --to sqlite -o "$work/heap.sqlite"
if [ "$code" = 2 ] && grep -q 'without SQLite' "$work/err"; then skip "built without SQLite"; fi
export_to sqlite

# is VALUE SQL
is()
{
    local found
    found=$(sqlite3 -readonly "$work/heap.sqlite" "$2" 2>&1) || fail "$2: $found"
    same "$2" "$found" "$1"
}
is ok "pragma integrity_check"
is "$heap_bytes" "select 8 * sum(words) from blocks where not static"
is "$heap_bytes" "select 8 * sum(words) from keys"
is "$heap_objects" "select count(*) from blocks where not static"
is "$heap_bytes" "select 8 * words from snapshots"
is 0xffffffffffff0000 "select printf('0x%x', address) from blocks where static"
is "struct session|320|40" "select type, 8 * sum(words) / 4, count(*) from blocks
    where type = 'struct session' group by type"
is 318 "select line from roots where name = 'sessions' and target is not null"
is 3 "select count(*) from blocks where tier is null and idom is null"
is 40 "select count(*) from edges where class = 'exact' and offset = 24 and src in
    (select id from blocks where type = 'struct session')"
"$HEAPSNAP" export "$heap" --to graph -o "$work/graph"
edges=$(awk -F'\t' 'NR == FNR { if ($3 != 0) block[$1] = 1; next } block[$1]' \
    "$work/graph/nodes.tsv" "$work/graph/edges.tsv" | wc -l)
is "$edges" "select count(*) from edges where src in (select id from blocks)"
