#!/usr/bin/env bash
# Debian's own gdb, sqlite3, nginx and python3, stripped as they come: each is dumped with proofs
# that hold and sums that close, its top roots have names, and what hangs on unclaimed memory is
# told.
. "$(dirname "$0")/_native.sh"

# judge NAME: on $work/heap.snap
judge()
{
    "$HEAPSNAP" info "$work/heap.snap" --json >"$work/info.json" || fail "$1: info"
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "$1: roots"
    "$HEAPSNAP" leaks "$work/heap.snap" --json >"$work/leaks.json" || fail "$1: leaks"
    python3 - "$work/info.json" "$work/roots.json" "$work/leaks.json" "$1" <<'PYTHON' || fail "$1"
import json, sys
info, roots, leaks = (json.load(open(path)) for path in sys.argv[1:4])
name, words = sys.argv[4], info["words"]
for proof in info["proofs"]:
    assert proof["holds"], proof
total = sum(root["retained_words"] for root in roots["roots"])
total += roots["shared"]["retained_words"] + roots["others"]["retained_words"]
total += roots["unreached"]["words"]
assert total == roots["heap"]["words"] == words, (total, roots["heap"], words)
rows = sum(row["resident_bytes"] for row in info["memory"])
assert rows == info["resident_bytes"], (rows, info["resident_bytes"])
unclaimed = sum(root["retained_words"] for root in roots["roots"] if root["kind"] == "unclaimed")
print(f"{name}: {info['objects']} blocks, {words} words, {info['pause_ns'] / 1e6:.1f} ms; "
      f"unclaimed {unclaimed / words:.2%}, leaked for certain "
      f"{leaks['certain']['words'] / words:.2%}, possibly {leaks['possible']['words'] / words:.2%}")
for root in roots["roots"][:3]:
    print(f"    {root['retained_words'] / words:7.2%} {root['kind']} {root['name']} {root['file']}")
    assert root["name"]
assert unclaimed < words * 0.05, "memory that nobody claims keeps too much"
assert leaks["certain"]["words"] < words * 0.02, "too much is said to be lost"
PYTHON
}

# One program after the other; those that are not installed are said to be left out.
missing=""
program()
{
    command -v "$1" >/dev/null && return
    missing+=" $1"
    return 1
}

python=$(command -v /usr/bin/python3 || command -v python3 || true)
if program python3; then
    start "$python" -c '
import json, sys
words = {str(i): [i, str(i) * 3, {"key": i}] for i in range(20000)}
text = json.dumps(words)
print("READY", flush=True)
sys.stdin.read()'
    dump
    judge python3
    "$HEAPSNAP" types "$work/heap.snap" --json -n 0 >"$work/types.json"
    for type in dict list str int; do
        grep -q "\"type\": \"$type\"" "$work/types.json" || fail "python3: no type $type"
    done
    leave
fi

if program sqlite3; then
    start sqlite3 -batch :memory: -cmd "create table t(a, b);
insert into t with recursive n(i) as (select 1 union all select i + 1 from n where i < 50000)
    select i, 'row number ' || i from n; create index i on t(b); select 'READY';"
    dump
    judge sqlite3
    leave
fi

if program gdb; then
    start gdb -q -nx -ex "file $HEAPSNAP" -ex 'break hs_dump_process' -ex 'echo READY\n'
    dump
    judge gdb
    stop_target
fi

if program nginx; then
    mkdir -p "$work/nginx"
    cat >"$work/nginx.conf" <<CONF
daemon off;
master_process off;
pid $work/nginx/pid;
error_log $work/nginx/error;
events { worker_connections 4096; }
http {
    access_log off;
    client_body_temp_path $work/nginx/a;
    proxy_temp_path $work/nginx/b;
    fastcgi_temp_path $work/nginx/c;
    uwsgi_temp_path $work/nginx/d;
    scgi_temp_path $work/nginx/e;
    map \$uri \$x { $(for i in $(seq 2000); do echo "/page$i value$i;"; done) }
    server { listen unix:$work/nginx/socket; location / { return 200 \$x; } }
}
CONF
    start bash -c 'nginx -p "$0" -c "$1" & child=$!; trap "kill $child" EXIT
        while [ ! -S "$0/socket" ]; do sleep 0.1; done; echo "CHILD $child"; echo READY; cat' \
        "$work/nginx" "$work/nginx.conf"
    shell=$pid
    pid=$(sed -n 's/^CHILD //p' "$work/log")
    dump
    judge nginx
    kill -KILL "$pid"
    pid=$shell
    stop_target
fi

[ -z "$missing" ] || echo "left out, not installed:$missing"
[ "$missing" != " python3 sqlite3 gdb nginx" ] || exit 77
