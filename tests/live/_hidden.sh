# Sourced by what holds the listing of leaks against what a program says it has hidden and lost.
. "$SOURCE_DIR/tests/live/_native.sh"

# compare WHAT EXPECTED [UNKNOWN...]: the listing against what the program says it has done; of what
# is lost EXPECTED of 100 are certain.
compare()
{
    rm -f "$work/heap.snap.idx" # of the one before
    "$HEAPSNAP" leaks "$work/heap.snap" --json -n 0 >"$work/leaks.json" 2>"$work/talk" ||
        fail "leaks"
    python3 - "$work/log" "$work/leaks.json" "$@" <<'PYTHON' || fail "$1"
import json, sys
groups = json.load(open(sys.argv[2]))["groups"]
what, lost, unknown = sys.argv[3], int(sys.argv[4]), sys.argv[5:]
certain, wrong, told = {}, 0, {}
for group in groups:
    if group["certainty"] == "certain":
        certain[group["words_each"]] = certain.get(group["words_each"], 0) + group["count"]
for line in open(sys.argv[1]):
    kind, *rest = line.split()
    if kind in ("HIDDEN", "LOST") and rest[0] not in unknown:
        # as glibc rounds, in words; of another allocator as it says
        told[rest[0]] = kind, int(rest[2] if rest[2:] else (int(rest[1]) + 23) // 16 * 2 - 1)
for place, (kind, words) in told.items():
    found, expected = certain.get(words, 0), lost if kind == "LOST" else 0
    # a stale pointer may hold a few of those that are lost
    if found > expected or found < expected - 3:
        print(f"{what}: {place}: {found} certain leaks, {expected} expected")
        print(*{g["why"] for g in groups if g["words_each"] == words}, sep="\n")
        wrong += 1
print(f"{what}: {len(told)} places, {wrong} wrong")
sys.exit(wrong != 0 or len(told) < 3)
PYTHON
}

reason()
{
    grep -q "\"why\": *\"[^\"]*$1" "$work/leaks.json" || fail "no row says '$1'"
}
