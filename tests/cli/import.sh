# parts: import
# import, and export --to v8: what they refuse, and that a heap survives the way there and back.
. "$(dirname "$0")/lib.sh"

corpus=$SOURCE_DIR/tests/fuzz/corpus
v8=$corpus/importv8/all_kinds.heapsnapshot
hprof=$corpus/importhprof/id8.hprof

# Usage.
exits 2 import - -o "$work/x.snap" <"$v8"
says "cannot look into standard input beforehand"
hints "say what it is: --from v8, hprof or graph"
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

# What it is is found out.
for file in "$v8" "$hprof"; do
    kind=v8
    [ "$file" = "$v8" ] || kind=hprof
    exits 0 import "$file" -o "$work/found.snap"
    exits 0 import --from $kind "$file" -o "$work/told.snap"
    cmp "$work/found.snap" "$work/told.snap" || fail "$kind is not recognised"
done
unknown()
{
    exits "$1" import "$2" -o "$work/never.snap"
    hints "$3"
    [ ! -e "$work/never.snap" ] || fail "a snapshot was left"
}
: >"$work/empty"
unknown 4 "$work/empty" "it is empty"
says "cannot tell what '$work/empty' is"
gzip -c "$v8" >"$work/packed"
unknown 4 "$work/packed" "it is compressed: unpack it first"
echo '{"nodes": []}' >"$work/other.json"
unknown 4 "$work/other.json" "say what it is: --from v8, hprof or graph"
printf 'id\taddress\twords\n' >"$work/nodes.tsv"
unknown 4 "$work/nodes.tsv" "give the directory that it and edges.tsv stand in"
mkfifo "$work/fifo"
unknown 2 "$work/fifo" "say what it is: --from v8, hprof or graph"
exits 2 import --weakmap key "$hprof" -o "$work/x.snap" # what was found counts as what is told
says "--weakmap says nothing about such a file"
exits 5 import "$work/none" -o "$work/x.snap"

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
    exits 0 import "$work/one" -o "$work/back.snap"
    exits 0 check "$work/back.snap"
    exits 0 export "$work/back.snap" --to graph -o "$work/two"
    cmp "$work/one/nodes.tsv" "$work/two/nodes.tsv" || fail "other nodes of $snap"
    cmp "$work/one/edges.tsv" "$work/two/edges.tsv" || fail "other edges of $snap"
done

# Tables that somebody made: a root of several objects, roots below roots, none above all; and what
# the documents show of a graph of a library for graphs.
mkdir "$work/made"
python <<'END'
import os
import random
import re

directory = os.environ["WORK"] + "/made"


class Graph(dict):
    """As networkx's DiGraph: a mapping from nodes to what they lead to, `nodes` to attributes."""

    def __init__(self, edges, size):
        super().__init__((v, {}) for v in size)
        self.nodes = {v: {"size": size[v]} for v in size}
        for v, w in edges:
            self[v][w] = {}


random.seed(7)
names = [f"n{i}" for i in range(200)]
g = Graph([(random.choice(names), random.choice(names)) for _ in range(300)],
          {v: random.randrange(9) for v in names})
tops = names[:5]
text = open(os.environ["SOURCE_DIR"] + "/docs/exchange.md").read()
shown = re.search("```python\n(.*?)```", text, re.S).group(1)
os.chdir(os.environ["WORK"])
exec(shown.replace('"graph/', '"made/'))

# What each node and all that only it leads to weighs, by leaving it out.
def reached(without):
    todo = [v for v in tops if v != without]
    met = set(todo)
    while todo:
        for w in g[todo.pop()]:
            if w != without and w not in met:
                met.add(w)
                todo.append(w)
    return met


weigh = lambda nodes: sum(max(1, g.nodes[v]["size"]) for v in nodes)
whole = reached(None)
at = 8
with open("retained", "w") as out:
    for v in names:
        if v in whole:
            print(f"{at:#x} {weigh(whole) - weigh(reached(v))}", file=out)
        at += 8 * max(1, g.nodes[v]["size"])
