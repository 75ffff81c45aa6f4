#!/usr/bin/env bash
# parts: import export
# memlab and we find the same retained size for every object: of a heap of Node.js that is imported
# by its rules, and of a live Python program that is exported for it.
. "$(dirname "$0")/_oracle.sh"
need python3
need_npm memlab @memlab/core@2.0.5

sizes()
{
    (cd "$npm_dir" && node "$here/memlab_sizes.js" "$1" "$2") >"$work/memlab.log" 2>&1 || {
        tail -5 "$work/memlab.log"
        fail "memlab cannot read $1"
    }
}

echo "a heap of $(node --version):"
node "$here/shop.js" 2 "$work/shop.heapsnapshot"
sizes "$work/shop.heapsnapshot" "$work/theirs"
"$HEAPSNAP" import --from v8 --policy memlab "$work/shop.heapsnapshot" -o "$work/shop.snap"
"$HEAPSNAP" info --json "$work/shop.snap" >"$work/info"
graph "$work/shop.snap"
python3 "$here/compare_v8.py" import "$work/theirs" "$work/graph" "$work/info" || fail "import"

echo "with the value of a WeakMap's pair held by its key alone:"
"$HEAPSNAP" import --from v8 --policy memlab --weakmap key "$work/shop.heapsnapshot" \
    -o "$work/other.snap"
graph "$work/other.snap"
python3 "$here/compare_v8.py" import "$work/theirs" "$work/graph" "$work/info" --differ ||
    fail "a rule that changes nothing"

echo "a live Python program, exported:"
cat >"$work/program.py" <<'END'
import sys


class Node:
    pass


nodes = [Node() for _ in range(20000)]
for i, node in enumerate(nodes):
    node.next, node.back = nodes[i * 7919 % 20000], nodes[i // 2]
    node.data = {"number": i, "list": [i, str(i)]}
del node, i
print("READY", flush=True)
sys.stdin.read()
END
start python3 "$work/program.py"
"$HEAPSNAP" dump "$pid" -o "$work/python.snap" 2>"$work/talk" || { cat "$work/talk"; fail "dump"; }
leave
"$HEAPSNAP" export --to v8 "$work/python.snap" -o "$work/python.heapsnapshot"
"$HEAPSNAP" info --json "$work/python.snap" >"$work/info"
sizes "$work/python.heapsnapshot" "$work/theirs"
graph "$work/python.snap" --policy conservative # a V8 heap has no tiers
python3 "$here/compare_v8.py" export "$work/theirs" "$work/graph" "$work/info" || fail "export"
