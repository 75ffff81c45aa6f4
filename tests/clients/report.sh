# parts: report
# A report opens in a headless browser, from a file and with the network refused: every screen by
# keys alone, without an error, with the figures that the commands print.
. "$(dirname "$0")/_client.sh"
need node npm chromium
a_browser
cp "$clients/report.mjs" "$clients/controls.mjs" "$browser/"

# A second snapshot, for what grew: the same heap with more of it.
python3 -B "$clients/fixture.py" "$work/older.snap"
exits 0 report "$heap" "$work/older.snap" -o "$work/report.html"
for command in info roots types leaks suspects; do
    exits 0 "$command" "$heap" --json -o "$work/$command.json"
done
grep -q '"verdict": "91 % is no live heap: 90.0 MiB are free in glibc, in 1234 pieces' \
    "$work/suspects.json" || fail "there is no verdict that the page could show"
node "$browser/report.mjs" "$work/report.html" "$work" >"$work/page" 2>&1 ||
    fail "the page: $(tail -20 "$work/page")"
cat "$work/page"

# A trace: what the page finds for a filter is what the command prints for it.
a_trace
cp "$clients/trace_page.mjs" "$browser/"
exits 0 report "$trace" -o "$work/trace.html"
TRACE=$trace python <<'PY'
import json
import os
from snapcli import WORK, run

trace = os.environ["TRACE"]
live = run("trace", "live", trace, "--points", 240, "--json").json()
points = [point["time_us"] for point in live["points"]]
filters = {"all": {}, "leaked": {"collected": "never"}, "peak": {"live_at": "peak"},
           "born": {"allocated": f"{points[40] + 1}us..{points[120]}us", "heap": "minor,major"},
           "long": {"lifetime": "65536us..", "hide": ["/^Stdlib/"]},
           "some": {"live_at": f"{points[60]}us..{points[90]}us", "inside": ["Ctype"],
                    "not_inside": ["/^Env/"], "group_leaked": "0%..60%"}}
for name, chosen in filters.items():
    words = [word for key, values in chosen.items()
             for value in ([values] if isinstance(values, str) else values)
             for word in ("--" + key.replace("_", "-"), value)]
    asked = {by: ["top", "--by", by]
             for by in ["site", "function", "caller", "file", "stack", "size"]}
    if name == "all": # as many as there are in the page
        asked["site"] += ["-n400"]
    asked.update({"tree": ["tree"], "caller-tree": ["tree", "--by", "caller"],
                  "live": ["live", "--points", 240]})
    for what, (command, *more) in asked.items():
        with open(os.path.join(WORK, f"{name}-{what}.json"), "w") as file:
            file.write(run("trace", command, trace, "--json", *more, *words).out)
with open(os.path.join(WORK, "filters.json"), "w") as file:
    json.dump(filters, file)
PY
node "$browser/trace_page.mjs" "$work/trace.html" "$work" >"$work/page" 2>&1 ||
    fail "the page of a trace: $(tail -20 "$work/page")"
cat "$work/page"
