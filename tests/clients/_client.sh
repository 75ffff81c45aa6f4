# Sourced by the tests of exports: each opens a file of ours with the program that it is for.
. "$SOURCE_DIR/tests/cli/lib.sh"

clients=$SOURCE_DIR/tests/clients
export PYTHONPATH=$SOURCE_DIR/tests/cli:$clients

# need PROGRAM...
need()
{
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || skip "there is no $program here: scripts/deps"
    done
}

# The snapshot that all exports are tried on, and what info says of it.
python3 -B "$clients/fixture.py" heap.snap
heap=$work/heap.snap
"$HEAPSNAP" info "$heap" --json >"$work/info.json"

# export_to FORMAT [OPTION...]: to $work/heap.FORMAT, twice, with the same bytes.
export_to()
{
    local format=$1
    shift
    exits 0 export "$heap" --to "$format" -o "$work/heap.$format" "$@"
    exits 0 export "$heap" --to "$format" "$@"
    cmp "$work/out" "$work/heap.$format" || fail "--to $format: two runs, two files"
}

# What info says of the snapshot, in bytes and objects.
heap_bytes=$(python3 -c 'import json, sys; print(8 * json.load(open(sys.argv[1]))["words"])' \
    "$work/info.json")
heap_objects=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["objects"])' \
    "$work/info.json")

# same WHAT FOUND EXPECTED
same()
{
    [ "$2" = "$3" ] || fail "$1: found '$2', expected '$3'"
}

# a_trace: an allocation trace, its figures as trace info has them in trace_bytes and live_bytes.
a_trace()
{
    trace=$work/some.ctf
    TRACE=$trace python <<'PY'
import os
from program_trace import Program, Writer
Writer(Program(2, n=3000, n_wide=20), 2, 1e-4).write(os.environ["TRACE"])
PY
    "$HEAPSNAP" trace info "$trace" --json >"$work/trace.json"
    read -r trace_bytes live_bytes < <(python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(*(d["word_bytes"] * d[key]["words"] for key in ("allocated", "live_at_end")))' \
        "$work/trace.json")
}

# trace_to FORMAT [OPTION...]: to $work/trace.FORMAT, twice, with the same bytes.
trace_to()
{
    local format=$1
    shift
    exits 0 trace export "$trace" --to "$format" -o "$work/trace.$format" "$@"
    exits 0 trace export "$trace" --to "$format" "$@"
    cmp "$work/out" "$work/trace.$format" || fail "trace --to $format: two runs, two files"
}

. "$SOURCE_DIR/tests/oracles/_tools.sh"

# a_browser: Chromium in CHROMIUM, and in $browser a directory whose scripts find puppeteer-core.
a_browser()
{
    CHROMIUM=$(command -v chromium)
    export CHROMIUM
    need_npm browser puppeteer-core@24.10.0
    browser=$npm_dir
}
