# parts: export ocaml python
# An allocator, a runtime, an export and a command are each one new file or folder and one line: a
# copy of the source tree gets one of each that does nothing, builds with warnings as errors, and
# what it builds knows them.
. "$(dirname "$0")/lib.sh"

tree=$work/tree
build=$work/build
mkdir "$tree"
if git -C "$SOURCE_DIR" rev-parse --git-dir >/dev/null 2>&1; then
    sources=(git -C "$SOURCE_DIR" ls-files -z)
else
    sources=(find "$SOURCE_DIR" -path "$SOURCE_DIR/build*" -prune -o -type f -printf '%P\0')
fi
"${sources[@]}" | grep -zv '^tests/' >"$work/sources"
tar -C "$SOURCE_DIR" --null --no-recursion --ignore-failed-read -cf - -T "$work/sources" \
    2>"$work/err" | tar -C "$tree" -xf - || fail "no copy of the sources: $(cat "$work/err")"
cp -r "$tree" "$work/before"

# a_line FILE BEHIND LINE: LINE behind the first line that matches BEHIND, or before the end of the
# file when BEHIND is empty.
a_line()
{
    local file=$tree/$1 behind=$2 line=$3
    if [ -z "$behind" ]; then
        printf '%s\n' "$line" >>"$file"
        return
    fi
    grep -q "$behind" "$file" || fail "no line like '$behind' in $1"
    line=$line awk -v behind="$behind" \
        '{ print } $0 ~ behind && !n++ { print ENVIRON["line"] }' "$file" >"$work/edited"
    cp "$work/edited" "$file"
}

# touches WHAT: since the last call one file or folder is new, and one file has one line more.
touches()
{
    local what=$1 n_new n_changed n_lines
    (cd "$work" && diff -rN -U0 before tree >patch) || true
    (cd "$work" && diff -rq before tree >differing) || true
    n_new=$(grep -c '^Only in' "$work/differing" || true)
    n_changed=$(grep -c '^Files ' "$work/differing" || true)
    [ "$n_new" = 1 ] || fail "$what: $n_new new files or folders: $(cat "$work/differing")"
    [ "$n_changed" = 1 ] || fail "$what: $n_changed changed files: $(cat "$work/differing")"
    n_lines=$(cd "$work" && diff -r -U0 before tree | grep -c '^[-+][^-+]' || true)
    [ "$n_lines" = 1 ] || fail "$what: $n_lines changed lines: $(cat "$work/patch")"
    rm -rf "$work/before"
    cp -r "$tree" "$work/before"
}

# ---- an allocator: in a program with its symbol, and without blocks

allocator=snapshot/heaps/dummy/walker.c
mkdir "$tree/snapshot/heaps/dummy"
cat >"$tree/$allocator" <<'END'
#include "heaps/allocator.h"

static char dummy;

static hs_status dummy_open(const struct hs_process_copy *process, void **ret_state,
                            struct hs_error *err)
{
    struct hs_live_symbol symbol;

    (void)err;
    if (hs_objects_find(process->objects, "heapsnap_dummy_allocator", &symbol))
        *ret_state = &dummy;
    return HS_OK;
}

static hs_status dummy_step(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                            struct hs_error *err)
{
    (void)state, (void)map, (void)ledger, (void)err;
    return HS_OK;
}

static void dummy_close(void *state)
{
    (void)state;
}

static const char *dummy_version(const void *state)
{
    (void)state;
    return "7.1";
}

const struct hs_allocator hs_allocator_dummy = {
    .name = "dummy allocator",
    .open = dummy_open,
    .add_spans = dummy_step,
    .mark = dummy_step,
    .close = dummy_close,
    .version = dummy_version,
    .known_as = "dummy allocator",
    .library = "libdummy.",
    .symbols = {"heapsnap_dummy_allocator"},
};
END
a_line snapshot/heaps/include/heaps/allocators.h '^#define HS_ALLOCATORS[(]' '    X(dummy) \'
touches "an allocator"

# ---- a runtime: in a program with its symbol, without blocks and roots

mkdir "$tree/snapshot/runtimes/dummy"
echo 'hs_floor(hs_dummy PUBLIC hs_runtimes)' >"$tree/snapshot/runtimes/dummy/CMakeLists.txt"
cat >"$tree/snapshot/runtimes/dummy/runtime.c" <<'END'
#include "runtimes/runtime.h"

#include "base/alloc.h"

struct dummy {
    struct hs_dump *dump;
    struct hs_roots roots;
    struct hs_findings findings;
    struct hs_runtime_fact fact;
};

static bool dummy_serves(const struct hs_objects *objects)
{
    struct hs_live_symbol symbol;
    return hs_objects_find(objects, "heapsnap_dummy_runtime", &symbol);
}

static hs_status dummy_open(struct hs_dump *dump, void **ret_state, struct hs_error *err)
{
    void *memory;

    HS_TRY(hs_alloc(1, sizeof(struct dummy), &memory, err));
    struct dummy *dummy = memory;
    dummy->dump = dump;
    dummy->findings.strings = &dump->strings;
    *ret_state = dummy;
    return HS_OK;
}

