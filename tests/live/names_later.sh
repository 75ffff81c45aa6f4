#!/usr/bin/env bash
# Names that come after the dump: a stripped program is dumped without its debug file, and named
# afterwards from a directory and from Debian's symbol server. Its owners are called as in a dump
# that had the file. Files of another build, damaged ones and bombs add nothing.
. "$(dirname "$0")/_native.sh"
need gcc g++ objcopy strip readelf python3

cat >"$work/stock.c" <<'EOC'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct price {
    long of[4];
};
struct item {
    struct item *next;
    struct price *price;
    long number[3];
};
struct stock {
    long n;
    struct {
        struct item *first;
    } items;
    char *label;
};
static struct stock stock;
struct item *exported;
static struct item *table[4];
static __thread struct item *of_thread;
__attribute__((noinline)) static void wait_here(struct item *mine)
{
    struct item *volatile kept[4] = {mine};
    puts("READY");
    fflush(stdout);
    if (getchar() == 'x')
        kept[0]->next = of_thread->next = table[1]->next;
}
static struct item *new_item(struct item *next)
{
    struct item *one = calloc(1, sizeof *one);
    one->price = calloc(1, sizeof *one->price);
    one->next = next;
    return one;
}
int main(void)
{
    for (int i = 0; i < 70000; i++)
        stock.items.first = new_item(stock.items.first);
    for (int i = 0; i < 100; i++)
        exported = new_item(exported);
    for (int i = 0; i < 4; i++)
        table[i] = new_item(table[i]);
    of_thread = new_item(NULL);
    stock.label = strdup("a label that is long enough");
    wait_here(new_item(NULL));
    return 0;
}
EOC
cat >"$work/shop.cpp" <<'EOC'
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>
namespace shop {
struct Session {
    std::string user;
    Session *previous;
};
struct Server {
    std::map<int, std::unique_ptr<Session>> sessions;
    std::vector<long> hits;
};
} // namespace shop
static shop::Server server;
int main()
{
    for (int i = 0; i < 3000; i++)
        server.sessions[i].reset(new shop::Session{"a user whose name is long", nullptr});
    server.hits.assign(500, 1);
    std::puts("READY");
    std::fflush(stdout);
    return std::getchar() == 'x';
}
EOC

# strip_off NAME: the program without names is $work/bin/NAME, what it had $work/files/NAME.debug.
mkdir "$work/bin" "$work/files" "$work/empty"
strip_off()
{
    local id
    id=$(readelf -n "$work/$1" | sed -n 's/.*Build ID: //p')
    objcopy --only-keep-debug "$work/$1" "$work/files/$1.debug"
    mkdir -p "$work/by-id/.build-id/${id:0:2}"
    cp "$work/files/$1.debug" "$work/by-id/.build-id/${id:0:2}/${id:2}.debug"
    strip -o "$work/bin/$1" "$work/$1"
}
gcc -g -O1 -Wl,--build-id -o "$work/stock" "$work/stock.c" || fail "building"
g++ -g -O1 -Wl,--build-id -o "$work/shop" "$work/shop.cpp" || fail "building C++"
strip_off stock
strip_off shop

# owners FILE: the variables of the program that keep something: their names, kinds, sources, sizes.
owners()
{
    "$HEAPSNAP" roots "$1" --json -n 0 >"$work/roots.json" || fail "roots of $1"
    python3 - "$work/roots.json" "$2" <<'PYTHON'
import json, sys
for r in sorted(json.load(open(sys.argv[1]))["roots"], key=lambda r: r["name"]):
    if r["module"] == sys.argv[2] and r["kind"] == "global" or r["kind"] == "tls" and \
            not r["name"].startswith(("pthread_setspecific", "control block", "dynamic thread")):
        print(r["name"], r["kind"], r["file"], r["line"], r["tier"], r["certainty"],
              r["retained_words"], r["reachable_words"])
PYTHON
}
typed()
{
    "$HEAPSNAP" types "$1" --json -n 0 | python3 -c '
import json, sys
for t in json.load(sys.stdin)["types"]:
    if t["type"] == sys.argv[1]:
        print(t["objects"])' "$2"
}