END
exits 0 import --from graph "$work/made" -o "$work/made.snap"
exits 0 check "$work/made.snap"
exits 0 roots "$work/made.snap"
grep -q ' tops ' "$work/out" || fail "the root is not told: $(cat "$work/out")"
exits 0 export "$work/made.snap" --to graph -o "$work/made.tables"
awk -F '\t' 'NR > 1 && $3 != 0 && $7 != 0 { print $2, $7 }' "$work/made.tables/nodes.tsv" |
    cmp - "$work/retained" || fail "other retained sizes of made tables"
exits 0 import "$work/made.tables" -o "$work/made.again.snap"
exits 0 export "$work/made.again.snap" --to graph -o "$work/made.again"
for table in nodes edges; do
    cmp "$work/made.tables/$table.tsv" "$work/made.again/$table.tsv" || fail "other $table again"
done
# In any order they are the same graph: all edges have offsets.
mkdir "$work/shuffled"
cp "$work/made.tables/nodes.tsv" "$work/shuffled/"
python3 -c 'import random, sys
head, *rows = open(sys.argv[1]).read().splitlines()
random.seed(3)
random.shuffle(rows)
print(head, *rows, sep="\n")' "$work/made.tables/edges.tsv" >"$work/shuffled/edges.tsv"
exits 0 import "$work/shuffled" -o "$work/shuffled.snap"
exits 0 export "$work/shuffled.snap" --to graph -o "$work/shuffled.again"
for table in nodes edges; do
    cmp "$work/made.tables/$table.tsv" "$work/shuffled.again/$table.tsv" || fail "shuffled: $table"
done
# An edge to a root keeps nothing new, and is told: retained sizes stay, also those of a root that
# another leads to, or of itself.
cp -r "$work/made" "$work/back"
printf '7\t0\n0\t0\n9\t0\n' >>"$work/back/edges.tsv"
exits 0 import --from graph "$work/back" -o "$work/back.snap"
exits 0 info "$work/back.snap"
grep -q '3 edges lead to roots' "$work/out" ||
    fail "edges to roots are not told: $(cat "$work/out")"
exits 0 export "$work/back.snap" --to graph -o "$work/back.tables"
awk -F '\t' 'NR > 1 && $3 != 0 && $7 != 0 { print $2, $7 }' "$work/back.tables/nodes.tsv" |
    cmp - "$work/retained" || fail "other retained sizes with edges to roots"

# A wrong row is told with its line, and leaves no snapshot.
printf '0\tx\n' >>"$work/made/edges.tsv"
exits 4 import --from graph "$work/made" -o "$work/wrong.snap"
mentions "line [0-9]+ of its edges is malformed"
[ ! -e "$work/wrong.snap" ] || fail "a snapshot was left of wrong tables"

# One object with more edges than there is memory for: the same snapshot; and so where they do not
# stand by their source, and are sorted through a file.
mkdir "$work/long"
awk 'BEGIN { print "id\taddress\twords\tstatic\ttype"; print "0\t0\t0\t0\ttop"
    print "1\t8\t2000000\t0\trow"
    for (i = 2; i < 2002; i++)
        printf "%d\t%d\t1\t0\tleaf\n", i, 16000000 + 8 * i }' >"$work/long/nodes.tsv"
awk 'BEGIN { print "from\tto"; print "0\t1"
    for (i = 0; i < 1500000; i++) print "1\t" 2 + i * 7919 % 2000 }' >"$work/long/edges.tsv"
exits 0 import "$work/long" -o "$work/long.snap"
exits 0 import "$work/long" -o "$work/short.snap" --memory 18M
cmp "$work/long.snap" "$work/short.snap" || fail "one long row differs under a limit"
exits 0 check "$work/short.snap"
printf '3\t4\n2\t3\n' >>"$work/long/edges.tsv"
exits 0 import "$work/long" -o "$work/long.snap"
exits 0 import "$work/long" -o "$work/short.snap" --memory 18M
cmp "$work/long.snap" "$work/short.snap" || fail "what is sorted differs under a limit"
exits 0 check "$work/short.snap"

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

