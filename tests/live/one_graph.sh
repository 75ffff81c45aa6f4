#!/usr/bin/env bash
# parts: ocaml
# An OCaml heap and memory of malloc as one graph: bigarrays and custom blocks lead to their memory,
# registered roots in memory of malloc lead back. Also stripped, over jemalloc, and from a core.
# What looks like a pointer in text takes nothing from a registered root; a stripped program does
# not tell text from pointers, and has none.
. "$(dirname "$0")/_roots.sh"
build one_graph unix one_graph.ml one_graph_stubs.c
compare=$SOURCE_DIR/tests/live/_one_graph_compare.py

look()
{
    "$HEAPSNAP" check "$work/$1.snap" >/dev/null || fail "check $1"
    "$HEAPSNAP" roots "$work/$1.snap" --json -n 0 >"$work/$1.json" || fail "roots $1"
    "$HEAPSNAP" leaks "$work/$1.snap" --json -n 0 >"$work/$1.leaks" || fail "leaks $1"
    python3 "$compare" "$work/log" "$work/$1.json" "$work/$1.leaks" || fail "$1"
}

jemalloc=$(jemalloc_library)
for variant in one_graph one_graph.stripped jemalloc; do
    echo "$variant"
    case $variant in
    jemalloc)
        [ -n "$jemalloc" ] || { echo "no libjemalloc: left out"; continue; }
        start env LD_PRELOAD="$jemalloc" MALLOC_CONF=prof:true,lg_prof_sample:12 \
            "$work/one_graph" guesses
        ;;
    one_graph) start "$work/one_graph" guesses ;;
    *) start "$work/$variant" ;;
    esac
    "$HEAPSNAP" dump --heaps all "$pid" -o "$work/$variant.snap" || fail "dump of $variant"
    look "$variant"
    if [ "$variant" = jemalloc ]; then # allocated by C, kept by a variable of OCaml
        "$HEAPSNAP" samples "$work/$variant.snap" --json -n 0 >"$work/samples.json" || fail samples
        python3 - "$work/samples.json" <<'END' || fail "samples"
import json, sys
samples = json.load(open(sys.argv[1]))["samples"]
for maker, keeper in (("one_make_owner", "One_graph"), ("caml_ba_alloc", "One_graph")):
    found = [s for s in samples if s["site"] and s["root"] and s["root"].startswith(keeper)
             and any(maker in (f["function"] or "") for f in s["site"])]
    assert found, (maker, [(s["site"], s["root"]) for s in samples])
END
    fi
    "$HEAPSNAP" dump --heaps ocaml "$pid" -o "$work/alone.snap" || fail "dump of its OCaml heap"
    "$HEAPSNAP" info "$work/alone.snap" --json >"$work/alone.json"
    python3 - "$work/alone.json" <<'END' || fail "--heaps ocaml"
import json, sys
names = [r["name"] for r in json.load(open(sys.argv[1]))["runtimes"]]
assert names == ["ocaml"], names
END
    leave
done

if command -v gcore >/dev/null; then
    echo core
    start "$work/one_graph" guesses
    (cd "$work" && gcore -o core "$pid" >/dev/null 2>&1) || fail "gcore"
    "$HEAPSNAP" dump --heaps all --core "$work/core.$pid" -o "$work/core.snap" || fail "dump --core"
    look core
    leave
fi
