# parts: python
# Every Python that is here: the bytes in blocks of obmalloc against sys._debugmallocstats, the
# names of types against the objects that the program made. HS_LONG=1: ten times as many objects.
# shellcheck source=tests/live/_walkers.sh
. "$SOURCE_DIR/tests/live/_walkers.sh"

command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }

scale=1
[ -z "${HS_LONG:-}" ] || scale=10

# check PYTHON: against what it says of itself.
check()
{
    start "$@" "$fixtures/cpython_known.py" "$scale" || fail "$1"
    list types
    python3 "$compare/_cpython_compare.py" "$work/log" "$work/errors" "$work/listed" || fail "$1"
    stop_target
}
check /usr/bin/python3
for version in 3.7 3.8 3.9 3.10 3.12 3.13; do
    for python in "$HOME"/.pyenv/versions/$version.*/bin/python3; do
        [ -x "$python" ] && check "$python"
    done
done

# The same objects where malloc is jemalloc: two allocators in one process.
library=$(jemalloc_library)
[ -z "$library" ] || check env LD_PRELOAD="$library" /usr/bin/python3
