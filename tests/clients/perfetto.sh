# parts: export
# protoc decodes our packets, and they keep the rules of Perfetto's reader: packets count up from 0
# and all but the last are continued, fields are as many as targets, all that is named is there.
. "$(dirname "$0")/_client.sh"
need protoc

export_to perfetto
protoc -I "$clients" --decode=Trace "$clients/heap_graph.proto" <"$work/heap.perfetto" \
    >"$work/decoded" 2>"$work/decoded.err" || fail "protoc: $(cat "$work/decoded.err")"
# What protoc does not know would stand there as a number.
! grep -qE '^ *[0-9]+[:{ ]' "$work/decoded" || fail "fields that nobody knows"
"$HEAPSNAP" export "$heap" --to graph -o "$work/graph"
DECODED=$work/decoded GRAPH=$work/graph python <<'PY'
import csv
import os
import re
from collections import Counter, defaultdict


def parse(lines):
    """The text of protoc: {field: [values]}, a message as the same."""
    message = defaultdict(list)
    for line in lines:
        line = line.strip()
        if line == "}":
            return message
        if line.endswith("{"):
            message[line[:-1].strip()].append(parse(lines))
        else:
            name, value = line.split(": ", 1)
            message[name].append(value if value[0] == '"' else value)
    return message


trace = parse(iter(open(os.environ["DECODED"], encoding="utf-8").read().split("\n")[:-1]))
graphs = [p["heap_graph"][0] for p in trace["packet"] if p["heap_graph"]]
assert [int(g["index"][0]) for g in graphs] == list(range(len(graphs)))
assert [g["continued"][0] for g in graphs] == ["true"] * (len(graphs) - 1) + ["false"]
assert all(p["trusted_packet_sequence_id"] == ["1"] for p in trace["packet"])
assert len(graphs) > 1, "names of a megabyte fill more than one packet"
objects = [o for g in graphs for o in g["objects"]]
types = {t["id"][0]: t["class_name"][0] for g in graphs for t in g["types"]}
fields = {f["iid"][0]: f["str"][0] for g in graphs for f in g["field_names"]}
roots = [i for g in graphs for r in g["roots"] for i in r["object_ids"]]
ids = Counter(o["id"][0] for o in objects)
assert max(ids.values()) == 1
edges = Counter()
for o in objects:
    assert len(o["reference_field_id"]) == len(o["reference_object_id"])
    assert o["type_id"][0] in types
    for f, to in zip(o["reference_field_id"], o["reference_object_id"]):
        assert f in fields and to in ids
        edges[int(o["id"][0]), int(to)] += 1
assert '"root global sessions"' in types.values(), sorted(t[:60] for t in types.values())
assert '"name"' in fields.values() and '"next"' in fields.values()
csv.field_size_limit(1 << 24)
tables = [list(csv.DictReader(open(os.path.join(os.environ["GRAPH"], name + ".tsv")),
                              delimiter="\t", quoting=csv.QUOTE_NONE))
          for name in ("nodes", "edges")]
blocks = {n["id"]: 8 * int(n["words"]) for n in tables[0] if n["words"] != "0"}
found = {o["id"][0]: int(o["self_size"][0]) for o in objects}
assert {i: n for i, n in found.items() if n != 0} == blocks
assert sorted(i for i, n in found.items() if n == 0) == sorted(roots)
strong = Counter((int(e["from"]), int(e["to"])) for e in tables[1]
                 if e["strength"] == "strong" and (e["from"] in blocks or e["to"] in blocks))
assert edges == strong, (edges - strong, strong - edges)
PY
