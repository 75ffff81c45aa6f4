# Sourced: a redis-server with debug information, built once from Debian's source package.
# get_redis MALLOC sets $redis to the program; MALLOC is libc or jemalloc (redis brings 5.2.1).
get_redis()
{
    local malloc=$1 home=$BUILD_DIR/redis-$1 apt=$BUILD_DIR/redis-apt
    redis=$home/src/redis-server
    [ -x "$redis" ] && return
    command -v apt-get >/dev/null && command -v make >/dev/null ||
        { echo "skipped: no apt-get or make"; exit 77; }
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
    if ! ls "$apt"/redis_*.orig.tar.gz >/dev/null 2>&1; then
        apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
            sort -u | awk '$1 ~ /debian/ { print "deb-src", $1, $2, $3 }' >"$apt/sources.list"
        local options=(-q -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=-
            -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache"
            -o APT::Sandbox::User=root)
        (apt-get "${options[@]}" update && cd "$apt" &&
            apt-get "${options[@]}" --download-only source redis) >"$apt/log" 2>&1 ||
            { echo "skipped: apt has no source of redis"; tail -2 "$apt/log"; exit 77; }
    fi
    rm -rf "$home"
    mkdir -p "$home"
    tar -xf "$apt"/redis_*.orig.tar.gz -C "$home" --strip-components 1
    make -j2 -C "$home/src" redis-server "MALLOC=$malloc" OPTIMIZATION=-O1 CFLAGS=-g \
        USE_SYSTEMD=no >"$home/log" 2>&1 ||
        { tail -5 "$home/log"; fail "building redis"; }
}

# start_redis ARGUMENTS...: listens on $work/socket alone and keeps nothing on disk.
start_redis()
{
    "$redis" --port 0 --unixsocket "$work/socket" --save "" --appendonly no --dir "$work" \
        --daemonize no "$@" >"$work/log" 2>&1 &
    pid=$!
    for _ in $(seq 600); do
        redis-cli -s "$work/socket" ping 2>/dev/null | grep PONG >/dev/null && return
        sleep 0.1
    done
    fail "redis-server did not start"
}

cli()
{
    redis-cli -s "$work/socket" "$@"
}

# fill_redis KEYS: strings, hashes, lists, sets, sorted sets and streams, some deleted again.
fill_redis()
{
    python3 - "$1" <<'PYTHON' | cli --pipe >/dev/null || fail "filling redis"
import sys
out = sys.stdout.buffer

def put(*words):
    out.write(b"*%d\r\n" % len(words))
    for word in words:
        word = str(word).encode()
        out.write(b"$%d\r\n%s\r\n" % (len(word), word))

for i in range(int(sys.argv[1])):
    kind = i % 8
    if kind < 2:
        put("SET", f"string:{i}", "value " * (i % 40))
    elif kind == 2:
        put("HSET", f"hash:{i}", *(f"{n}:{i}" for n in range(2 + 2 * (i % 10))))
    elif kind == 3:
        put("RPUSH", f"list:{i}", *(f"element {n} of {i}" for n in range(1 + i % 30)))
    elif kind == 4:
        put("SADD", f"set:{i}", *(f"member {n} of {i}" for n in range(1 + i % 20)))
    elif kind == 5:
        put("ZADD", f"zset:{i}", *(w for n in range(1 + i % 150) for w in (n, f"m{n}:{i}")))
    elif kind == 6:
        put("XADD", f"stream:{i}", "*", "field", i)
    else:
        put("SET", f"gone:{i}", "x" * (i % 300))
        put("DEL" if i % 16 == 7 else "TOUCH", f"gone:{i}")
PYTHON
}
