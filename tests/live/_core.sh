# Sourced by the tests of cores: one stopped process, dumped live, by gcore and by the kernel, and
# the comparison of what comes of them.
. "$SOURCE_DIR/tests/live/_target.sh"
need python3 gcore zstd

mkdir "$work/run" "$work/live" "$work/other"
core_pattern=/proc/sys/kernel/core_pattern
saved_pattern=""
kernel_writes=yes

put_back()
{
    [ -z "$saved_pattern" ] || printf '%s' "$saved_pattern" >"$core_pattern"
    saved_pattern=""
    finish
}
trap put_back EXIT
trap 'exit 1' INT TERM

# The kernel's cores shall go to the directory that the process runs in.
prepare_kernel()
{
    ulimit -c unlimited 2>/dev/null || { kernel_writes=""; return; }
    case $(cat "$core_pattern") in
    [!/\|]*) return ;;
    esac
    if [ -w "$core_pattern" ]; then
        local before
        before=$(cat "$core_pattern")
        if printf core >"$core_pattern" 2>/dev/null; then
            saved_pattern=$before
            return
        fi
    fi
    kernel_writes=""
}
prepare_kernel
[ -n "$kernel_writes" ] || echo "NOT TESTED: cores of the kernel go to '$(cat "$core_pattern")'"

start_at_home() { start env -C "$work/run" "$@"; }

# All threads are stopped, by their user.
stop_by_user()
{
    kill -STOP "$pid"
    for _ in $(seq 1200); do
        grep -h '^State:' "/proc/$pid"/task/*/status | grep -v 'T (stopped)' >/dev/null || return 0
        sleep 0.05
    done
    fail "the target did not stop"
}

# take_gcore NAME: the core of the stopped process as $work/NAME.
take_gcore()
{
    gcore -o "$work/gcore" "$pid" >"$work/gcore.log" 2>&1 || { cat "$work/gcore.log"; fail gcore; }
    mv "$work/gcore.$pid" "$work/$1"
}

# take_kernel_core NAME: ends the process; as $work/NAME. False when the kernel writes none.
take_kernel_core()
{
    [ -n "$kernel_writes" ] || return 1
    rm -f "$work"/run/core*
    kill -ABRT "$pid"
    kill -CONT "$pid"
    wait "$pid" 2>/dev/null || true
    pid=""
    mv "$work"/run/core* "$work/$1" 2>/dev/null || fail "the kernel wrote no core"
}

# dump_live [OPTIONS...]: what cores are compared with.
dump_live()
{
    "$HEAPSNAP" dump "$pid" -o "$work/live/heap.snap" "$@" 2>"$work/talk" ||
        { cat "$work/talk"; fail "the live dump"; }
    said live "$work/live"
}

# dump_core CORE [OPTIONS...]
dump_core()
{
    rm -f "$work/other/heap.snap"
    "$HEAPSNAP" dump --core "$@" -o "$work/other/heap.snap" 2>"$work/talk" ||
        { cat "$work/talk"; fail "the dump of $1"; }
    said "$1" "$work/other"
    "$HEAPSNAP" check "$work/other/heap.snap" >/dev/null || fail "check of $1"
}

# said WHAT DIRECTORY: every answer of the snapshot there; without what is resident, as a core has
# no pages of zeros and does not tell what the kernel had of the others (docs/processes.md).
said()
{
    for command in roots types leaks dominators; do
        (cd "$2" && "$HEAPSNAP" "$command" heap.snap --json -n 0) \
            >"$2/$command.json" 2>"$work/said" ||
            fail "$command of $1"
    done
    sed -i '/^  "memory": {.*"resident_bytes"/d' "$2/roots.json"
}

# same WHAT [STRINGS...]: the last core says what the live dump said. Strings are those of the
# table of memory that may differ: see docs/processes.md.
same()
{
    local what=$1 left
    shift
    for command in roots types leaks dominators; do
        cmp "$work/live/$command.json" "$work/other/$command.json" ||
            {
                diff "$work/live/$command.json" "$work/other/$command.json" |
                    cut -c 1-300 | sed -n 1,10p || true
                cat "$work/talk" # what the dump of the core said: of binaries that it lacked, say
                diff <("$HEAPSNAP" info "$work/live/heap.snap") \
                    <("$HEAPSNAP" info "$work/other/heap.snap") || true
                fail "$command of $what"
            }
    done
    left=$(python3 -B "$SOURCE_DIR/tests/live/_same_graph.py" "$work/live/heap.snap" \
        "$work/other/heap.snap" || true)
    for string in "$@"; do
        left=$(grep -vxF "string b'$string'" <<<"$left" || true)
    done
    [ -z "$left" ] || [ "$left" = same ] || { echo "$left"; fail "$what differs"; }
    echo "$what: the same"
}
