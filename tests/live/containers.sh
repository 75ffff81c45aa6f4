#!/usr/bin/env bash
# How many elements containers have, and how many they have room for: as the program prints it.
. "$(dirname "$0")/_native.sh"
need g++ gcc python3 pkg-config

# again ARGUMENT...: another dump
again()
{
    rm -f "$work"/heap.snap*
    dump "$@"
}

# sizes_are WHAT: `object` says of each container what the program did.
sizes_are()
{
    local holder
    for holder in $(awk '$1 == "SIZE" {print $2}' "$work/log" | sort -u); do
        echo "HOLDER $holder"
        "$HEAPSNAP" object "$work/heap.snap" "${holder//+/ }" --json -n 0 ||
            fail "$1: object $holder"
        echo
    done >"$work/objects"
    python3 - "$work/log" "$work/objects" "$1" <<'PYTHON' || fail "sizes of $1"
import json, sys
said, found = {}, {}
for line in open(sys.argv[1]):
    word, *rest = line.split()
    if word == "SIZE":
        holder, place, entries, room = rest
        room = {"-": None, "?": "?"}.get(room, room)
        said[holder, place] = (int(entries), int(room) if room not in (None, "?") else room)
for part in open(sys.argv[2]).read().split("HOLDER ")[1:]:
    holder, text = part.split("\n", 1)
    for one in json.loads(text)["containers"]:
        found[holder, one["place"] or "-"] = (one["entries"], one["room"])
for key, (entries, room) in said.items():
    if room == "?" and key in found:
        said[key] = (entries, found[key][1])
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

# What is in a bucket of a table of Abseil has its type, and what was there has none.
"$HEAPSNAP" types "$work/heap.snap" --json -n 0 | python3 -c '
import json, sys
found = [row["objects"] for row in json.load(sys.stdin)["types"] if row["type"] == "Ticket"]
print("tickets", found)
sys.exit(found != [int(sys.argv[1])])' "$(awk '$1 == "TICKETS" {print $2}' "$work/log")" ||
    fail "what is in a table of Abseil"

# By type they are as many, with as many elements.
"$HEAPSNAP" types "$work/heap.snap" --group-by container -n 0 >"$work/text" || fail "types"
total=$(awk '$1 == "SIZE" {n++; sum += $4} END {print n, sum}' "$work/log")
[ "$(awk '/TOTAL$/ {print $1, $2}' "$work/text")" = "$total" ] ||
    { cat "$work/text"; fail "not $total"; }
awk '$6 == "Order[]" && $1 == 3 && $2 + $4 == $3 {n++} END {exit n != 1}' "$work/text" ||
    { cat "$work/text"; fail "no Order[]"; }
"$HEAPSNAP" types "$work/heap.snap" --group-by container --json -n 1 | python3 -c '
import json, sys
d = json.load(sys.stdin)
[row] = d["containers"]
sys.exit(d["schema"] != "heapsnap.containers/1" or d["others"]["count"] < 5 or
         row["room"] is not None and row["room"] - row["unused"] != row["elements"])' ||
    fail "types --json"
leave

# libc++ names its members otherwise.
if clang++ -stdlib=libc++ -O1 -g -o "$work/libcxx" "$work/containers.cpp" 2>/dev/null; then
    start "$work/libcxx" 500
    again
    sizes_are "libc++"
    leave
fi

# Qt's are told by lines of qt.rules.
for version in 5 6; do
    flags=$(pkg-config --cflags --libs "Qt${version}Core" 2>/dev/null) ||
        { echo "NOT TESTED: Qt $version: there is no Qt${version}Core"; continue; }
    # shellcheck disable=SC2086
    g++ -std=c++17 -fPIC -O0 -g -o "$work/qt" "$fixtures/containers_qt.cpp" $flags ||
        fail "building for Qt $version"
    start "$work/qt" 500
    again
    sizes_are "Qt $version"
    leave
done

if flags=$(pkg-config --cflags --libs glib-2.0 2>/dev/null); then
    # shellcheck disable=SC2086
    gcc -O1 -g -o "$work/glib" "$fixtures/containers_glib.c" $flags || fail "building for GLib"
    start "$work/glib" 500
    again
    sizes_are "GLib"
    leave
else
    echo "NOT TESTED: GLib: there is no glib-2.0"
fi

start python3 "$fixtures/containers.py"
again
sizes_are "Python"
leave

# A container of a house's own, told by a line of a file of rules and by nothing else; a line that
# is wrong, or whose members the record has not, tells nothing.
cat >"$work/house.cpp" <<'CPP'
#include <cstdio>
#include <cstdlib>
namespace house {
template <typename T> struct Pool { T *slots; unsigned n_taken; struct { unsigned room; } more; };
struct Header { int n, n_room; };
struct Buffer { Header *header; };
}
struct Item { long number; char *text; };
house::Pool<Item> *items;
house::Buffer numbers;
int main()
{
    items = new house::Pool<Item>{(Item *)calloc(200, sizeof(Item)), 70, {200}};
    for (int i = 0; i < 70; i++)
        items->slots[i].text = (char *)malloc(20);
    numbers.header = (house::Header *)calloc(1, sizeof(house::Header) + 90 * sizeof(int));
    *numbers.header = {45, 90};
    printf("SIZE type:house::Pool<Item> slots 70 200\nSIZE root:numbers.header - 45 90\nREADY\n");
    fflush(stdout);
    return getchar() == 0;
}
CPP
printf '%s\n' 'heapsnap-rules 1' \
    'container "house::Pool<*>" at "slots" elements "n_taken" room "more.room"' \
    'container "house::Buffer" at "header" elements "header->n" room "header->n_room"' \
    'container "house::Pool<*>" at "slot" elements "n_taken"' >"$work/house.rules"
g++ -O1 -g -o "$work/house" "$work/house.cpp" || fail "building"
start "$work/house"
again --rules "$work/house.rules"
sizes_are "by rules"
again
"$HEAPSNAP" object "$work/heap.snap" "type:house::Pool<Item>" >"$work/text" || fail "object"
! grep -q '^container' "$work/text" || { cat "$work/text"; fail "counted without a rule"; }
leave

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
again
"$HEAPSNAP" suspects "$work/heap.snap" -n 0 >"$work/text" || fail "suspects"
said=$(sed -n 's/^SAID //p' "$work/log")
tr '\n' ' ' <"$work/text" | tr -s ' ' |
    grep -q "1. searchers .* alone keeps .* 8 Candidate\[\] of .* each, $said\. " ||
    { cat "$work/text"; fail "not '$said'"; }
leave
start "$work/room" used
again
"$HEAPSNAP" suspects "$work/heap.snap" -n 0 >"$work/text" || fail "suspects"
grep -q "8 Candidate\[\]" "$work/text" || { cat "$work/text"; fail "no vectors"; }
! grep -q "in use\|elements are there" "$work/text" ||
    { cat "$work/text"; fail "room that is used"; }
leave
