# Debian's redis-server with jemalloc's profiler on: every sampled block with backtrace and keeper,
# as many as its own dump counts. Nothing of it has debug information.
# shellcheck source=tests/live/_native.sh
. "$SOURCE_DIR/tests/live/_native.sh"
# shellcheck source=tests/live/_redis.sh
. "$SOURCE_DIR/tests/live/_redis.sh"
need redis-server redis-cli nm
redis=$(command -v redis-server)
ldd "$redis" | grep jemalloc >/dev/null || { echo "skipped: redis without jemalloc"; exit 77; }

export MALLOC_CONF=prof:true,lg_prof_sample:14,prof_prefix:$work/redis
start_redis
unset MALLOC_CONF
fill_redis 20000
sleep 0.5
echo 'dumped mallctl "prof.dump" 0 0 0 0' |
    python3 -B "$SOURCE_DIR/tests/live/_call_in.py" "$pid" --stop >"$work/called" 2>&1 ||
    { cat "$work/called"; fail "calling jemalloc"; }
profile=$(ls "$work"/redis.*.heap 2>/dev/null) ||
    { cat "$work/called"; fail "no dump by jemalloc"; }
dump
"$HEAPSNAP" info "$work/heap.snap" --json >"$work/info.json" || fail "info"
"$HEAPSNAP" samples "$work/heap.snap" --json >"$work/samples.json" || fail "samples"
python3 "$SOURCE_DIR/tests/live/_sampled_compare.py" redis "$work/samples.json" "$profile" \
    "$work/info.json" || fail "redis"
