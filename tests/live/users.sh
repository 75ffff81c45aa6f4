#!/usr/bin/env bash
# Variables of a stripped library are told by the functions that use them; the many words of an
# array are one; and to what has no name nothing is attributed. Where the program has a pointer of
# known type to the same object that gives the name: a variable rather than a member, and not a
# link of a list.
. "$(dirname "$0")/_native.sh"
need gcc
[ "$(uname -m)" = x86_64 ] || { echo "skipped: code of x86-64 alone is decoded"; exit 77; }

gcc -O2 -fPIC -shared "$fixtures/users_lib.c" -o "$work/libusers.so" || fail "building"
gcc -O2 "$fixtures/users_main.c" -o "$work/users" -L"$work" -lusers -Wl,-rpath,"$work" ||
    fail "building"
strip -s "$work/libusers.so" "$work/users"
start "$work/users"
dump
"$HEAPSNAP" roots "$work/heap.snap" --json >"$work/roots" || fail "roots"
python3 - "$work/roots" <<'PYTHON' || { cat "$work/roots"; fail "roots"; }
import json, sys
listing = json.load(open(sys.argv[1]))
# of a place in a section, in thread-local storage or of a key nobody says that it owns
places = {r["name"].split("+")[0]: r["retained_words"] for r in listing["roots"]}
assert places["TLS of users"] > 1 << 17 and places["pthread_setspecific key 0"] > 1 << 17, places
assert listing["attributed_words"] < 1 << 12, listing["attributed_words"]
roots = [r for r in listing["roots"] if r["module"] == "libusers.so"]
told = {r["function"]: r["retained_words"] for r in roots if r["function"]}
untold = [r["retained_words"] for r in roots if not r["function"]]
print(told, untold)
# the twelve words of one array are one root, of which each has its own name
pools = [r for r in roots if r["function"] == "users_share"]
sys.exit(len(roots) != 4 or set(told) != {"users_keep", "users_fill", "users_share"} or
         told["users_keep"] < (4 << 20) // 8 or told["users_fill"] != 1001 or
         untold != [1001] or [" to +0x" in r["name"] for r in pools] != [True])
PYTHON
"$HEAPSNAP" roots "$work/heap.snap" | grep 'libusers.so, used by users_keep' >/dev/null ||
    fail "table"
"$HEAPSNAP" suspects "$work/heap.snap" | tr '\n' ' ' | tr -s ' ' >"$work/suspects"
grep -q '1\. \.bss+0x[0-9a-f]* (libusers.so, used by users_keep) alone keeps' "$work/suspects" ||
    fail "$(cat "$work/suspects")"
grep -q '2\. 2 roots together (set:1: [^)]*\.bss+0x[0-9a-f]* to +0x[0-9a-f]*[^)]*) keep' \
    "$work/suspects" ||
    fail "$(cat "$work/suspects")"
grep -q 'at \.bss+0x[0-9a-f]* \(of users\|used by users_[a-z]*\)\.' "$work/suspects" ||
    fail "$(cat "$work/suspects")"
# a path says which word of the array it begins with
"$HEAPSNAP" paths "$work/heap.snap" --to set:1 |
    grep -q '\.bss+0x[0-9a-f]* (libusers.so, used by users_share)' ||
    fail "$("$HEAPSNAP" paths "$work/heap.snap" --to set:1)"
leave

# A source file is told by an assertion. One pointer that records of a program share is no leftover
# of a stack: they keep it together with the variable.
cat >"$work/copies.c" <<'C'
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
struct saved {
    void *handler;
    long mask[16], flags;
    void *restorer;
};
static struct saved saved[6];
static long *owner, *volatile second;
__attribute__((noinline)) static void save(struct saved *to, long *left, int i)
{
    assert(to->flags == 0);
    to[i].mask[3] = (long)left;
}
int main(int argc, char **argv)
{
    (void)argv;
    owner = calloc(4000, 8);
    second = calloc(argc, 2000 * 8);
    for (int i = 0; i < 6; i++)
        save(saved, owner, i);
    assert(owner != second);
    puts("READY");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return (int)owner[argc] + (int)second[argc];
}
C
(cd "$work" && gcc -O2 copies.c -o copies && strip -s copies) || fail "building"
start "$work/copies"
rm -f "$work"/heap.snap.idx
dump
"$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots" || fail "roots"
python3 - "$work/roots" <<'PYTHON' || { cat "$work/roots"; fail "copies"; }
import json, sys
listing = json.load(open(sys.argv[1]))
roots = [r for r in listing["roots"] if r["module"] == "copies"]
print([(r["name"], r["retained_words"], r["file"], r["tier"], r["rule"]) for r in roots])
ids = {r["id"] for r in roots}
together = sum(s["retained_words"] for s in listing["sets"] if set(s["roots"]) <= ids)
alone = [r["retained_words"] for r in roots if r["retained_words"] > 1000]
sys.exit(len(alone) != 1 or together < 4000 or
         any(r["file"] != "copies.c" or r["line"] or r["tier"] != "firm" for r in roots) or
         listing["attributed_words"] > 1 << 12 or listing["to_files_words"] < 6000)
PYTHON
"$HEAPSNAP" roots "$work/heap.snap" | grep 'copies, of copies.c' >/dev/null || fail "of a file"
leave

cat >"$work/registry.h" <<'C'
struct link {
    struct link *next, *previous;
};
struct registry {
    long n;
    long *items[3];
    struct link ring;
};
struct registry *registry_of_all(void);
C
cat >"$work/registry.c" <<'C'
#include "registry.h"
#include <stdlib.h>
static struct registry all;
struct registry *registry_of_all(void)
{
    all.items[2] = calloc(5000, 8);
    all.ring.next = calloc(3000, 8);
    all.ring.next->previous = &all.ring;
    return &all;
}
C
cat >"$work/registers.c" <<'C'
#include "registry.h"
#include <stdio.h>
#ifdef PLAIN
static struct registry *registry;
#endif
static struct {
    long n;
    struct registry *of;
} app;
static struct link own;
int main(void)
{
    app.of = registry_of_all();
    own.previous = &app.of->ring;
#ifdef PLAIN
    registry = app.of;
#endif
    puts("READY");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return (int)(app.n + (own.next != NULL));
}
C
gcc -O0 -fPIC -shared "$work/registry.c" -o "$work/libregistry.so" || fail "building"
strip -s "$work/libregistry.so"
# named NAME OPTION...
named()
{
    local name=$1
    shift
    gcc -O0 "$@" "$work/registers.c" -o "$work/registers" -L"$work" -lregistry \
        -Wl,-rpath,"$work" || fail "building"
    start "$work/registers"
    rm -f "$work"/heap.snap.idx
    dump
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots" || fail "roots"
    python3 - "$work/roots" "$name" <<'PYTHON' || { cat "$work/roots"; fail "named $name"; }
import json, sys
roots = {r["name"]: r["retained_words"] for r in json.load(open(sys.argv[1]))["roots"]
         if r["module"] == "libregistry.so"}
print(roots)
name = sys.argv[2]
sys.exit(roots != {f"{name}->items[2]": 5001, f"{name}->ring.next": 3001} if name else
         any("->" in one for one in roots))
PYTHON
    leave
}
named registry -g -DPLAIN
named app.of -g
named ""
