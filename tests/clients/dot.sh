# parts: export
# Graphviz draws what we write, of all roots and of one object.
. "$(dirname "$0")/_client.sh"
need dot

draws()
{
    dot -Tsvg "$work/heap.dot" -o "$work/heap.svg" 2>"$work/dot.err" ||
        fail "$(cat "$work/dot.err")"
    [ ! -s "$work/dot.err" ] || fail "it complains: $(head -3 "$work/dot.err")"
    n=$(grep -c 'class="node"' "$work/heap.svg")
    [ "$n" -ge 3 ] && [ "$n" -le 200 ] || fail "$n nodes"
}

export_to dot
draws
export_to dot --of root:sessions
draws
grep -qF 'sessions' "$work/heap.svg" || fail "not the root"
node=$("$HEAPSNAP" sql "$heap" --format tsv 'select id from blocks where type = "struct session"
    order by id limit 1' 2>/dev/null | tail -1)
if [ -n "$node" ]; then
    export_to dot --of "#$node"
    draws
    grep -q 'style=dashed' "$work/heap.dot" || fail "nobody points to a session"
fi
exits 2 export "$heap" --to dot --of nothing_like_this
exits 2 export "$heap" --to folded --of root:sessions
