# Sourced by the tests of a watch in shell: ends one between two dumps.

# end_watch PID: a watch that is told to end while it looks at a dump leaves that without keys and
# tables, and says so: it is told when none is at work, which it may not begin meanwhile.
end_watch()
{
    for _ in $(seq 3000); do
        kill -STOP "$1"
        until grep -q '^State:.*[TZ] (' "/proc/$1/status"; do
            sleep 0.01
        done
        if [ -z "$(cat "/proc/$1/task/$1/children")" ]; then
            kill "$1"
            kill -CONT "$1"
            wait "$1" || fail "the watch"
            return
        fi
        kill -CONT "$1"
        sleep 0.02
    done
    fail "the watch is never between two dumps"
}
