#!/usr/bin/env bash
# How many elements containers have, and how many they have room for: as the program prints it.
. "$(dirname "$0")/_native.sh"
need g++

# sizes_are WHAT: `object` says of each container what the program did.
sizes_are()
{
    local holder
    for holder in $(awk '$1 == "SIZE" {print $2}' "$work/log" | sort -u); do
        echo "HOLDER $holder"
        "$HEAPSNAP" object "$work/heap.snap" "$holder" --json -n 0 || fail "$1: object $holder"
        echo
    done >"$work/objects"
    python3 - "$work/log" "$work/objects" "$1" <<'PYTHON' || fail "sizes of $1"
import json, sys
said, found = {}, {}
for line in open(sys.argv[1]):
    word, *rest = line.split()
    if word == "SIZE":
        holder, place, entries, room = rest
        said[holder, place] = (int(entries), None if room == "-" else int(room))
for part in open(sys.argv[2]).read().split("HOLDER ")[1:]:
    holder, text = part.split("\n", 1)
    for one in json.loads(text)["containers"]:
        found[holder, one["place"] or "-"] = (one["entries"], one["room"])
wrong = [f"{sys.argv[3]}: {' '.join(key)}: {found.get(key)}, it has {size}"
         for key, size in said.items() if found.get(key) != size]
wrong += [f"{sys.argv[3]}: {' '.join(key)}: {found[key]}, there is none"
          for key in found if key not in said]
print(f"{sys.argv[3]}: {len(said)} containers")
print("\n".join(wrong))
sys.exit(wrong != [] or not said)
PYTHON
}

cp "$fixtures/containers.cpp" "$work/"
g++ -O1 -g -o "$work/cpp" "$work/containers.cpp" || fail "building"
start "$work/cpp" 500
dump
sizes_are "C++"
"$HEAPSNAP" object "$work/heap.snap" type:Shop >"$work/text" || fail "object"
grep -q '^container .* recent: Order\[\]: 500 elements, room for 4096$' "$work/text" ||
    { cat "$work/text"; fail "no line of a container"; }
leave

# libc++ names its members otherwise.
if clang++ -stdlib=libc++ -O1 -g -o "$work/libcxx" "$work/containers.cpp" 2>/dev/null; then
    start "$work/libcxx" 500
    dump
    sizes_are "libc++"
    leave
fi

# A vector that was cleared keeps the room of its largest use: the owner's sentence says how much of
# it is in use, and nothing where it is used.
cat >"$work/room.cpp" <<'CPP'
#include <cstdio>
#include <vector>
struct Candidate { double score[6]; long number; };
struct Searcher { std::vector<Candidate> candidates; };
static std::vector<Searcher> searchers(8);
int main(int argc, char **)
{
    size_t room = 0;
    for (Searcher &searcher : searchers) {
        for (long i = 0; i < 5000; i++)
            searcher.candidates.push_back(Candidate{{1.0 * i}, i});
        if (argc == 1)
            searcher.candidates.resize(3, Candidate{});
        room += searcher.candidates.capacity();
    }
    printf("SAID 24 of %zu elements in use\nREADY\n", room);
    fflush(stdout);
    return getchar() == 0;
}
CPP
g++ -O1 -g -o "$work/room" "$work/room.cpp" || fail "building"
start "$work/room"
dump
"$HEAPSNAP" suspects "$work/heap.snap" -n 0 >"$work/text" || fail "suspects"
said=$(sed -n 's/^SAID //p' "$work/log")
tr '\n' ' ' <"$work/text" | tr -s ' ' |
    grep -q "1. searchers .* alone keeps .* 8 Candidate\[\] of .* each, $said\. " ||
    { cat "$work/text"; fail "not '$said'"; }
leave
start "$work/room" used
dump
"$HEAPSNAP" suspects "$work/heap.snap" -n 0 >"$work/text" || fail "suspects"
grep -q "8 Candidate\[\]" "$work/text" || { cat "$work/text"; fail "no vectors"; }
! grep -q "in use\|elements are there" "$work/text" ||
    { cat "$work/text"; fail "room that is used"; }
leave
