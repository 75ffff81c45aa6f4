# A report opens in a headless browser, from a file and with the network refused: every screen by
# keys alone, without an error, with the figures that the commands print.
. "$(dirname "$0")/_client.sh"
need node npm chromium
[ -z "$SANITIZED" ] || skip "the page does not depend on how heapsnap was built"
a_browser
cp "$clients/report.mjs" "$browser/"

# A second snapshot, for what grew: the same heap with more of it.
python3 -B "$clients/fixture.py" "$work/older.snap"
exits 0 report "$heap" "$work/older.snap" -o "$work/report.html"
for command in info roots types leaks suspects; do
    exits 0 "$command" "$heap" --json -o "$work/$command.json"
done
node "$browser/report.mjs" "$work/report.html" "$work" >"$work/page" 2>&1 ||
    fail "the page: $(tail -20 "$work/page")"
cat "$work/page"
