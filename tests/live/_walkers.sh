# Sourced by jemalloc_*.sh and cpython_*.sh: starts a program, lists its heap with the probe.
. "$SOURCE_DIR/tests/live/_target.sh"

compare=$SOURCE_DIR/tests/live

# start COMMAND...: runs it until it says "ready".
start()
{
    stop_target
    rm -f "$work/log" # of the program before: it said ready too
    : >"$work/log"
    "$@" >"$work/log" 2>"$work/errors" &
    pid=$!
    local until=$((SECONDS + 120))
    while ! grep -q ready "$work/log"; do
        kill -0 "$pid" 2>/dev/null || fail "$1 ended: $(tail -3 "$work/errors")"
        if [ "$SECONDS" -ge "$until" ]; then
            grep -H . "/proc/$pid"/task/*/wchan "/proc/$pid/status" 2>/dev/null | sed -n 1,80p
            fail "$1 is not ready"
        fi
        sleep 0.1
    done
    for _ in $(seq 300); do # until it sleeps
        [ "$(awk '{ print $3 }' "/proc/$pid/stat")" != S ] || break
        sleep 0.1
    done
}

list()
{
    "$JEMALLOC_PROBE" "$pid" "$@" >"$work/listed" || fail "the probe failed"
}
