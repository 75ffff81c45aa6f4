# Sourced after _target.sh by what looks into a coqtop with a large library loaded.

# start_coqtop COMMAND...: until the library is there; its standard input stays open.
start_coqtop()
{
    mkfifo "$work/input"
    : >"$work/log"
    "$@" <"$work/input" >"$work/log" 2>&1 &
    pid=$!
    exec 9>"$work/input"
    cat >&9 <<'END'
From Coq Require Import Reals Lia Lra MSets ssreflect.
Definition loaded := tt.
END
    for _ in $(seq 1200); do
        grep -q "loaded is defined" "$work/log" && break
        kill -0 "$pid" || fail "coqtop ended: $(tail -3 "$work/log")"
        sleep 0.2
    done
    sleep 0.5
}

# dump NAME. What a search for names finds within its time is not the same at any load: here it may
# take as long as it needs.
dump()
{
    "$HEAPSNAP" dump "$pid" --names-timeout 600s -o "$work/$1.snap" || fail "the dump $1.snap"
}

# dump_stopped: one dump while it waits for input, two while it is stopped, which must be the same;
# it stays stopped.
dump_stopped()
{
    dump live
    kill -0 "$pid" || fail "coqtop did not survive the dump"
    kill -STOP "$pid"
    for _ in $(seq 600); do # until it is stopped
        grep -q '^State:.*T' "/proc/$pid/status" && break
        sleep 0.1
    done
    dump one
    dump two
    python3 -B "$SOURCE_DIR/tests/live/_same_graph.py" "$work/one.snap" "$work/two.snap" ||
        fail "two dumps of one stopped process differ"
    grep -q '^State:.*T' "/proc/$pid/status" || fail "the stopped process did not stay stopped"
    "$HEAPSNAP" check "$work/one.snap" || fail "check"
    "$HEAPSNAP" info "$work/one.snap"
    "$HEAPSNAP" roots "$work/one.snap" --json -n 0 >"$work/roots.json"
    "$HEAPSNAP" roots "$work/one.snap" --min-words 100000 -n 15
}

# counts_equal WHAT: the runtime's own count of the roots that reach most and of some in between,
# asked in the stopped process. WHAT as _coqtop_counts.py has it.
counts_equal()
{
    local what=$1
    python3 -B "$SOURCE_DIR/tests/live/_coqtop_counts.py" choose "$what" "$work" ||
        fail "what the snapshot says"
    timeout 300 python3 -B "$SOURCE_DIR/tests/live/_call_in.py" "$pid" <"$work/calls" \
        >"$work/counts" 2>&1 || true
    python3 -B "$SOURCE_DIR/tests/live/_coqtop_counts.py" compare "$what" "$work" ||
        fail "the runtime's own count"
}

# works_on: it does what it is told.
works_on()
{
    kill -CONT "$pid"
    echo 'Definition again := loaded.' >&9
    for _ in $(seq 1200); do
        grep -q "again is defined" "$work/log" && break
        sleep 0.1
    done
    grep -q "again is defined" "$work/log" || fail "coqtop does not work on"
}
