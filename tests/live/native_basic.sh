#!/usr/bin/env bash
# A program of C that knows what each of its variables reaches and what it has lost: the snapshot
# says the same, to the word; with and without debug information, and without symbols.
. "$(dirname "$0")/_native.sh"
need gcc

# judge VARIANT: what `roots` and `leaks` say against the program's own log
judge()
{
    for command in info roots leaks types; do
        rows="-n 0"
        [ "$command" != info ] || rows=""
        "$HEAPSNAP" "$command" "$work/heap.snap" --json $rows >"$work/$command.json" ||
            fail "$1: $command"
    done
    python3 - "$work" "$1" <<'PYTHON' || fail "$1"
import json, sys
work, variant = sys.argv[1:3]
info, roots, leaks, types = (json.load(open(f"{work}/{name}.json"))
                             for name in ("info", "roots", "leaks", "types"))
truth = {}
for line in open(f"{work}/log"):
    word = line.split()
    if word[0] == "ROOT":
        truth[word[1]] = (int(word[2]), int(word[3]))
    elif word[0] in ("LOST", "ALL"):
        truth[word[0]] = (int(word[1]), int(word[2]))

def equal(found, expected, what):
    assert found == expected, f"{what}: {found}, the program says {expected}"

for proof in info["proofs"]:
    assert proof["holds"], proof
lost, every = truth.pop("LOST"), truth.pop("ALL")
equal((leaks["certain"]["words"], leaks["certain"]["count"]), lost, "certainly lost")
# Without debug information it is not known that a variable lives in the stack's slot.
on_stack = (0, 0) if variant == "debug" else truth["on_stack"]
equal((leaks["possible"]["words"], leaks["possible"]["count"]), on_stack, "possibly lost")
equal(leaks["possible_on_stack"], leaks["possible"], "held by stacks and registers alone")
equal(roots["heap"]["unreached_objects"], lost[1], "unreached blocks")
assert every[1] < info["objects"] < every[1] + 200, (info["objects"], every)
total = sum(root["retained_words"] for root in roots["roots"])
total += roots["shared"]["retained_words"] + roots["others"]["retained_words"]
equal(total + roots["unreached"]["words"], roots["heap"]["words"], "the sum of all roots")
equal(sum(row["resident_bytes"] for row in info["memory"]), info["resident_bytes"], "resident")
by_name = {}
for root in roots["roots"]:
    by_name.setdefault(root["name"], []).append(root)
if variant == "stripped":
    # Names are gone, the sizes stay. The stack's list is held by a slot and perhaps a register.
    sizes = [(root["reachable_words"], root["reachable_objects"]) for root in roots["roots"]]
    for name, expected in truth.items():
        assert expected in sizes, f"no root reaches {expected}, as {name} does"
    sys.exit()
for name, expected in truth.items():
    found = [root for known, roots_of in by_name.items() for root in roots_of
             if known == name or known.split()[-1] == name or known.startswith(name)]
    if name == "on_stack" and variant != "debug":
        found = [root for root in roots["roots"] if root["kind"] in ("stack", "local", "register")]
    sizes = [(root["reachable_words"], root["reachable_objects"]) for root in found]
    assert expected in sizes, f"{name}: {sizes}, the program says {expected}"
if variant == "debug":
    names = {row["type"]: row for row in types["types"]}
    items = sum(truth[name][1] for name in ("g_list", "s_table", "t_list", "on_stack")) // 2
    equal(names["struct item"]["objects"], items, "items with a type")
PYTHON
}

# dump_soon: one with a short pause; a busy machine makes one of them long, not each.
dump_soon()
{
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        dump
        "$HEAPSNAP" info "$work/heap.snap" --json >"$work/info.json" || fail "info"
        pause_ns=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["pause_ns"])' \
            <"$work/info.json")
        [ "$pause_ns" -ge 500000000 ] || return 0
    done
    fail "each pause is long, the last is of $pause_ns ns"
}

# graph NAME: the graph of a process that does nothing is the same whenever it is dumped
graph()
{
    "$ORACLE" "$work/heap.snap" graph >"$work/$1" && [ -s "$work/$1" ] || fail "no graph"
}

for variant in debug symbols stripped; do
    case $variant in
    debug) gcc -g -O1 -o "$work/$variant" "$fixtures/native_basic.c" ;;
    symbols) gcc -O1 -o "$work/$variant" "$fixtures/native_basic.c" ;;
    stripped) gcc -O1 -s -o "$work/$variant" "$fixtures/native_basic.c" ;;
    esac || fail "building $variant"
    start "$work/$variant"
    dump_soon
    judge "$variant"
    graph first
    dump
    graph second
    cmp "$work/first" "$work/second" || fail "$variant: another graph"
    leave
    echo "$variant: $(sed -n 's/^ALL//p' "$work/log") words and blocks agree"
done