# Names of properties: numbered by type where objects have the bytes for it, else by place.
python <<'END'
import json
from snapcli import *

def v8(name, nodes, edges):
    """nodes: (kind, name, bytes); edges of each: (kind, name or index, number of the target)."""
    kinds = ["hidden", "array", "string", "object", "code", "closure", "synthetic"]
    edge_kinds = ["context", "element", "property", "internal", "hidden", "shortcut", "weak"]
    strings, flat_nodes, flat_edges = [], [], []
    def string(text):
        if text not in strings:
            strings.append(text)
        return strings.index(text)
    for at, (kind, text, size) in enumerate(nodes):
        flat_nodes += [kinds.index(kind), string(text), 2 * at + 1, size, len(edges[at])]
        for edge_kind, label, target in edges[at]:
            flat_edges += [edge_kinds.index(edge_kind),
                           label if isinstance(label, int) else string(label), 5 * target]
    meta = {"node_fields": ["type", "name", "id", "self_size", "edge_count"],
            "node_types": [kinds, "string", "number", "number", "number"],
            "edge_fields": ["type", "name_or_index", "to_node"],
            "edge_types": [edge_kinds, "string_or_number", "node"]}
    where = os.path.join(WORK, name)
    with open(where, "w") as file:
        json.dump({"snapshot": {"meta": meta, "node_count": len(nodes),
                                "edge_count": len(flat_edges) // 3},
                   "nodes": flat_nodes, "edges": flat_edges, "strings": strings}, file)
    return where

nodes = [("synthetic", "", 0), ("object", "global", 64), ("object", "User", 24),
         ("object", "User", 24), ("object", "Small", 2), ("object", "Small", 2),
         ("array", "list", 32), ("string", "secret", 16)]
edges = [[("element", 1, 1)],
         [("property", "leaky", 6), ("property", "map", 2), ("property", "a b", 7),
          ("property", "user@example.com", 7), ("property", "small", 4)],
         [("property", "name", 7), ("internal", "map", 7)],
         [("internal", "map", 7), ("property", "name", 7), ("property", "next", 2)],
         [("property", "same", 7), ("property", "x", 5), ("property", "far", 7)],
         [("property", "same", 7), ("property", "y", 7)],
         [("element", 0, 2), ("element", 1, 3), ("hidden", 9, 7)],
         []]
file = v8("names.heapsnapshot", nodes, edges)
snap = os.path.join(WORK, "names.snap")
for more in [[], ["--sizes", "folded"], ["--policy", "memlab"], ["--policy", "all"]]:
    run("import", file, "-o", snap, *more)
    run("check", snap)
    fields = lambda what: sorted(f["place"] or "-" for f in
                                 run("object", snap, what, "--json").json()["fields"])
    equal(fields("type:object global"), ["-", "-", "leaky", "map", "small"], f"global {more}")
    found = {n["id"]: n for n in run("dominators", snap, "--json", "-n", "0", "--depth", "9")
             .json()["nodes"]}
    users = [id for id, n in found.items() if n["type"] == "object User"]
    equal(sorted(fields(id) for id in users), [["map", "name"], ["map", "name", "next"]],
          f"users {more}")
    smalls = [id for id, n in found.items() if n["type"] == "object Small"]
    # Three names and two bytes: places, of which the first says the same in both.
    equal(sorted(fields(id) for id in smalls), [["-", "-", "same"], ["-", "same"]],
          f"places {more}")
    check("example" not in open(snap, "rb").read().decode("latin1"), "a key that is data is kept")
    last = next(id for id in users if len(fields(id)) == 3)
    check("leaky" in run("paths", snap, "--to", last).out, run("paths", snap, "--to", last).out)
list_fields = run("object", snap, "type:array list", "--json").json()["fields"]
equal(sorted(f["place"] or "-" for f in list_fields), ["-", "[0]", "[1]"], "elements")
END
