# parts: serve
# The served page in a headless browser: every screen by keys alone, without an error, with the
# figures that the commands print; an object, its paths, SQL, a folder of snapshots, what if.
. "$(dirname "$0")/_client.sh"
need node npm chromium
"$HEAPSNAP" serve -h >/dev/null 2>&1 || skip "heapsnap was built without serve"
a_browser
cp "$clients/serve.mjs" "$clients/controls.mjs" "$browser/"

mkdir "$work/series"
for hour in 0 1 2; do
    python3 -B "$clients/fixture.py" "heap-2026010${hour}T000000Z-000001.snap" $((5 * hour))
    mv "$work"/heap-2026* "$work/series/"
done
newest=$work/series/heap-20260102T000000Z-000001.snap
for command in info roots types leaks suspects; do
    exits 0 "$command" "$newest" --json -o "$work/$command.json"
done
oldest=$work/series/heap-20260100T000000Z-000001.snap
exits 0 roots "$oldest" -n 0 --json -o "$work/older.json"
exits 0 types "$oldest" -n 0 --json -o "$work/older_types.json"
exits 0 info "$oldest" --json -o "$work/older_info.json"
exits 0 diff "$work/series" --json -o "$work/diff.json"
largest=$(python3 -c 'import json, sys
print(json.load(open(sys.argv[1]))["roots"][0]["id"])' "$work/roots.json")
exits 0 object "$newest" "$largest" --json -n 50 -o "$work/object.json"
exits 0 roots "$newest" --group-by module -n 400 --json -o "$work/modules.json"
exits 0 sql "$newest" 'select count(*) as n from blocks' --json -o "$work/count.json"
exits 0 roots "$newest" --without "$largest" --json -o "$work/without.json"
"$HEAPSNAP" serve "$work/series" >"$work/address" 2>"$work/talk" &
server=$!
started+=("$server")
for _ in $(seq 100); do
    [ ! -s "$work/address" ] || break
    sleep 0.1
done
node "$browser/serve.mjs" "$(cat "$work/address")" "$work" >"$work/page" 2>&1 ||
    fail "the page: $(tail -20 "$work/page") $(cat "$work/talk")"
cat "$work/page"
kill -TERM "$server"
wait "$server" || fail "the server ended with $?"

# A trace, of which the first half is there when the page opens.
a_trace
cp "$clients/trace_live.mjs" "$browser/"
head -c "$(($(stat -c %s "$trace") / 2))" "$trace" >"$work/half.ctf"
exits 0 trace top "$work/half.ctf" --json -n 400 -o "$work/half.json"
rm "$work/address" # of the server before
"$HEAPSNAP" serve "$work/half.ctf" >"$work/address" 2>"$work/talk" &
server=$!
started+=("$server")
for _ in $(seq 100); do
    [ ! -s "$work/address" ] || break
    sleep 0.1
done
node "$browser/trace_live.mjs" "$(cat "$work/address")" "$work/half.json" \
    "tail -c +$(($(stat -c %s "$work/half.ctf") + 1)) '$trace' >>'$work/half.ctf'" \
    >"$work/page" 2>&1 ||
    fail "the page of a trace: $(tail -20 "$work/page") $(cat "$work/talk")"
cat "$work/page"
kill -TERM "$server"
wait "$server" || fail "the server of a trace ended with $?"
