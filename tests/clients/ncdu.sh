# parts: export
# ncdu opens our files and shows roots as folders; an independent reader adds up what is in them.
. "$(dirname "$0")/_client.sh"
need ncdu script

# sum FILE: by Python's JSON reader.
sum()
{
    python3 - "$1" <<'PY'
import json
import sys
document = json.load(open(sys.argv[1], encoding="utf-8"))
assert document[:2] == [1, 2], document[:2]
total, left = 0, [document[3]]
while left:
    item = left.pop()
    if isinstance(item, list):
        left += item
    else:
        total += item.get("asize", 0)
        assert "/" not in item["name"] and item["name"], item
print(total)
PY
}

# screen FILE KEYS: what ncdu draws on a terminal of 100 columns, without its colours.
screen()
{
    { sleep 1; printf '%s' "$2"; sleep 0.5; printf 'q'; } |
        TERM=xterm timeout 20 script -qec "stty rows 50 cols 100; ncdu --color off -e -f $1" \
            /dev/null | sed 's/\x1b[[(][0-9;?]*[A-Za-z]/ /g' >"$work/screen"
}

export_to ncdu
same "bytes" "$(sum "$work/heap.ncdu")" "$heap_bytes"
screen "$work/heap.ncdu" ""
grep -qF 'root finaliser watched' "$work/screen" || fail "no root in: $(cat "$work/screen")"
grep -qF 'Total disk usage:' "$work/screen" || fail "not opened: $(cat "$work/screen")"
grep -qF 'root global tab\x09here' "$work/screen" || fail "a hostile name is lost"

a_trace
trace_to ncdu
same "allocated" "$(sum "$work/trace.ncdu")" "$trace_bytes"
screen "$work/trace.ncdu" ""
grep -qF 'Total disk usage:' "$work/screen" || fail "not opened: $(cat "$work/screen")"
