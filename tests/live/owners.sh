#!/usr/bin/env bash
# Programs whose memory has one owner that a person would name: it is named, and keeps as much as
# the program itself counts, however many stale words lead into it. What is lost is found, and what
# only a register or a stack slot holds is said to be held there.
. "$(dirname "$0")/_native.sh"
need g++
n=${HS_OWNERS_OBJECTS:-30000}

listings()
{
    rm -f "$work"/heap.snap*.idx
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "roots"
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 --group-by thread >"$work/threads.json" ||
        fail "roots --group-by thread"
    "$HEAPSNAP" leaks "$work/heap.snap" --json -n 0 >"$work/leaks.json" || fail "leaks"
    "$HEAPSNAP" suspects "$work/heap.snap" --json -n 0 >"$work/suspects.json" || fail "suspects"
}

compare()
{
    listings
    python3 - "$work" "$1" <<'PYTHON' || { cat "$work/log"; fail "$1"; }
import json, sys
work, what = sys.argv[1:]
roots = json.load(open(work + "/roots.json"))
threads = json.load(open(work + "/threads.json"))
leaks = json.load(open(work + "/leaks.json"))
suspects = json.load(open(work + "/suspects.json"))["suspects"]
owners = {row["roots"][0]: row for row in suspects if row["list"] == "owner"}
wrong = 0
# A stale pointer in the reserve of a vector may give a block a wrong type: what it holds is then
# possible.
SPARE = 20

def expect(holds, text):
    global wrong
    if not holds:
        print(f"{what}: {text}")
        wrong += 1

truth = [line.split() for line in open(work + "/log")
         if line.split()[0] in ("OWNED", "LOST", "HELD")]
by_name = {root["name"]: root for root in roots["roots"]}
lost = leaks["certain"]["count"] + leaks["possible"]["count"]
owned = 0
for word, *rest in truth:
    if word == "OWNED":
        root = by_name.get(rest[0], {"retained_words": 0, "tier": None})
        found, counted = root["retained_words"], int(rest[1])
        owned += found
        # The program knows what would be freed; what hangs on it besides is not less its own.
        expect(counted <= found <= 1.01 * counted, f"{rest[0]} keeps {found} words, not {counted}")
        expect(root["tier"] == "firm", f"{rest[0]} is {root['tier']}")
        if found * 50 >= roots["heap"]["words"] and len(owners) < 12:
            named = owners.get(root.get("id"), {"words": 0, "sentence": ""})
            expect(named["words"] == found and f"{rest[0]} (" in named["sentence"],
                   f"{rest[0]} is no suspect: {named}")
            print(f"{what}: {named['sentence']}")
    elif word == "LOST":
        n = int(rest[0])
        expect(n * 0.998 <= lost <= n + SPARE and leaks["certain"]["count"] <= n,
               f"{lost} blocks are lost, not {n}")
        print(f"{what}: of {n} lost blocks {leaks['certain']['count']} certain, "
              f"{leaks['possible']['count']} possible")
    elif word == "HELD":
        # Several places of one thread may hold it, one of them alone when its variable is known,
        # though a call that is not main may have been lent it.
        known = [r for r in roots["roots"]
                if r["tier"] == "runtime" and r["retained_words"] > 1000]
        keepers = known or [r for r in roots["roots"]
                           if r["tier"] == "doubtful" and r["reachable_words"] >= int(rest[1])]
        expect(keepers and {r["kind"] for r in keepers} <= {"stack", "register"},
               f"kept by {keepers}")
        expect(len({r["thread"] for r in keepers}) == 1, "of one thread")
        expect(any(r["function"] is not None for r in keepers), "a function is named")
        if known:
            expect([r["name"] for r in known] == [f"{rest[0]} local first"],
                   f"kept by {known}")
        thread = max(threads["roots"], key=lambda r: r["retained_words"])
        expect(thread["thread"] == keepers[0]["thread"] and
               thread["retained_words"] >= int(rest[1]), f"the thread keeps {thread}")
        first = suspects[0]["sentence"]
        expect(f"thread {keepers[0]['thread']}" in first, f"the first suspect is {first}")
        for keeper in keepers:
            print(f"{what}: {keeper['name']}, thread {keeper['thread']}, {keeper['tier']}")
heap = roots["heap"]
if owned != 0:
    reached = heap["reachable_words"]
    print(f"{what}: {100 * owned / reached:.1f} % of what is reached is owned as the program says")
    expect(owned >= 0.95 * reached, f"{owned} of {reached} words are owned")
    if not any(word == "LOST" for word, *_ in truth):
        expect(leaks["certain"]["count"] == 0 and lost <= SPARE, f"{lost} blocks are lost")
tiers = {root["tier"] for root in roots["roots"]}
expect(tiers <= {"firm", "runtime", "doubtful"}, f"tiers {tiers}")
sums = sum(root["retained_words"] for root in roots["roots"]) + roots["shared"]["retained_words"]
expect(sums + roots["others"]["retained_words"] + roots["unreached"]["words"] == heap["words"],
       "the sum closes")
sys.exit(wrong != 0)
PYTHON
}

# What is certain or possible is what no sure word leads to, by either policy.
the_same_by_either_policy()
{
    "$HEAPSNAP" leaks "$work/heap.snap" --json -n 0 --policy conservative >"$work/other.json" ||
        fail "leaks --policy conservative"
    for key in certain possible; do
        a=$(python3 -c "import json; print(json.load(open('$work/leaks.json'))['$key'])")
        b=$(python3 -c "import json; print(json.load(open('$work/other.json'))['$key'])")
        [ "$a" = "$b" ] || fail "$key leaks are $a firmly and $b conservatively"
    done
}

cp "$fixtures"/owners.c* "$work/"
g++ -O2 -g -o "$work/owners_cpp" "$work/owners.cpp" || fail "building owners.cpp"
gcc -O2 -g -pthread -o "$work/owners_c" "$work/owners.c" || fail "building owners.c"
for what in registry server containers daemon; do
    start "$work/owners_cpp" "$what" "$n"
    dump
    compare "$what"
    leave
done
for what in holders stale; do
    start "$work/owners_c" "$what" $((n / 3))
    dump
    compare "$what"
    the_same_by_either_policy
    leave
done

# By a variable of work(); without debug information by the place where the compiler keeps it.
gcc -O2 -pthread -o "$work/owners_plain" "$work/owners.c" || fail "building owners.c without -g"
for program in owners_c owners_plain; do
    start "$work/$program" held "$n"
    dump
    compare "$program held"
    leave
done
python3 - "$work/leaks.json" <<'PYTHON' || fail "what a register holds"
import json, sys
leaks = json.load(open(sys.argv[1]))
assert leaks["certain"]["words"] == 0, leaks["certain"]
assert leaks["possible_on_stack"] == leaks["possible"], leaks
assert leaks["possible"]["words"] > 0, leaks
PYTHON
