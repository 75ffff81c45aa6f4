#!/usr/bin/env bash
# parts: python record
# Under record a Python program's own objects are sampled one by one, with the interpreter's frames:
# of known lines the estimates cover what they are known to have allocated, and the join says who
# keeps it. So it is with each interpreter whose frames are known, with debug hooks beneath, and
# nothing breaks where the program traces itself, forks, starts others and ends.
. "$(dirname "$0")/_native.sh"
. "$(dirname "$0")/_python.sh"
[ -e "$BUILD_DIR/bin/libheapsnap-record.so" ] || skip "no recorder in this build"
need python3

# recorded PYTHON PERIOD N [NAME=VALUE]...: the program under record, until it rests.
recorded()
{
    local python=$1 period=$2 n=$3
    shift 3
    start env "$@" "$HEAPSNAP" record --rate "$period" -o "$work/app.trace" -- "$python" \
        "$fixtures/python_sampled.py" "$n"
    recorder=$pid
    pid=$(pgrep -P "$recorder") || fail "no program"
}

ended()
{
    exec 9>&-
    wait "$recorder" || fail "record: $(cat "$work/log")"
    pid=""
}

# check PYTHON roots|sites PERIOD N [NAME=VALUE]...
check()
{
    local python=$1 what=$2 period=$3
    recorded "$python" "${@:3}"
    rm -f "$work/heap.snap.idx"
    dump
    "$HEAPSNAP" samples "$work/heap.snap" --group-by site,root --json -n 0 >"$work/table.json" \
        2>"$work/talk" || fail "samples: $(cat "$work/talk")"
    echo "$*"
    python3 "$SOURCE_DIR/tests/live/_python_sampled_compare.py" "$work/log" "$work/table.json" \
        "$what" "$period" || fail "$*"
    "$HEAPSNAP" samples "$work/heap.snap" --group-by site,root --json -n 0 \
        --trace "$work/app.trace" >"$work/traced.json" 2>"$work/talk" ||
        fail "samples with the trace: $(cat "$work/talk")"
    python3 "$SOURCE_DIR/tests/live/_python_sampled_compare.py" "$work/log" "$work/traced.json" \
        "$what" "$period" >"$work/said" || fail "$*: with the trace: $(cat "$work/said")"
    ended
    if grep -q "frames of C" "$work/log"; then fail "$python: a version that is not known"; fi
}

# What becomes of the allocators: wrapped again, inherited, and asked at the very end.
cat >"$work/rough.py" <<'PYTHON'
import atexit, os, subprocess, sys, threading, tracemalloc
kept = [str(i) for i in range(1000)]
tracemalloc.start()
more = [str(i) for i in range(1000)]
child = os.fork()
if child == 0:
    [bytes(200) for _ in range(20000)]
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
subprocess.run([sys.executable, "-c", "x = [bytes(200) for _ in range(9999)]"], check=True)
tracemalloc.stop()
[thread.start() for thread in [threading.Thread(target=list, args=(kept,)) for _ in range(20)]]
del more
atexit.register(lambda: [bytes(200) for _ in range(9999)])
class Late:
    def __del__(self):
        self.last = [0] * 1000
late = Late()
PYTHON

n_checked=0
declare -A seen
for python in $(pythons 3.14); do
    version=$(minor "$python")
    [ "$version" -ge 11 ] && [ "$version" -le 14 ] && [ -z "${seen[$version]:-}" ] || continue
    seen[$version]=1
    check "$python" roots 4KiB 20000
    "$HEAPSNAP" record --rate 512 -o "$work/rough.trace" -- "$python" "$work/rough.py" \
        2>"$work/talk" || fail "$python: $(cat "$work/talk")"
    n_checked=$((n_checked + 1))
    first=${first:-$python}
done
[ "$n_checked" != 0 ] || skip "no interpreter whose frames are known"
check "$first" roots 1 400
check "$first" sites 4KiB 20000 PYTHONMALLOC=debug