static void dummy_close(void *state)
{
    struct dummy *dummy = state;

    if (dummy == NULL)
        return;
    hs_roots_fini(&dummy->roots);
    hs_findings_fini(&dummy->findings);
    hs_free(dummy);
}

static hs_status dummy_step(void *state, struct hs_error *err)
{
    (void)state, (void)err;
    return HS_OK;
}

static void dummy_rehearse(void *state, bool copies)
{
    (void)state, (void)copies;
}

static void dummy_forget(void *state)
{
    (void)state;
}

static const struct hs_roots *dummy_leaves(const void *state)
{
    const struct dummy *dummy = state;
    return &dummy->roots;
}

static hs_status dummy_facts(void *state, struct hs_runtime_facts *ret,
                             struct hs_snap_facts *facts, struct hs_error *err)
{
    struct dummy *dummy = state;

    (void)facts;
    HS_TRY(hs_strtab_add(&dummy->dump->strings, "dummy runtime", &dummy->fact.name, err));
    HS_TRY(hs_strtab_add(&dummy->dump->strings, "7.2", &dummy->fact.version, err));
    HS_TRY(hs_findings_note(&dummy->findings, false, err, "the dummy runtime has no blocks"));
    *ret = (struct hs_runtime_facts){
        .runtimes = &dummy->fact, .n_runtimes = 1, .findings = &dummy->findings};
    return HS_OK;
}

static uint64_t dummy_n_blocks(const void *state)
{
    (void)state;
    return 0;
}

static uint64_t dummy_below(const void *state, hs_addr address)
{
    (void)state, (void)address;
    return 0;
}

static uint64_t dummy_rank(const void *state, hs_addr block)
{
    (void)state, (void)block;
    return HS_NO_NODE;
}

static bool dummy_peek(void *state, hs_addr *ret)
{
    (void)state, (void)ret;
    return false;
}

static hs_status dummy_next(void *state, hs_addr not_before, struct hs_runtime_block *ret,
                            struct hs_error *err)
{
    (void)state, (void)not_before, (void)ret;
    return hs_fail(err, HS_FORMAT, "the dummy runtime has no blocks");
}

static hs_status dummy_types(void *state, struct hs_type_tables *ret, struct hs_error *err)
{
    (void)state, (void)err;
    *ret = (struct hs_type_tables){0};
    return HS_OK;
}

static hs_status dummy_samples(void *state, struct hs_runtime_samples *ret, struct hs_error *err)
{
    (void)state, (void)err;
    *ret = (struct hs_runtime_samples){0};
    return HS_OK;
}

const struct hs_runtime hs_runtime_dummy = {
    .name = "dummy",
    .serves = dummy_serves,
    .open = dummy_open,
    .close = dummy_close,
    .prepare = dummy_step,
    .rehearse = dummy_rehearse,
    .forget = dummy_forget,
    .copy = dummy_step,
    .list = dummy_step,
    .roots = dummy_step,
    .leaves = dummy_leaves,
    .facts = dummy_facts,
    .n_blocks = dummy_n_blocks,
    .below = dummy_below,
    .rank = dummy_rank,
    .peek = dummy_peek,
    .next = dummy_next,
    .types = dummy_types,
    .samples = dummy_samples,
};
END
a_line snapshot/runtimes/include/runtimes/runtimes.h '^#define HS_RUNTIMES[(]' '    X(dummy) \'
touches "a runtime"

# ---- an export

cat >"$tree/export/export_dummy.c" <<'END'
#include "export/exporter.h"
#include "pen.h"

static hs_status export_dummy(struct hs_view *view, const struct hs_export_target *target,
                              struct hs_error *err)
{
    struct hs_pen pen = hs_pen_of(target->out);

    hs_pen_text(&pen, "exported ");
    hs_pen_text(&pen, view->path);
    return hs_pen_finish(&pen, HS_OK, err);
}

const struct hs_exporter hs_exporter_dummy = {.needs = HS_VIEW_SNAP, .write = export_dummy};
END
a_line export/include/export/exporters.h '^#define HS_EXPORTERS[(]' '    exporter(dummy) \'
touches "an export"

# ---- a command

cat >"$tree/tools/cmd_dummy.c" <<'END'
#include "commands.h"

hs_status hs_cmd_dummy(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    return hs_print(&tool->out, err, "nothing about %s\n", inv->arguments[0]);
}
END
a_line tools/commands.def '' \
    'HS_COMMAND(dummy, "help", "does nothing", "WHAT", 1, 1, HS_OPTIONS(), "Nothing is done.", "")'
touches "a command"

# ---- build

