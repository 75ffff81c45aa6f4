# parts: report
# Reports of real programs in a browser, from files: a server in C++ with types and a leak, a Python
# program, Debian's redis without debug information, and a coqtop; every screen by keys alone, with
# one request and the figures that the commands print.
. "$(dirname "$0")/_client.sh"
need node npm chromium g++
a_browser
cp "$clients/report.mjs" "$clients/controls.mjs" "$browser/"

# await LOG TEXT: until a started program says so.
await()
{
    for _ in $(seq 1200); do
        ! grep -q "$2" "$1" 2>/dev/null || return 0
        sleep 0.1
    done
    fail "no '$2' in $1: $(tail -3 "$1")"
}

# look NAME PID: a dump, the commands' JSON, and the page, which is compared with these.
look()
{
    local name=$1 dir=$work/$1
    mkdir "$dir"
    exits 0 dump "$2" -o "$dir/$name.snap"
    exits 0 report "$dir/$name.snap" -o "$dir/report.html"
    for command in info suspects "roots -n 400" "types -n 400" "leaks -n 200"; do
        # shellcheck disable=SC2086 # words
        exits 0 ${command% -n *} "$dir/$name.snap" ${command#"${command% -n *}"} --json \
            -o "$dir/${command% -n *}.json"
    done
    [ "$(stat -c %s "$dir/report.html")" -lt 1048576 ] || fail "$name: more than 1 MiB"
    node "$browser/report.mjs" "$dir/report.html" "$dir" real >"$work/page" 2>&1 ||
        fail "the page of $name: $(tail -20 "$work/page")"
}

# program NAME TEXT COMMAND...: with a standard input that stays open, until it says the text.
program()
{
    local name=$1 text=$2
    shift 2
    mkfifo "$work/$name.input"
    "$@" <"$work/$name.input" >"$work/$name.log" 2>&1 &
    pid=$!
    started+=("$pid")
    exec 8>"$work/$name.input"
    [ "$name" != coq ] || echo 'Definition loaded := tt.' >&8
    await "$work/$name.log" "$text"
}

g++ -O2 -g -o "$work/shop.exe" "$SOURCE_DIR/docs/examples/shop.cpp" || fail "shop.cpp"
program shop ready "$work/shop.exe" 3000
look shop "$pid"
exec 8>&-
if [ -x /usr/bin/python3 ]; then
    program feed ready /usr/bin/python3 "$SOURCE_DIR/docs/examples/feed.py" 2000
    look feed "$pid"
    exec 8>&-
fi
if command -v redis-server >/dev/null; then
    redis-server --port 0 --unixsocket "$work/socket" --save '' --dir "$work" \
        >"$work/redis.log" 2>&1 &
    started+=($!)
    pid=$!
    await "$work/redis.log" "accept connections"
    for i in $(seq 2000); do
        echo "set key:$i value-$i"
        echo "rpush list:$((i % 9)) $i"
    done | redis-cli -s "$work/socket" >/dev/null || fail "filling redis"
    look redis "$pid"
fi
if command -v coqtop >/dev/null; then
    program coq "loaded is defined" coqtop -q
    look coq "$pid"
    exec 8>&-
fi
