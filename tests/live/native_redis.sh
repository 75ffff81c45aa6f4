#!/usr/bin/env bash
# redis with debug information: every byte agrees with its allocator, nothing is lost, `server`
# reaches the databases, and a path to a value reads like source. HS_REDIS_KEYS: how many keys.
# HS_LONG: with glibc's malloc, too, which is built for it.
. "$(dirname "$0")/_native.sh"
. "$(dirname "$0")/_redis.sh"
need redis-cli
keys=${HS_REDIS_KEYS:-20000}

check_leaks()
{
    "$HEAPSNAP" leaks "$work/heap.snap" --json -n 0 >"$work/leaks.json" || fail "leaks"
    python3 - "$work/leaks.json" <<'PYTHON' || fail "$1: redis has no leak"
import json, sys
leaks = json.load(open(sys.argv[1]))
for group in leaks["groups"]:
    if group["certainty"] == "certain":
        print(group)
print("possible:", leaks["possible"])
sys.exit(leaks["certain"]["count"] != 0)
PYTHON
}

# Blocks plus what thread caches hold are what the allocator calls allocated.
check_bytes()
{
    cli info memory >"$work/memory"
    "$HEAPSNAP" info "$work/heap.snap" --json >"$work/info.json" || fail "info"
    python3 - "$work/info.json" "$work/memory" "$1" <<'PYTHON' || fail "$1: bytes"
import json, sys
info = json.load(open(sys.argv[1]))
memory = dict(line.strip().split(":", 1) for line in open(sys.argv[2]) if ":" in line)
bad = [proof for proof in info["proofs"] if not proof["holds"]]
for proof in bad:
    print("no proof:", proof)
rows = sum(row["resident_bytes"] for row in info["memory"])
print(f"{sys.argv[3]}: {info['objects']} blocks, {info['words'] * 8} bytes; redis counts "
      f"{memory['used_memory']}; resident {info['resident_bytes']}, rows {rows}")
assert not bad
assert rows == info["resident_bytes"]
# redis counts what it asked for (libc) or the classes' sizes (jemalloc); libc's own blocks and
# those of the clients that came since are the rest
assert abs(info["words"] * 8 - int(memory["used_memory"])) < 400000
PYTHON
}

# Redis keeps its data from several variables (a client of the scripting engine knows the databases
# too), so that no single one retains it; `server` reaches nearly all, and the program retains it.
check_roots()
{
    "$HEAPSNAP" roots "$work/heap.snap" --sort reachable --json >"$work/roots.json" || fail "roots"
    "$HEAPSNAP" roots "$work/heap.snap" --group-by module --json >"$work/modules.json" ||
        fail "roots by module"
    python3 - "$work/roots.json" "$work/modules.json" <<'PYTHON' || fail "the top root is server"
import json, sys
report, modules = (json.load(open(path)) for path in sys.argv[1:3])
top, words = report["roots"][0], report["heap"]["words"]
print({key: top[key] for key in ("kind", "name", "file", "line", "reachable_words")})
assert top["name"] == "server" and top["kind"] == "global" and top["file"].endswith("server.c")
assert top["line"] > 0 and top["reachable_words"] > words * 0.9
module = modules["roots"][0]
print({key: module[key] for key in ("name", "retained_words")})
assert module["name"] == "redis-server" and module["retained_words"] > words * 0.9
PYTHON
}

# The values of some keys, at the addresses that redis itself tells, read like source. A shortest
# path may instead cross a word that an allocator's rounding left stale, as long as the true one
# through a chain of the table: its untyped step says so, and it is rare.
check_paths()
{
    "$HEAPSNAP" index "$work/heap.snap" >/dev/null || fail "index"
    : >"$work/expressions"
    for key in 1 8 9 16 17 24 25 32; do
        address=$(cli debug object "string:$key" | sed -n 's/^Value at:\(0x[0-9a-f]*\).*/\1/p')
        [ -n "$address" ] || fail "redis does not tell where the value of string:$key is"
        "$HEAPSNAP" paths "$work/heap.snap" --to "$address" --json >"$work/paths.json" ||
            fail "paths to string:$key"
        python3 -c 'import json, sys
print(json.load(open(sys.argv[1]))["paths"][0]["expression"])' "$work/paths.json" \
            >>"$work/expressions" || fail "a path to string:$key"
    done
    "$HEAPSNAP" paths "$work/heap.snap" --to "$address" --limit 1
    python3 - "$work/expressions" <<'PYTHON' || fail "the paths do not read like source"
import re, sys
pattern = (r"server\.db(\[0\]\.|->)dict->ht_table\[[01]\]\[\d+\]"
           r"(->next(\{x\d+\})?)?->v\.val")
paths = open(sys.argv[1]).read().split()
others = [path for path in paths if not re.fullmatch(pattern, path)]
print(f"{len(paths) - len(others)} of {len(paths)} read like source:", paths[0], others)
assert len(paths) == 8 and len(others) <= 2, others
assert all("(+" in path for path in others), others
PYTHON
}

for malloc in jemalloc ${HS_LONG:+libc}; do
    get_redis "$malloc"
    start_redis --enable-debug-command yes
    fill_redis "$keys"
    dump
    check_leaks "$malloc"
    check_bytes "$malloc"
    check_roots
    check_paths
    stop_target
done
