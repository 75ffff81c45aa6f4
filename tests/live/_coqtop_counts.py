"""Roots of a coqtop against the runtime's own caml_obj_reachable_words.

    _coqtop_counts.py choose|compare ocaml4|ocaml5 WORK

choose reads WORK/roots.json, checks its sums and names, and writes what the runtime is asked, for
_call_in.py (calls); compare reads what it said (counts). OCaml 5 needs the domain lock, which a
waiting thread has released, and its count has static data, too."""
import json
import re
import sys


def choose(is_five, work):
    with open(work + "/roots.json", encoding="utf-8") as file:
        roots = json.load(file)
    heap = roots["heap"]
    total = sum(r["retained_words"] for r in roots["roots"])
    total += roots["shared"]["retained_words"] + roots["others"]["retained_words"]
    total += roots["unreached"]["words"]
    assert total == heap["words"], (total, heap["words"])
    assert heap["words"] == heap["reachable_words"] + heap["unreached_words"]
    named = [r for r in roots["roots"] if r["file"] and r["line"]]
    known = [r for r in roots["roots"] if r["name"] == "Stm.VCS"]
    print(f"roots: {len(roots['roots'])}, named with a line: {len(named)}, Stm.VCS: "
          f"{[(r['file'], r['line']) for r in known]}")
    assert len(named) > 1000, f"only {len(named)} roots have a source line"
    assert known and known[0]["file"].endswith("stm.ml")
    slots = [r for r in roots["roots"]
             if r["kind"] in ("global", "dynamic_global") and r["address"]]
    slots.sort(key=lambda r: -r["reachable_words"])
    chosen = slots[:12] + slots[20:200:20] + slots[500:5000:500]
    with open(work + "/calls", "w", encoding="ascii") as out:
        if is_five:
            out.write("lock caml_acquire_domain_lock\n")
        for r in chosen:
            out.write(f"{r['id']} caml_obj_reachable_words *{r['address']}\n")
        if is_five:
            out.write("unlock caml_release_domain_lock\n")
    with open(work + "/chosen.json", "w", encoding="utf-8") as file:
        json.dump(chosen, file)


def compare(is_five, work):
    with open(work + "/counts", encoding="utf-8", errors="replace") as file:
        log = file.read()
    counts = {m[0]: int(m[1]) >> 1 for m in re.findall(r"^(#\d+) (\d+)$", log, re.M)}
    with open(work + "/chosen.json", encoding="utf-8") as file:
        chosen = json.load(file)
    equal = 0
    for r in chosen:
        runtime = counts.get(r["id"])
        ours = r["reachable_words"] + (r["static_reachable_words"] if is_five else 0)
        equal += runtime == ours
        if runtime != ours or ours > 1000000:
            print(f"{r['name']:40} heapsnap {ours:10} runtime {runtime}")
    print(f"{equal} of {len(chosen)} roots equal the runtime's own count")
    if len(counts) < 10:
        sys.stdout.write(log[-2000:])
        sys.exit(f"counted only {len(counts)} roots")
    if equal != len(chosen):
        sys.exit("they must all be equal")


{"choose": choose, "compare": compare}[sys.argv[1]](sys.argv[2] == "ocaml5", sys.argv[3])
