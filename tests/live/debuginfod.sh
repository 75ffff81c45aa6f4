#!/usr/bin/env bash
# A stripped program gets its names from a symbol server: Debian's own, on loopback; and what a
# server does wrong, or does not do, costs no answer, but names, which is said.
. "$(dirname "$0")/_native.sh"
need gcc debuginfod curl objcopy strip readelf dwz
case " $PARTS " in *" debuginfod "*) ;; *) echo "skipped: no heapsnap-debuginfod"; exit 77 ;; esac

cat >"$work/stock.c" <<'EOC'
#include <stdio.h>
#include <stdlib.h>
struct item {
    struct item *next;
    long price[5];
};
struct stock {
    struct item *items;
};
static struct stock stock;
int main(void)
{
    for (int i = 0; i < 3000; i++) {
        struct item *one = calloc(1, sizeof *one);
        one->next = stock.items;
        stock.items = one;
    }
    puts("READY");
    fflush(stdout);
    getchar();
    return stock.items == NULL;
}
EOC
mkdir "$work/files" "$work/bin"
gcc -g -O1 -Wl,--build-id -o "$work/bin/stock" "$work/stock.c" || fail "building"
# As distributions have it: what two programs share is in a third file, which has a build-id, too.
gcc -g -O1 -Wl,--build-id -DOTHER -o "$work/other" "$work/stock.c"
for one in "$work/bin/stock" "$work/other"; do
    objcopy --only-keep-debug "$one" "$work/files/${one##*/}.debug"
done
strip "$work/bin/stock"
(cd "$work/files" && dwz -q -m stocks.dwz -M /nowhere/stocks.dwz stock.debug other.debug) ||
    fail "dwz"
rm "$work/files/other.debug"
# The text of both compressed, as some distributions have it.
objcopy --compress-debug-sections=zstd "$work/files/stock.debug" || fail "zstd"
objcopy --compress-debug-sections=zlib "$work/files/stocks.dwz" || fail "zlib"
for one in stock.debug stocks.dwz; do
    readelf -SW "$work/files/$one" | grep '\.debug_.* C ' >/dev/null ||
        fail "$one is not compressed"
done
# build_id FILE
build_id()
{
    readelf -n "$1" | sed -n 's/.*Build ID: //p'
}
id=$(build_id "$work/bin/stock")

# A port of loopback that is free now.
free_port()
{
    python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

# ask URLS [OPTION...]: a dump with these servers and an empty cache; what it says is in $work/talk,
# who keeps most in $work/said.
ask()
{
    rm -rf "$work/cache" "$work"/heap.snap*
    DEBUGINFOD_URLS=$1 DEBUGINFOD_CACHE_PATH=$work/cache dump "${@:2}"
    "$HEAPSNAP" suspects "$work/heap.snap" -n 1 | tr -s ' \n' '  ' >"$work/said"
}
named()
{
    grep -q ' stock.items (.*stock.c:10) alone keeps .* 3000 struct item of 56 B' "$work/said"
}
unnamed()
{
    ! grep -q 'struct item' "$work/said" || { cat "$work/said"; fail "$1: named"; }
    grep -q ' alone keeps ' "$work/said" || { cat "$work/said"; fail "$1: no answer"; }
    "$HEAPSNAP" info "$work/heap.snap" | tr -s ' \n' '  ' | grep "$2" >/dev/null ||
        { "$HEAPSNAP" info "$work/heap.snap"; fail "$1: not told"; }
    echo "$1: answered without names"
}

start "$work/bin/stock"
port=$(free_port)
debuginfod -F "$work/files" -p "$port" -d :memory: >"$work/log.server" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true; finish' EXIT
url=http://127.0.0.1:$port
for _ in $(seq 300); do
    curl -sf -o "$work/got" "$url/buildid/$id/debuginfo" && break
    kill -0 "$server" 2>/dev/null || { cat "$work/log.server"; fail "debuginfod ended"; }
    sleep 0.2
done
cmp "$work/got" "$work/files/stock.debug" || fail "debuginfod has not the file"

ask "" && unnamed "no server" ""
ask "$url"
named || { cat "$work/said" "$work/talk"; fail "no names from the server"; }
grep -q '2 files of .* from the symbol server' "$work/talk" ||
    { cat "$work/talk"; fail "not told"; }
# What dwz moved is here, but for the debug file; then neither here nor on the server.
shared=$(build_id "$work/files/stocks.dwz")
mkdir -p "$work/here/.build-id/${shared:0:2}" "$work/half/.build-id/${id:0:2}"
cp "$work/files/stocks.dwz" "$work/here/.build-id/${shared:0:2}/${shared:2}.debug"
ask "$url" --debug-path "$work/here"
named && grep -q '1 file of ' "$work/talk" || { cat "$work/talk"; fail "what dwz moved is here"; }
cp "$work/files/stock.debug" "$work/half/.build-id/${id:0:2}/${id:2}.debug"
ask "" --debug-path "$work/half"
unnamed "without what dwz moved" "dwz moved them to '/nowhere/stocks.dwz'"
ask "$url" --debuginfod off && unnamed "--debuginfod off" ""
ask "$url" --no-names && unnamed "--no-names" ""
ask "$url" --debuginfod ask && unnamed "nobody to ask" ""
echo "names from a server, where it may be asked"
kill "$server"
wait "$server" || true
ask "$url" && unnamed "a server that is gone" "could not be asked"

# A server that answers each build-id with what its name says, and one byte a second.
cat >"$work/server.py" <<'PYTHON'
import http.server, os, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        kind = os.environ["KIND"]
        if kind == "elsewhere":
            self.send_response(302)
            self.send_header("Location", "file:///etc/hostname")
            self.end_headers()
            return
        self.send_response(200)
        if kind in ("other", "bomb"):
            data = open(os.environ["OTHER"], "rb").read()
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            return
        self.end_headers()
        try:
            while True:
                self.wfile.write(b"\x7fELF" if kind == "slow" else bytes(1 << 16))
                self.wfile.flush()
                time.sleep(1 if kind == "slow" else 0)
        except OSError:
            pass
    def log_message(self, *args):
        pass
with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
    print(server.server_port, flush=True)
    server.serve_forever()
PYTHON
gcc -g -O1 -Wl,--build-id -Dmain=entry -shared -fPIC -o "$work/other.so" "$work/stock.c"
# The right build-id, and 96 MiB of debug information in 96 KiB.
head -c 96M /dev/zero >"$work/zeros"
objcopy --decompress-debug-sections --update-section .debug_info="$work/zeros" \
    "$work/files/stock.debug" "$work/bomb.so" &&
    objcopy --compress-debug-sections=zlib "$work/bomb.so" || fail "a bomb"
rm "$work/zeros"
for kind in other bomb elsewhere slow endless; do
    : >"$work/port"
    other=$work/other.so
    [ $kind != bomb ] || other=$work/bomb.so
    KIND=$kind OTHER=$other python3 "$work/server.py" >"$work/port" &
    server=$!
    until [ -s "$work/port" ]; do sleep 0.05; done
    case $kind in
    other) told="is of another build" ;;
    bomb) told="claims more than its bytes on the disk can hold" ;;
    elsewhere) told="" ;;
    *) told="symbol servers took more than 2 s" ;;
    esac
    ask "http://127.0.0.1:$(cat "$work/port")" --debuginfod-timeout 2s
    unnamed "a server that is $kind" "$told"
    kill "$server"
    wait "$server" 2>/dev/null || true
done
leave