# over_it LOG: builds what has changed, in the build directory of this test, whose files stay as
# they are: a view of the sources with the changes on top takes their place for this command alone.
# Where no such view can be made there is no LOG.
over_it()
{
    [[ $BUILD_DIR == "$SOURCE_DIR"/* ]] || return 1
    grep -q '^HS_WERROR:[A-Z]*=ON$' "$BUILD_DIR/CMakeCache.txt" || return 1
    mkdir "$work/over" "$work/over/upper" "$work/over/work"
    (cd "$tree" && find . -newer "$work/sources" -type f -print0) >"$work/changed"
    # shellcheck disable=SC2016
    unshare --mount bash -c '
        layers=lowerdir=$1,upperdir=$3/over/upper,workdir=$3/over/work
        mount -t overlay -o "$layers" none "$1" || exit 1
        : >"$4"
        cd "$3/tree" && xargs -0 cp -t "$1" --parents <"$3/changed" &&
            cmake --build "$2" --target heapsnap -j "$(nproc)" >"$4" 2>&1' \
        - "$SOURCE_DIR" "$BUILD_DIR" "$work" "$1" 2>/dev/null
}

# afresh LOG: builds all of it.
afresh()
{
    local options=(-DHS_TESTS=OFF -DHS_BENCH=OFF -DHS_WERROR=ON -DCMAKE_BUILD_TYPE=Debug
        "-DCMAKE_C_FLAGS_DEBUG=-O0")
    if command -v ccache >/dev/null; then # the same files as in the last run, elsewhere
        options+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
        export CCACHE_BASEDIR=$work CCACHE_NOHASHDIR=1
    fi
    cmake -S "$tree" -B "$build" "${options[@]}" >"$1" 2>&1 || fail "$(tail -20 "$1")"
    cmake --build "$build" --target heapsnap -j "$(nproc)" >"$1" 2>&1
}

if over_it "$work/log"; then
    HEAPSNAP=$work/over/upper/${BUILD_DIR#"$SOURCE_DIR/"}/bin/heapsnap
elif [ ! -e "$work/log" ]; then
    echo "all is built: nothing can be mounted here"
    afresh "$work/log" && HEAPSNAP=$build/bin/heapsnap
fi
[ -x "$HEAPSNAP" ] && [[ $HEAPSNAP == "$work"/* ]] ||
    fail "it does not build: $(grep -A5 -E 'error|warning|\*\*\*' "$work/log" | head -40)"

# ---- the command

heapsnap --help
grep -qE '^  dummy WHAT +does nothing$' "$work/out" || fail "no dummy in: $(cat "$work/out")"
exits 0 help dummy
grep -q 'Nothing is done\.' "$work/out" || fail "help dummy: $(cat "$work/out")"
exits 0 dummy it
[ "$(cat "$work/out")" = "nothing about it" ] || fail "dummy: $(cat "$work/out")"
exits 2 dummi it
hints "did you mean 'heapsnap dummy'?"
exits 0 completion bash
grep -qw dummy "$work/out" || fail "not completed: $(cat "$work/out")"

# ---- the export

python <<'END'
from snapcli import *
a_snap().write()
END
exits 0 export "$work/heap.snap" --to dummy -o "$work/exported"
[ "$(cat "$work/exported")" = "exported $work/heap.snap" ] || fail "$(cat "$work/exported")"
exits 0 export "$work/heap.snap" --to v8 -o "$work/exported.v8"
grep -q '"snapshot"' "$work/exported.v8" || fail "--to v8 writes another format"

# ---- the allocator and the runtime

cat >"$work/program.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef HAS_DUMMIES
int heapsnap_dummy_allocator = 1, heapsnap_dummy_runtime = 1;
#endif
void *kept;

int main(void)
{
    kept = malloc(1000);
    printf("READY\n");
    fflush(stdout);
    pause();
}
END

# dumped NAME [FLAGS]: the program, dumped into NAME.snap; info of it in NAME.json.
dumped()
{
    local name=$1 pid
    shift
    "${CC:-cc}" -O0 "$@" -o "$work/$name" "$work/program.c"
    : >"$work/ready" # the program before was, too
    "$work/$name" >"$work/ready" &
    pid=$!
    started+=("$pid")
    for _ in $(seq 300); do ! grep -q READY "$work/ready" || break; sleep 0.1; done
    heapsnap dump "$pid" -o "$work/$name.snap"
    [ "$code" -ne 3 ] || ! grep -q 'ptrace' "$work/err" || skip "may not trace: $(cat "$work/err")"
    [ "$code" -eq 0 ] || fail "dump of $name: exit $code: $(cat "$work/err")"
    exits 0 check "$work/$name.snap"
    exits 0 info --format json "$work/$name.snap"
    mv "$work/out" "$work/$name.json"
    heapsnap doctor "$pid"
    mv "$work/out" "$work/$name.doctor"
}
dumped plain
dumped with_dummies -DHAS_DUMMIES
grep -q 'dummy allocator' "$work/with_dummies.doctor" || fail "$(cat "$work/with_dummies.doctor")"

python "$work/plain.json" "$work/with_dummies.json" <<'END'
import json, sys
plain, with_dummies = (json.load(open(path)) for path in sys.argv[1:])
def runtimes(info):
    return {(r["name"], r["version"]) for r in info["runtimes"]}
more = runtimes(with_dummies) - runtimes(plain)
assert more == {("dummy allocator", "7.1"), ("dummy runtime", "7.2")}, with_dummies["runtimes"]
assert "the dummy runtime has no blocks" in json.dumps(with_dummies)
assert "dummy" not in json.dumps(plain), plain
END
