#!/usr/bin/env bash
# What calls that run and the kernel have been lent is kept by whom it belongs to, as many words as
# the program counts, and by one name where one has it; what nobody else has they keep themselves,
# so that nothing is lost. A server in C whose 7 threads all stand in its structures, and a program
# in C++ whose threads have locked what is in the middle of an object, look at it and go over it,
# and whose tables, windows and closures lead to what smart pointers and containers free.
. "$(dirname "$0")/_native.sh"
need gcc g++

compare()
{
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "roots"
    "$HEAPSNAP" leaks "$work/heap.snap" --json -n 0 >"$work/leaks.json" || fail "leaks"
    python3 - "$work" "$1" <<'PYTHON' || { cat "$work/log"; fail "$1"; }
import json, sys
work, what = sys.argv[1:]
roots = json.load(open(work + "/roots.json"))
leaks = json.load(open(work + "/leaks.json"))
by_id = {r["id"]: r for r in roots["roots"]}
wrong = n_words = 0
for line in open(work + "/log"):
    word, *rest = line.split()
    if word != "KEPT":
        continue
    words, tier, names = int(rest[0]), rest[1], sorted(r.replace("+", " ") for r in rest[2:])
    n_words += words
    if names == ["epoll"]: # and a descriptor's number
        found = [(r["retained_words"], r["tier"]) for r in roots["roots"]
                 if r["name"].startswith("epoll ") and r["retained_words"] != 0]
    elif names == ["calls"]: # which of their variables are there is the compiler's choice
        found = [(s["retained_words"], by_id[s["roots"][0]]["tier"]) for s in roots["sets"]
                 if all(by_id[r]["name"].endswith(" lent") for r in s["roots"])]
        found += [(r["retained_words"], r["tier"]) for r in roots["roots"]
                  if r["name"].endswith(" lent") and r["retained_words"] != 0]
    elif len(names) == 1:
        found = [(r["retained_words"], r["tier"]) for r in roots["roots"] if r["name"] == names[0]]
    else:
        found = [(s["retained_words"], by_id[s["roots"][0]]["tier"]) for s in roots["sets"]
                 if sorted(by_id[r]["name"] for r in s["roots"]) == names]
    if found != [(words, tier)]:
        print(f"{what}: {' '.join(names)} keeps {found}, not {words} as {tier}")
        wrong += 1
for how in "certain", "possible":
    if leaks[how]["count"] != 0:
        print(f"{what}: {leaks[how]['count']} blocks are {how} leaks")
        wrong += 1
attributed = roots["attributed_words"]
print(f"{what}: {n_words} words told by the program, attributed {attributed}")
if attributed < n_words:
    print("less than that is attributed")
    wrong += 1
sys.exit(wrong != 0)
PYTHON
}

for options in "-O0 -gdwarf-5" "-O2 -gdwarf-4" "-O2 -gdwarf-5 -static"; do
    # shellcheck disable=SC2086
    gcc $options -pthread -o "$work/borrowed" "$fixtures/borrowed.c" || fail "building $options"
    for stop in copy read; do
        start "$work/borrowed" 1000
        rm -f "$work"/heap.snap.idx
        dump --stop "$stop"
        compare "$options, $stop"
        leave
    done
done

for options in "-O0 -gdwarf-5" "-O2 -gdwarf-4"; do
    # shellcheck disable=SC2086
    g++ $options -std=c++17 -pthread -o "$work/borrowed" "$fixtures/borrowed.cpp" ||
        fail "building $options"
    start "$work/borrowed"
    rm -f "$work"/heap.snap.idx
    dump
    compare "C++ $options"
    leave
done

# Without names: what main has is not the variable's that leads to a short text in it.
strip "$work/borrowed" || fail "strip"
start "$work/borrowed"
rm -f "$work"/heap.snap.idx
dump
words=$(awk '$4 == "main+local+spoken.language" {print $2}' "$work/log")
"$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "roots"
python3 - "$work/roots.json" "$words" <<'PYTHON' || fail "without names"
import json, sys
roots = json.load(open(sys.argv[1]))
by_id = {r["id"]: r for r in roots["roots"]}
tiers = [r["tier"] for r in roots["roots"] if r["retained_words"] == int(sys.argv[2])]
tiers += [by_id[s["roots"][0]]["tier"] for s in roots["sets"]
          if s["retained_words"] == int(sys.argv[2])]
print("without names: kept as", tiers)
sys.exit(tiers != ["doubtful"])
PYTHON
leave
