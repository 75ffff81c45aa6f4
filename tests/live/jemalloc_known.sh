# Every block of a program that knows its jemalloc heap, none missing, none false: the shared
# library without symbols, the static one with and without; small blocks sampled by the profiler.
# shellcheck source=tests/live/_walkers.sh
. "$SOURCE_DIR/tests/live/_walkers.sh"

[ -f /usr/include/jemalloc/jemalloc.h ] || { echo "skipped: no libjemalloc-dev"; exit 77; }
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }

source=$fixtures/jemalloc_known.c
archive=$(gcc -print-file-name=libjemalloc.a)
gcc -O1 "$source" -o "$work/shared" -ljemalloc -lpthread || fail "building the shared form"
gcc -O1 "$source" -o "$work/static" "$archive" -lpthread -lm -ldl -lstdc++ ||
    fail "building the static form"
strip -o "$work/stripped" "$work/static"

blocks=6000
[ -z "${HS_LONG:-}" ] || blocks=60000

# check NAME PROGRAM [sampled]: against what the program wrote down.
check()
{
    echo "$1:"
    start "$2" "$work/known" "$blocks"
    list
    python3 "$compare/_jemalloc_compare.py" "$work/known" "$work/listed" "${@:3}" || fail "$1"
    stop_target
}
check "shared" "$work/shared"
check "static" "$work/static"
check "static, stripped" "$work/stripped"
MALLOC_CONF=prof:true,lg_prof_sample:14 check "sampled" "$work/shared" sampled
MALLOC_CONF=narenas:1,tcache_max:4096 check "one arena" "$work/shared"
