# parts: export
# speedscope opens our files in a headless browser; an independent reader checks their sums.
. "$(dirname "$0")/_client.sh"
need node npm chromium
a_browser
need_npm speedscope speedscope@1.25.0
cp "$clients/speedscope.mjs" "$browser/"

# opens FILE NAME: it is the profile of that name then.
opens()
{
    node "$browser/speedscope.mjs" "$npm_dir/node_modules/speedscope/dist/release" "$1" \
        >"$work/page" 2>"$work/page.err" || fail "speedscope: $(cat "$work/page" "$work/page.err")"
    grep -qF "$2" "$work/page" || fail "no '$2' in: $(cut -c1-300 "$work/page")"
}

# sums FILE: the name and the sum of each profile.
sums()
{
    python3 - "$1" <<'PY'
import json
import sys
document = json.load(open(sys.argv[1], encoding="utf-8"))
frames = document["shared"]["frames"]
for profile in document["profiles"]:
    assert len(profile["samples"]) == len(profile["weights"])
    assert all(0 <= f < len(frames) for stack in profile["samples"] for f in stack)
    assert sum(profile["weights"]) == profile["endValue"]
    print(profile["name"], profile["endValue"])
PY
}

export_to speedscope
sums "$work/heap.speedscope" >"$work/sums"
grep -qx "all roots $heap_bytes" "$work/sums" || fail "another sum: $(cat "$work/sums")"
grep -q '^globals ' "$work/sums" || fail "no profile of globals: $(cat "$work/sums")"
opens "$work/heap.speedscope" "all roots"

# It reads folded stacks, too.
export_to folded
same "folded" "$(awk '{ sum += $NF } END { print sum }' "$work/heap.folded")" "$heap_bytes"
cp "$work/heap.folded" "$work/heap.txt"
opens "$work/heap.txt" "heap.txt"

a_trace
trace_to speedscope
sums "$work/trace.speedscope" >"$work/sums"
grep -qx "alloc_space $trace_bytes" "$work/sums" || fail "another sum: $(cat "$work/sums")"
grep -qx "inuse_space $live_bytes" "$work/sums" || fail "another sum: $(cat "$work/sums")"
opens "$work/trace.speedscope" "alloc_space"
trace_to folded
same "folded" "$(awk '{ sum += $NF } END { print sum }' "$work/trace.folded")" "$trace_bytes"
trace_to folded --collected never
same "alive" "$(awk '{ sum += $NF } END { print sum }' "$work/trace.folded")" "$live_bytes"
