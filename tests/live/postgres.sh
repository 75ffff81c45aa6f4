#!/usr/bin/env bash
# PostgreSQL's memory contexts against what the backend itself logs of them: all bytes, chunks and
# contexts of 15 and 17, with AllocSets, Generations and Bumps; each keeps what is its own, and no
# more roots than one keep the tree. The backend rests in the statement that logged.
. "$SOURCE_DIR/tests/live/_native.sh"
need setpriv patchelf

# It refuses to run as root, and wants a user that the system knows.
as_user=()
if [ "$(id -u)" -eq 0 ]; then
    as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    id 65534 >/dev/null 2>&1 || { echo "skipped: no user 65534"; exit 77; }
fi
chmod 755 "$work"

# unpack VERSION: into $work/VERSION, where any user can run it. False: it cannot be had.
unpack()
{
    local root=$SOURCE_DIR/build/postgres$1-root status=0
    "$SOURCE_DIR/scripts/postgres-root" "$1" "$root" >"$work/unpack" 2>&1 || status=$?
    if [ $status -eq 77 ]; then
        echo "without $1: $(tail -1 "$work/unpack")"
        return 1
    fi
    [ $status -eq 0 ] || { cat "$work/unpack"; fail "postgres-root $1"; }
    cp -a "$root" "$work/$1"
    bin=$work/$1/usr/lib/postgresql/$1/bin
    for name in postgres initdb; do
        patchelf --set-interpreter "$work/$1/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" \
            "$bin/$name"
    done
}

statements()
{
    echo "create table big as select g i, 'row '||g t from generate_series(1,20000) g;"
    echo "create function f(n int) returns int language plpgsql as \$\$ declare s int := 0;" \
        "begin for i in 1..n loop s := s + i; end loop; return s; end \$\$;"
    echo "select f(10);"
    for i in $(seq 20); do
        echo "create table t$i(a int primary key, b text, c numeric);"
        echo "prepare p$i as select * from t$i join big on a = i where b = \$1;"
        echo "execute p$i('x');"
    done
    echo "begin;"
    echo "declare c cursor for select t, i from big order by t desc;"
    echo "fetch 5 from c;"
    echo "select pg_log_backend_memory_contexts(pg_backend_pid()), pg_sleep(1000);"
}

# A backend without a server, which reads its statements from standard input.
rest()
{
    stop_target
    mkdir "$work/data$1"
    [ ${#as_user[@]} -eq 0 ] || chown 65534:65534 "$work/data$1"
    (cd "$work/data$1" && "${as_user[@]}" "$bin/initdb" -D "$work/data$1" -U postgres --no-sync \
        --locale=C -E UTF8 -A trust) >"$work/initdb" 2>&1 || { cat "$work/initdb"; fail "initdb"; }
    rm -f "$work/input"
    mkfifo "$work/input"
    # It is killed in the end: nothing of it shall stay in /dev/shm.
    (cd "$work/data$1" && exec "${as_user[@]}" "$bin/postgres" --single -D "$work/data$1" \
        -c dynamic_shared_memory_type=mmap postgres) <"$work/input" >"$work/log" 2>&1 &
    pid=$!
    exec 9>"$work/input"
    statements >&9
    for _ in $(seq 600); do
        if grep -q 'Grand total' "$work/log"; then
            sleep 0.5
            return
        fi
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.1
    done
    fail "postgres $1 does not log its contexts"
}

compare()
{
    for command in info types roots leaks; do
        "$HEAPSNAP" $command "$work/heap.snap" $([ $command != types ] || echo "-n 0") \
            --json >"$work/$command.json" || fail "$1: $command"
    done
    python3 "$SOURCE_DIR/tests/live/_postgres_compare.py" "$work" "$1" || fail "$1 differs"
    "$HEAPSNAP" suspects "$work/heap.snap" | tr -s ' \n' ' ' >"$work/suspects" || fail "suspects"
    grep -q ' 1\. TopMemoryContext (postgres) alone keeps .* MemoryContext [A-Z]' \
        "$work/suspects" || { cat "$work/suspects"; fail "$1: the first sentence"; }
    ! grep -Eq '([2-9]|[0-9]{2,}) chunk in ' "$work/suspects" || fail "$1: one chunk of many"
}

n_tested=0
for version in 15 17; do
    unpack $version || continue
    rest $version
    dump
    compare $version
    rm -rf "$work"/heap.snap* "$work/${version:?}"
    n_tested=$((n_tested + 1))
done
[ $n_tested -ne 0 ] || { echo "skipped: no PostgreSQL can be had"; exit 77; }
