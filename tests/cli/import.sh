# import, and export --to v8: what they refuse, and that a heap survives the way there and back.
. "$(dirname "$0")/lib.sh"

corpus=$SOURCE_DIR/tests/fuzz/corpus
v8=$corpus/importv8/all_kinds.heapsnapshot
hprof=$corpus/importhprof/id8.hprof

# Usage.
exits 2 import "$v8" -o "$work/x.snap"
says "'import' needs --from FORMAT"
exits 2 import --from v8 --policy mat "$v8" -o "$work/x.snap"
hints "the default is 'devtools'"
exits 2 import --from hprof --weakmap key "$hprof" -o "$work/x.snap"
says "--weakmap says nothing about such a file"
exits 2 import --from v8 --sizes visualvm "$v8" -o "$work/x.snap"
exits 2 import --from graph --policy all "$work" -o "$work/x.snap"
exits 2 import --from java "$hprof" -o "$work/x.snap"

# What is not such a file, and what is not there: no snapshot is left.
exits 4 import --from hprof "$v8" -o "$work/x.snap"
exits 4 import --from v8 "$hprof" -o "$work/x.snap"
exits 5 import --from v8 "$work/none" -o "$work/x.snap"
exits 5 import --from graph "$work" -o "$work/x.snap"
[ ! -e "$work/x.snap" ] || fail "a snapshot was left"

# From a pipe, to a pipe; what was chosen is told.
"$HEAPSNAP" import --from v8 - --weak drop <"$v8" 2>/dev/null | cat >"$work/piped.snap"
exits 0 info "$work/piped.snap"
grep -q 'policy devtools: weak drop, shortcuts drop, weakmap key' "$work/out" ||
    fail "info does not tell the policy: $(cat "$work/out")"
exits 0 check "$work/piped.snap"

# A rule makes a difference.
exits 0 import --from hprof "$hprof" -o "$work/java.snap"
exits 0 roots "$work/java.snap" --json
grep -q '"Shop.all"' "$work/out" || fail "no static field"
exits 0 import --from hprof "$hprof" --statics class -o "$work/class.snap"
exits 0 roots "$work/class.snap" --json
! grep -q '"Shop.all"' "$work/out" || fail "a static field that should not be a root"

# To tables and back: the same tables again.
golden=$SOURCE_DIR/tests/golden
for snap in "$work"/{java,piped}.snap "$golden"/{example,native}.snap; do
    cp "$snap" "$work/there.snap"
    rm -rf "$work/one" "$work/two" "$work"/*.idx
    exits 0 export "$work/there.snap" --to graph -o "$work/one"
    exits 0 import --from graph "$work/one" -o "$work/back.snap"
    exits 0 check "$work/back.snap"
    exits 0 export "$work/back.snap" --to graph -o "$work/two"
    cmp "$work/one/nodes.tsv" "$work/two/nodes.tsv" || fail "other nodes of $snap"
    cmp "$work/one/edges.tsv" "$work/two/edges.tsv" || fail "other edges of $snap"
done

# To v8: JSON whose counts hold, members as names; and it can be taken back.
cp "$golden/native.snap" "$work/native.snap"
exits 0 export "$work/native.snap" --to v8 -o "$work/native.heapsnapshot"
exits 0 export "$work/native.snap" --to v8 -o -
cmp "$work/out" "$work/native.heapsnapshot" || fail "another file on standard output"
python <<'END'
import json
import os

heap = json.load(open(os.environ["WORK"] + "/native.heapsnapshot"))
meta, nodes, edges = heap["snapshot"]["meta"], heap["nodes"], heap["edges"]
width = len(meta["node_fields"])
assert len(nodes) == width * heap["snapshot"]["node_count"], "nodes"
assert len(edges) == 3 * heap["snapshot"]["edge_count"], "edges"
assert sum(nodes[4::width]) == heap["snapshot"]["edge_count"], "edges of nodes"
assert all(to % width == 0 and to < len(nodes) for to in edges[2::3]), "targets"
assert nodes[2::width] == list(range(1, 2 * len(nodes) // width, 2)), "identifiers"
named = {heap["strings"][edges[i + 1]] for i in range(0, len(edges), 3) if edges[i] == 2}
assert named, "no member has its name"
END
exits 0 import --from v8 --policy all "$work/native.heapsnapshot" -o "$work/again.snap"
exits 0 check "$work/again.snap"
exits 4 export "$v8" --to v8 -o "$work/none.heapsnapshot"
[ ! -e "$work/none.heapsnapshot" ] || fail "half a file was left"