# compare NAME: a dump without the debug file that is named later, and a dump with it.
compare()
{
    start "$work/bin/$1"
    dump
    mv "$work/heap.snap" "$work/bare.snap"
    dump --debug-path "$work/by-id"
    mv "$work/heap.snap" "$work/full.snap"
    leave
    cp "$work/bare.snap" "$work/later.snap"
    "$HEAPSNAP" names "$work/later.snap" --debug-path "$work/files" 2>"$work/talk" ||
        { cat "$work/talk"; fail "names"; }
    "$HEAPSNAP" check "$work/later.snap" >/dev/null || fail "check of what was named"
    owners "$work/bare.snap" "$1" >"$work/bare.owners"
    owners "$work/later.snap" "$1" >"$work/later.owners"
    owners "$work/full.snap" "$1" >"$work/full.owners"
    cmp -s "$work/bare.owners" "$work/full.owners" && fail "$1: no names are missing"
    diff "$work/full.owners" "$work/later.owners" || fail "$1: owners are called otherwise"
    echo "$1: $(wc -l <"$work/later.owners") variables as in a dump with the debug file"
}
compare stock
grep -q '^stock global .*stock.c 1[0-9] ' "$work/later.owners" || fail "stock is no owner"
grep -q '^of_thread tls' "$work/later.owners" || fail "no thread-local variable"
grep -q '^exported global .*stock.c' "$work/later.owners" || fail "an exported variable"
for type in 'struct item' 'struct price'; do
    was=$(typed "$work/full.snap" "$type") now=$(typed "$work/later.snap" "$type")
    [ "$now" -ge $((was - 10)) ] && [ "$now" -le "$was" ] || fail "$now of $was $type"
done
"$HEAPSNAP" suspects "$work/later.snap" | tr -s ' \n' '  ' |
    grep ' stock (.*stock.c:[0-9]*) alone keeps .* struct item' >/dev/null ||
    { "$HEAPSNAP" suspects "$work/later.snap"; fail "no sentence"; }
"$HEAPSNAP" roots "$work/later.snap" -n 0 --json | grep 'wait_here' >/dev/null ||
    fail "a call has no name"
"$HEAPSNAP" info "$work/later.snap" >"$work/info"
grep -q "debug information in $work/files/stock.debug" "$work/info" || fail "info lacks the file"
grep -q "names came after the dump" "$work/info" || fail "info does not tell"
# The graph is the same: all sums, and a second time nothing is left to do.
sums='{print $2, $3}'
for one in bare later; do
    "$HEAPSNAP" info "$work/$one.snap" | grep -E '^(objects|words|edges) ' | awk "$sums" \
        >"$work/$one.sums"
done
cmp "$work/bare.sums" "$work/later.sums" || fail "another graph"
cp "$work/later.snap" "$work/again.snap"
"$HEAPSNAP" names "$work/again.snap" --debug-path "$work/files" 2>"$work/talk" || fail "again"
cmp "$work/later.snap" "$work/again.snap" || fail "named twice"
# Into another file, with less memory, and through pipes: the same bytes.
"$HEAPSNAP" names "$work/bare.snap" --debug-path "$work/files" -o "$work/other.snap" 2>/dev/null &&
    cmp "$work/later.snap" "$work/other.snap" || fail "-o"
"$HEAPSNAP" names - --debug-path "$work/files" --threads 1 --memory 64MiB <"$work/bare.snap" \
    >"$work/piped.snap" 2>/dev/null && cmp "$work/later.snap" "$work/piped.snap" || fail "a pipe"
cp "$work/bare.snap" "$work/stock.snap"

# unchanged WHAT DIRECTORY: nothing is taken from there.
unchanged()
{
    cp "$work/stock.snap" "$work/same.snap"
    timeout 120 "$HEAPSNAP" names "$work/same.snap" --debug-path "$2" >"$work/talk" 2>&1 ||
        { cat "$work/talk"; fail "$1"; }
    cmp "$work/stock.snap" "$work/same.snap" || fail "$1: names were taken"
    echo "$1: nothing is added"
}
mv "$work/bin/stock" "$work/stripped" # at the path of the binary is nothing
unchanged "an empty directory" "$work/empty"
mkdir "$work/wrong" "$work/cut" "$work/text"
gcc -g -O1 -DOTHER -Wl,--build-id=0x0123456789 -o "$work/wrong/stock" "$work/stock.c"
unchanged "another build" "$work/wrong"
head -c 300 "$work/files/stock.debug" >"$work/cut/stock.debug"
unchanged "a file that is cut" "$work/cut"
mkfifo "$work/text/stock.debug"
unchanged "a pipe in its place" "$work/text"

