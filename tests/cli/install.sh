#!/usr/bin/env bash
# parts: ocaml python import sql export record watch push report serve browse
# What is installed is enough for other people's programs: the example of docs/examples is built
# with pkg-config against an installed copy and agrees with the commands, and so is a program that
# links the recorder, with and without a loader.
source "$(dirname "$0")/lib.sh"
command -v pkg-config >/dev/null || skip "pkg-config is not installed"
prefix=$work/prefix
cc=${CC:-cc}
warnings=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)

cmake --install "$BUILD_DIR" --prefix "$prefix" >"$work/installed" 2>&1 ||
    fail "cmake --install: $(tail -3 "$work/installed")"
# ---- where the system looks: the distribution's Python, the loader; and all of it goes again
DESTDIR=$work/system cmake --install "$BUILD_DIR" --prefix /usr/local >"$work/installed" 2>&1 ||
    fail "cmake --install below DESTDIR: $(tail -3 "$work/installed")"
module=$(find "$work/system" -type d -path '*dist-packages/heapsnap')
/usr/bin/python3 -c 'import sys; sys.exit(sys.argv[1] not in sys.path)' \
    "$(dirname "${module#"$work/system"}")" || fail "the interpreter does not look into '$module'"
for helper in "$work/system/usr/local/bin/"heapsnap-*; do
    ! readelf -S "$helper" | grep '\.debug_info' >/dev/null || fail "$helper has debug information"
done
DESTDIR=$work/system cmake --build "$BUILD_DIR" --target uninstall >"$work/removed" 2>&1 ||
    fail "uninstall: $(tail -3 "$work/removed")"
find "$work/system" ! -type d >"$work/left"
[ ! -s "$work/left" ] || fail "uninstall leaves $(cat "$work/left")"
[ ! -d "$module" ] || fail "uninstall leaves $module"
mkdir "$work/fake"
printf '#!/bin/sh\necho asked >"%s"\n' "$work/fake/asked" >"$work/fake/ldconfig"
chmod +x "$work/fake/ldconfig"
loader() # PREFIX
{
    rm -f "$work/fake/asked"
    PATH=$work/fake:$PATH cmake -D CMAKE_INSTALL_PREFIX="$1" \
        -P "$SOURCE_DIR/cmake/InstallLoader.cmake" >"$work/out" 2>&1
}
loader /usr/local && [ -e "$work/fake/asked" ] || fail "the loader is not told of /usr/local"
loader "$work" && [ ! -e "$work/fake/asked" ] || fail "the loader is told of another prefix"
DESTDIR=$work loader /usr/local && [ ! -e "$work/fake/asked" ] || fail "it is told of DESTDIR"

pc=$(dirname "$(find "$prefix" -name heapsnap.pc)")
export PKG_CONFIG_PATH=$pc
lib=$(dirname "$pc")
export LD_LIBRARY_PATH=$lib

# Nothing is exported but what the version script names, each with its version.
map=$SOURCE_DIR/analysis/library/heapsnap.map
nm -D --defined-only "$lib/libheapsnap.so" | awk '$2 != "A" {print $3}' |
    LC_ALL=C sort >"$work/exported"
awk '/^HEAPSNAP_/ {version = $1}
    /^ *heapsnap_[a-z_]*;$/ {print substr($1, 1, length($1) - 1) "@@" version}' "$map" |
    LC_ALL=C sort >"$work/named"
[ "$(wc -l <"$work/named")" -gt 10 ] || fail "the version script names $(wc -l <"$work/named")"
diff "$work/named" "$work/exported" || fail "libheapsnap.so exports something else"
readelf -d "$lib/libheapsnap.so" | grep 'SONAME.*\[libheapsnap\.so\.0\]' >/dev/null ||
    fail "the soname"

# shellcheck disable=SC2046 # flags are words
build()
{
    local source=$1 package=$2
    shift 2
    "$cc" -std=c11 -D_GNU_SOURCE "${warnings[@]}" "$@" "$source" \
        $(pkg-config --cflags --libs "$package") -o "$work/program" 2>"$work/err" ||
        fail "building $source with $package: $(cat "$work/err")"
}

build "$SOURCE_DIR/docs/examples/biggest_roots.c" heapsnap
cp "$work/program" "$work/biggest_roots"
# The header is silent in C++, too.
if command -v c++ >/dev/null; then
    echo '#include <heapsnap/heapsnap.h>
int main() { heapsnap_close(nullptr); }' >"$work/x.cc"
    # shellcheck disable=SC2046
    c++ "${warnings[@]}" "$work/x.cc" $(pkg-config --cflags --libs heapsnap) -o "$work/x" ||
        fail "the header in C++"
    "$work/x" || fail "closing nothing"
fi

# ---- the figures of a heap are those of the commands
cat >"$work/figures.c" <<'C'
/* Everything that the library answers, as lines to compare. */
#include <heapsnap/heapsnap.h>
#include <stdio.h>
#include <stdlib.h>
#define N(x) ((unsigned long)(x))
static struct heapsnap_error err;
static void must(int status)
{
    if (status != HEAPSNAP_OK) {
        printf("%d %s\n", status, err.message);
        exit(1);
    }
}
static int stop(void *context, const char *phase, uint64_t done, uint64_t total)
{
    (void)phase, (void)done, (void)total;
    ++*(int *)context;
    return 1;
}
int main(int argc, char **argv)
{
    int n_told = 0;
    struct heapsnap_options stopped = {sizeof stopped, 0, NULL, 1, stop, &n_told};
    struct heapsnap_options wrong = {1, 0, NULL, 0, NULL, NULL};
    struct heapsnap *snap = NULL;
    struct heapsnap_summary all;
    struct heapsnap_type *types;
    struct heapsnap_leaks leaks;
    struct heapsnap_edge *edges;
    struct heapsnap_node node;
    uint64_t *path, found;
    size_t n;
    if (argc == 3) {
        printf("%d\n", heapsnap_open(argv[1], &stopped, &snap, &err));
        printf("%d %d\n", n_told > 0, snap == NULL);
        return 0;
    }
    printf("%d\n", heapsnap_open("/dev/null", NULL, &snap, &err));
    printf("%d\n", heapsnap_open("/no/such/file", NULL, &snap, &err));
    printf("%d\n", heapsnap_open(argv[1], &wrong, &snap, &err));
    must(heapsnap_open(argv[1], NULL, &snap, &err));
    heapsnap_get_summary(snap, &all);
    printf("%d\n", heapsnap_get_node(snap, all.n_nodes, &node, &err));
    printf("%d\n", heapsnap_path(snap, 0, &path, &n, &err));
    printf("%d\n", heapsnap_find(snap, "root:no such root", &found, &err));
    printf("heap %lu of %u bytes\n", N(all.heap_words), all.word_bytes);
    must(heapsnap_types(snap, &types, &n, &err));
    for (size_t i = 0; i < n; i++)
        printf("type %lu %lu %lu %s\n", N(types[i].retained_words), N(types[i].objects),
               N(types[i].words), types[i].name);
    heapsnap_free(types);
    must(heapsnap_get_leaks(snap, &leaks, &err));
    printf("leaks %lu %lu %lu %lu\n", N(leaks.certain_blocks), N(leaks.certain_words),
           N(leaks.possible_blocks), N(leaks.possible_words));
    for (uint64_t at = all.n_tree; at < all.n_nodes; at++) {
        must(heapsnap_get_node(snap, at, &node, &err));
        printf("node %lu 0x%lx %lu %lu %ld %s\n", N(at), N(node.address), N(node.words),
               N(node.retained_words), (long)node.dominator, node.name);
        must(heapsnap_targets(snap, at, &edges, &n, &err));
        for (size_t i = 0; i < n; i++)
            printf("edge %lu %lu %lu %s\n", N(at), N(edges[i].other), N(edges[i].offset_words),
                   edges[i].edge_class);
        heapsnap_free(edges);
        must(heapsnap_sources(snap, at, 0, &edges, &n, &err));
        for (size_t i = 0; i < n; i++)
            if (edges[i].other >= all.n_tree)
                printf("back %lu %lu %lu %s\n", N(edges[i].other), N(at), N(edges[i].offset_words),
                       edges[i].edge_class);
        heapsnap_free(edges);
        must(heapsnap_path(snap, at, &path, &n, &err));
        printf("path %lu %lu\n", N(at), N(n));
        if (n != 0 && (path[0] >= all.n_tree || path[n - 1] != at))
            printf("a path from %lu to %lu\n", N(path[0]), N(path[n - 1]));
        heapsnap_free(path);
    }
    heapsnap_close(snap);
    return 0;
}
C
build "$work/figures.c" heapsnap

cp "$work/program" "$work/figures"

cat >"$work/keeps.c" <<'C'
/* Keeps a list of blocks below a global, says so and waits. */
#include <heapsnap/record.h>
#include <stdio.h>
#include <stdlib.h>
struct link {
    struct link *next;
    char text[200];
};
static struct link *kept;
int main(void)
{
    int was_there = heapsnap_record_start();
    for (int i = 0; i < 20000; i++) {
        struct link *link = calloc(1, sizeof *link);
        if (!link)
            return 1;
        link->next = kept;
        kept = link;
    }
    printf("%d\n", was_there);
    fflush(stdout);
    return getchar() == 'x';
}
C
export HEAPSNAP_RECORD_RATE=4096

# ---- the recorder, linked; a snapshot of that program
build "$work/keeps.c" heapsnap-record -g
cp "$work/program" "$work/keeps"
mkfifo "$work/said" "$work/told"
HEAPSNAP_RECORD_FILE=$work/keeps.trace "$work/keeps" <"$work/told" >"$work/said" &
pid=$!
started+=("$pid")
exec 7>"$work/told" 8<"$work/said"
read -r is_there <&8
[ "$is_there" = 1 ] || fail "the recorder is not in the program that links it"
heapsnap dump "$pid" -o "$work/real.snap"
if [ "$code" = 3 ]; then
    echo "no process may be looked at here: $(head -1 "$work/err")"
    rm -f "$work/real.snap"
else
    [ "$code" = 0 ] || fail "dump: $(cat "$work/err")"
    [ "$(tail -1 "$work/err")" = \
        "heapsnap: who keeps the memory: heapsnap suspects $work/real.snap" ] ||
        fail "dump names no next command: $(cat "$work/err")"
fi
exec 7>&-
wait "$pid" || fail "the program that links the recorder: $?"
exits 0 trace info "$work/keeps.trace" --json
grep -q '"samples"' "$work/out" || fail "its trace: $(cat "$work/out")"

if cc -static -x c - -o "$work/static" <<<'int main(void) { return 0; }' 2>/dev/null; then
    build "$work/keeps.c" heapsnap-record-static -static
    [ "$(HEAPSNAP_RECORD_FILE=$work/static.trace "$work/program" </dev/null)" = 1 ] ||
        fail "the recorder is not in the static program that links it"
    exits 0 trace info "$work/static.trace" --json
fi

python <<'PY'
import os
import subprocess
from snapcli import Snap, check, equal, run

work = os.environ["WORK"]


def of(program, *arguments):
    result = subprocess.run([work + "/" + program, *arguments], capture_output=True, text=True)
    equal((result.returncode, result.stderr), (0, ""), program)
    return result.stdout.splitlines()


def number(id):
    return int(id.removeprefix("#"))


def agree_on_roots(path):
    """Every root with its name and retained words, and the sums that close the listing."""
    roots = run("roots", path, "--json", "-n", "0").json()
    *lines, sums = of("biggest_roots", path, "100000")
    rows = [line.split("\t") for line in lines if not line.startswith(" ")]
    equal([(int(r[0]), number(r[2]), r[3]) for r in rows],
          [(r["retained_words"], number(r["id"]), r["name"]) for r in roots["roots"]], "the roots")
    heap = (sum(r["retained_words"] for r in roots["roots"]) + roots["shared"]["retained_words"] +
            roots["unreached"]["words"])
    equal(sums, "heap %d, shared %d, unreached %d words" % (
        heap, roots["shared"]["retained_words"], roots["unreached"]["words"]), "the sums")
    tree = run("dominators", path, "--json", "--from", roots["roots"][0]["id"], "--depth", "1",
               "-n", "3").json()["nodes"][1:]
    below = [line.split("\t") for line in lines[1 : 1 + len(tree)]]
    equal([(int(r[0]), number(r[2])) for r in below],
          [(n["retained_words"], number(n["id"])) for n in tree], "the dominated")
    check(len(tree) > 0, "the first root dominates something")
    return roots["roots"]


def agree_on_all(path):
    """Types, leaks and each node with its edges; statuses."""
    lines = of("figures", path)
    equal(lines[:6], ["3", "4", "1", "1", "1", "1"], "statuses")
    words = {}
    for line in lines[6:]:
        kind, rest = line.split(" ", 1)
        words.setdefault(kind, []).append(rest)
    equal(words.get("a"), None, "paths that end elsewhere")
    types = run("types", path, "--json").json()["types"]
    equal(words["type"], ["%d %d %d %s" % (t["retained_words"], t["objects"], t["words"], t["type"])
                          for t in types], "the types")
    leaks = run("leaks", path, "--json").json()
    equal(words["leaks"], ["%d %d %d %d" % tuple(leaks[c][k] for c in ("certain", "possible")
                                                 for k in ("count", "words"))], "the leaks")
    check(leaks["certain"]["count"] > 0, "there are leaks")
    edges = words["edge"]
    equal(sorted(edges), sorted(words["back"]), "edges from both of their ends")
    for line in words["node"][:: len(words["node"]) // 7]:
        node, address, own, retained, _, name = line.split(" ", 5)
        found = run("object", path, "#" + node, "--json", "-n", "0").json()
        object = found["object"]
        equal((address, int(own), int(retained), name),
              tuple(object[k] for k in ("address", "words", "retained_words", "type")),
              "node " + node)
        equal([e.split(" ", 1)[1] for e in edges if e.startswith(node + " ")],
              ["%d %d %s" % (number(f["id"]), f["field"], f["class"]) for f in found["fields"]],
              "where #%s points" % node)
        paths = run("paths", path, "--to", "#" + node, "--json", "--limit", "1").json()["paths"]
        equal([p for p in words["path"] if p.startswith(node + " ")],
              ["%s %d" % (node, paths[0]["length"] + 1 if paths else 0)], "the path to #" + node)


snap = Snap()
text = snap.type("string")
pair = snap.type("block tag 0, 3 fields")
blocks = [snap.block(4 + i % 3, pair if i % 2 else text) for i in range(200)]
for i in range(180):
    for child in (2 * i + 20, 2 * i + 21):
        if child < 180:
            snap.edge(blocks[i], blocks[child], child % 4)
for i in range(20):
    snap.root(blocks[i], "M%d.x" % i, unit="m%d.ml" % i)
    snap.root(blocks[100], "N%d.x" % i, unit="n%d.ml" % i)
path = snap.write()
equal(of("figures", path, "stop"), ["5", "1 1"], "work that is ended")
check(not os.path.exists(path + ".idx"), "work that is ended leaves no index")
agree_on_all(path)
agree_on_roots(path)

real = work + "/real.snap"
if os.path.exists(real):
    kept = [r for r in agree_on_roots(real) if r["name"] == "kept"]
    check(len(kept) == 1 and kept[0]["reachable_words"] >= 20000 * 26,
          "the list hangs on its variable: %r" % kept)
PY
