#!/usr/bin/env bash
# parts: record
# A lost block is perhaps of the one record that all others of its size are, when its words agree;
# where two records have that size, or a word leads where the record has none, nothing is guessed.
# Of a size that is lost whole it is the one record that one pointer to a known block and one into a
# binary speak for, or one without pointers where it alone has such a size.
. "$(dirname "$0")/_native.sh"
need gcc g++

cp "$fixtures/leaks_guess.c" "$work/leaks_guess.c"
cp "$fixtures/leaks_guess.c" "$work/leaks_guess_cpp.cpp"
gcc -O1 -g -o "$work/leaks_guess" "$work/leaks_guess.c" || fail "building"
g++ -O1 -g -o "$work/leaks_guess_cpp" "$work/leaks_guess_cpp.cpp" || fail "building"
for program in leaks_guess leaks_guess_cpp; do
    start "$work/$program"
    dump
    name=item
    [ "$program" = leaks_guess ] && name="struct item"
    "$HEAPSNAP" leaks "$work/heap.snap" --json -n 0 >"$work/leaks.json" || fail "leaks"
    python3 - "$work/log" "$work/leaks.json" "$name" <<'PYTHON' || fail "$program"
import json, sys
groups, wrong = json.load(open(sys.argv[2]))["groups"], 0
for line in open(sys.argv[1]):
    if not line.startswith("SIZES"):
        continue
    timer, answer = (sys.argv[3].replace("item", name) for name in ("timer", "answer"))
    names = (sys.argv[3], None, None, timer, answer, None)
    for size, perhaps in zip(map(int, line.split()[1:]), names):
        words = (size + 23) // 16 * 2 - 1 # as glibc rounds
        found = {}
        for group in groups: # a stale pointer may hold a few, and their size says no more
            if group["words_each"] == words and group["certainty"] == "certain":
                found[group["perhaps"]] = found.get(group["perhaps"], 0) + group["count"]
                wrong += group["type"] != f"block of {words * 8} bytes"
        if list(found) != [perhaps] or not 97 <= found[perhaps] <= 100:
            print(f"{size} bytes: {found}, expected {perhaps}")
            wrong += 1
sys.exit(wrong != 0 or not groups)
PYTHON
    "$HEAPSNAP" leaks "$work/heap.snap" -n 0 >"$work/table" 2>/dev/null || fail "leaks"
    grep -q "block of 56 bytes, perhaps $name" "$work/table" || fail "the table does not guess"
    "$HEAPSNAP" types "$work/heap.snap" --json -n 0 | python3 -c '
import json, sys
rows = [row for row in json.load(sys.stdin)["types"] if ", perhaps " in row["type"]]
sys.exit(any(row["known"] for row in rows))' || fail "a guess counts as known"
    leave
done

# By the place of allocation, whatever else has the size: of each size all that is guessed, and how
# often. Without the recorder nothing is guessed of sizes that two records have.
recorder=$(dirname "$HEAPSNAP")/libheapsnap-record.so
gcc -O1 -g -o "$work/site" "$fixtures/leaks_guess_site.c" || fail "building"
for preload in "$recorder" ""; do
    start env LD_PRELOAD="$preload" HEAPSNAP_RECORD_RATE=1 HEAPSNAP_RECORD_FILE="$work/trace" \
        "$work/site"
    rm -f "$work/heap.snap.idx" # of the one before
    dump
    "$HEAPSNAP" leaks "$work/heap.snap" --json -n 0 >"$work/leaks.json" || fail "leaks"
    python3 - "$work/log" "$work/leaks.json" "$preload" <<'PYTHON' || fail "by site '$preload'"
import json, sys
groups, expected, wrong = json.load(open(sys.argv[2]))["groups"], {}, 0
for line in open(sys.argv[1]):
    if line.startswith("LOST"):
        _, size, count, perhaps = line.rstrip().split(" ", 3)
        words = (int(size) + 23) // 16 * 2 - 1 # as glibc rounds
        name = perhaps if perhaps != "-" and sys.argv[3] else None
        of = expected.setdefault(words, {})
        of[name] = of.get(name, 0) + int(count)
for words, of in expected.items():
    found = {}
    for group in groups: # a stale pointer may hold a few
        if group["words_each"] == words and group["certainty"] == "certain":
            found[group["perhaps"]] = found.get(group["perhaps"], 0) + group["count"]
    if set(found) != set(of) or any(not n - 3 <= found[name] <= n for name, n in of.items()):
        print(f"{words} words: {found}, expected {of}")
        wrong += 1
print(expected)
sys.exit(wrong != 0 or len(expected) < 5)
PYTHON
    leave
done