# The right build-id over other contents: where sections lie elsewhere, no name is believed; cut
# anywhere, or with a bomb for debug information, it costs names and nothing else.
mkdir "$work/moved" "$work/bomb"
id=$(readelf -n "$work/stock" | sed -n 's/.*Build ID: //p')
gcc -g -O1 -Wl,--build-id="0x$id" -x c -o "$work/moved/stock" - <<EOC || fail "a moved program"
char padding[100000] = {1}, more[5000];
#include "$work/stock.c"
EOC
cp "$work/stock.snap" "$work/moved.snap"
"$HEAPSNAP" names "$work/moved.snap" --debug-path "$work/moved" 2>/dev/null || fail "moved"
owners "$work/moved.snap" stock | grep '^stock' && fail "names of another layout"
head -c 64M /dev/zero >"$work/zeros"
objcopy --update-section .debug_info="$work/zeros" "$work/files/stock.debug" \
    "$work/bomb/stock.debug" && objcopy --compress-debug-sections=zlib "$work/bomb/stock.debug"
rm "$work/zeros"
cp "$work/stock.snap" "$work/bomb.snap"
timeout 120 "$HEAPSNAP" names "$work/bomb.snap" --debug-path "$work/bomb" 2>/dev/null || fail "bomb"
"$HEAPSNAP" check "$work/bomb.snap" >/dev/null || fail "check after a bomb"
size=$(stat -c %s "$work/files/stock.debug")
for part in 1 3 5 7; do
    head -c $((size * part / 8)) "$work/files/stock.debug" >"$work/cut/stock.debug"
    cp "$work/stock.snap" "$work/cut.snap"
    timeout 120 "$HEAPSNAP" names "$work/cut.snap" --debug-path "$work/cut" 2>"$work/talk" ||
        { cat "$work/talk"; fail "cut at $part of 8"; }
    "$HEAPSNAP" check "$work/cut.snap" >/dev/null || fail "check after a file cut at $part of 8"
done
echo "damaged files: names at most"

# A snapshot that is cut or none at all is refused, and stays.
head -c 3000 "$work/stock.snap" >"$work/half.snap"
cp "$work/half.snap" "$work/half.copy"
rc=0
"$HEAPSNAP" names "$work/half.snap" --debug-path "$work/files" 2>/dev/null || rc=$?
[ $rc = 4 ] && cmp "$work/half.snap" "$work/half.copy" || fail "a cut snapshot: $rc"
# A full disk: the old one stays.
rc=0
cp "$work/stock.snap" "$work/full_disk.snap"
(ulimit -f 1; "$HEAPSNAP" names "$work/full_disk.snap" --debug-path "$work/files" 2>/dev/null) ||
    rc=$?
[ $rc = 5 ] && cmp "$work/stock.snap" "$work/full_disk.snap" || fail "a full disk: $rc"

compare shop
[ "$(typed "$work/later.snap" shop::Session)" = 3000 ] || fail "no sessions"

# The same from Debian's symbol server, and nothing without.
case " $PARTS " in *" debuginfod "*) ;; *) echo "skipped: no heapsnap-debuginfod"; exit 77 ;; esac
need debuginfod curl
port=$(python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
debuginfod -F "$work/files" -p "$port" -d :memory: >"$work/log.server" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true; finish' EXIT
url=http://127.0.0.1:$port
for _ in $(seq 300); do
    curl -sf -o "$work/got" "$url/buildid/$id/debuginfo" && break
    kill -0 "$server" 2>/dev/null || { cat "$work/log.server"; fail "debuginfod ended"; }
    sleep 0.2
done
export DEBUGINFOD_CACHE_PATH=$work/cache
"$HEAPSNAP" names "$work/stock.snap" --debuginfod off -o "$work/served.snap" 2>/dev/null
owners "$work/served.snap" stock | grep '^stock' && fail "named without a server"
DEBUGINFOD_URLS=$url "$HEAPSNAP" names "$work/stock.snap" -o "$work/served.snap" 2>"$work/talk" ||
    fail "names from a server"
grep -q '1 file of .* from the symbol server' "$work/talk" || { cat "$work/talk"; fail "told"; }
owners "$work/served.snap" stock | grep '^stock global' >/dev/null || fail "no names of the server"
echo "names from a server"
