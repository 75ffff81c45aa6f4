# Debian's redis-server, keys of all types: what is listed against what jemalloc counts of itself.
# HS_LONG=1: 1,000,000 keys.
# shellcheck source=tests/live/_walkers.sh
. "$SOURCE_DIR/tests/live/_walkers.sh"

for tool in redis-server redis-cli nm python3; do
    command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
ldd "$(command -v redis-server)" | grep jemalloc >/dev/null ||
    { echo "skipped: redis without jemalloc"; exit 77; }

keys=60000
[ -z "${HS_LONG:-}" ] || keys=1000000

redis-server --port 0 --unixsocket "$work/socket" --save "" --appendonly no --dir "$work" \
    --daemonize no >"$work/log" 2>"$work/errors" &
pid=$!
for _ in $(seq 600); do
    redis-cli -s "$work/socket" ping 2>/dev/null | grep PONG >/dev/null && break
    sleep 0.1
done
python3 "$compare/_jemalloc_redis.py" commands "$keys" | redis-cli -s "$work/socket" --pipe \
    >"$work/pipe" || fail "filling redis"
grep -q "errors: 0" "$work/pipe" || fail "redis did not take all commands"
sleep 0.5

# jemalloc's own statistics, printed inside the process while nothing else runs there.
echo "printed malloc_stats_print 0 0 0" |
    python3 -B "$SOURCE_DIR/tests/live/_call_in.py" "$pid" --stop >"$work/called" 2>&1 ||
    { cat "$work/called"; fail "calling jemalloc"; }
grep -q "^Allocated:" "$work/errors" || fail "no statistics: $(cat "$work/called")"
list
python3 "$compare/_jemalloc_redis.py" compare "$work/errors" "$work/listed" || fail "redis"