# Held blocks have the name of the one record of their size that their words speak for, and no more
# than the name: what leads to them tells no type.
gcc -O1 -g -o "$work/held" "$fixtures/held_guess.c" || fail "building"
start "$work/held"
dump
"$HEAPSNAP" types "$work/heap.snap" --json -n 0 >"$work/types.json" || fail "types"
python3 - "$work/log" "$work/types.json" <<'PYTHON' || fail "held blocks"
import json, sys
rows, wrong = json.load(open(sys.argv[2]))["types"], 0
for line in open(sys.argv[1]):
    if line.startswith("HELD"):
        _, size, count, perhaps = line.rstrip().split(" ", 3)
        name = f"block of {(int(size) + 23) // 16 * 16 - 8} bytes"
        found = {row["type"]: row["objects"] for row in rows if row["type"].startswith(name)}
        expected = name if perhaps == "-" else f"{name}, perhaps {perhaps}"
        if list(found) != [expected] or found[expected] < int(count):
            print(f"{found}, expected {count} of {expected}")
            wrong += 1
        wrong += any(row["known"] for row in rows if row["type"] == expected)
sys.exit(wrong)
PYTHON
"$HEAPSNAP" suspects "$work/heap.snap" --json >"$work/suspects.json" || fail "suspects"
grep -q "that of 120 B perhaps struct session" "$work/suspects.json" ||
    fail "the sentence does not guess"
leave

# What pointers to undescribed types lead to has the name that the program knows, and no more.
start "$work/held" undescribed
rm -f "$work/heap.snap.idx"
dump
"$HEAPSNAP" types "$work/heap.snap" --json -n 0 >"$work/types.json" || fail "types"
"$HEAPSNAP" suspects "$work/heap.snap" --json >"$work/suspects.json" || fail "suspects"
python3 - "$work" <<'PYTHON' || fail "what is declared and not described"
import json, sys
rows = json.load(open(f"{sys.argv[1]}/types.json"))["types"]
found = {row["type"]: row["objects"] for row in rows}
expected = {"block of 1000 bytes": 200}
for line in open(f"{sys.argv[1]}/log"):
    if line.startswith("OPAQUE"):
        _, count, name = line.rstrip().split(" ", 2)
        expected[f"{name} (opaque)"] = int(count)
wrong = {name: found.get(name) for name, n in expected.items() if found.get(name) != n}
said = json.load(open(f"{sys.argv[1]}/suspects.json"))["suspects"][0]["sentence"]
print(wrong, said)
sys.exit(bool(wrong) or len(expected) != 4 or "whose words count by their values" not in said or
         "mostly 200 struct engine (opaque) and what hangs on them at .engine" not in said)
PYTHON
leave

# Blocks without a type are perhaps of the binary that nearly all of their size lead to, with the
# local symbol where its file has one; not where several could be meant, nor by what all can name.
build_place()
{
    gcc -O1 "$fixtures/place_guess.c" "$@" || fail "building place_guess"
}
build_place -shared -fPIC -DLIBRARY=first -o "$work/libfirst.so"
build_place -shared -fPIC -DLIBRARY=second -s -o "$work/libsecond.so"
build_place -o "$work/place_guess" -L"$work" -Wl,-rpath,"$work" -lfirst -lsecond -lz
start "$work/place_guess"
dump
"$HEAPSNAP" leaks "$work/heap.snap" --json -n 0 >"$work/leaks.json" || fail "leaks"
"$HEAPSNAP" types "$work/heap.snap" --json -n 0 >"$work/types.json" || fail "types"
python3 - "$work" <<'PYTHON' || fail "places of binaries"
import json, re, sys
of, wrong, n_said = [{}, {}], 0, 0
for row in json.load(open(f"{sys.argv[1]}/types.json"))["types"]:
    name, _, perhaps = row["type"].partition(", perhaps ")
    of[0].setdefault(name, {})[perhaps] = row["objects"]
    wrong += bool(perhaps) and row["known"]
for group in json.load(open(f"{sys.argv[1]}/leaks.json"))["groups"]:
    found = of[1].setdefault(group["type"], {})
    perhaps = group["perhaps"] or ""
    found[perhaps] = found.get(perhaps, 0) + group["count"]
for line in open(f"{sys.argv[1]}/log"):
    word, *rest = line.rstrip().split(" ", 4)
    if word == "PLACE":
        lost, size, n, said = int(rest[0]), int(rest[1]), int(rest[2]), rest[3]
        found = of[lost].get(f"block of {(size + 23) // 16 * 16 - 8} bytes", {})
        expected = "" if said == "-" else f"of {said}" # a stale word may hold a few
        ok = list(found) == [expected] and abs(found[expected] - n) <= 3
    elif word == "ZLIB":
        lost, n, size, said, found = "each", int(rest[0]), "deflate's state", "libz", of
        counts = [sum(count for sizes in kind.values() for perhaps, count in sizes.items()
                      if re.fullmatch(r"of libz\.so[0-9.]*", perhaps)) for kind in of]
        ok = all(abs(count - n) <= 3 for count in counts)
    else:
        continue
    n_said += 1
    if not ok:
        print(f"{lost} {size}: {found}, expected {n} of {said}")
        wrong += 1
sys.exit(wrong != 0 or n_said < 15)
PYTHON
leave
