# parts: record
# Samples of jemalloc's own profiler and of the recorder, read from outside: each joins with its
# block, its backtrace and its keeper, and they are those that jemalloc's own dump counts.
# shellcheck source=tests/live/_native.sh
. "$SOURCE_DIR/tests/live/_native.sh"
need gcc addr2line

compare=$SOURCE_DIR/tests/live/_sampled_compare.py
recorder=$(dirname "$HEAPSNAP")/libheapsnap-record.so
jemalloc=$(jemalloc_library)
gcc -O1 -g -pthread -o "$work/known" "$fixtures/sampled_known.c" || fail "building"

take()
{
    rm -f "$work/heap.snap.idx" # of the one before
    dump
}
facts()
{
    "$HEAPSNAP" info "$work/heap.snap" --json >"$work/info.json" || fail "info"
    "$HEAPSNAP" samples "$work/heap.snap" --json >"$work/samples.json" || fail "samples"
}

# The recorder, at rate 1: every block that the program keeps, and no other.
record_as()
{
    start env LD_PRELOAD="$recorder" HEAPSNAP_RECORD_RATE=1 HEAPSNAP_RECORD_FILE="$work/trace" \
        "$work/known" "$1"
    take
}
record_as all
facts
python3 "$compare" record "$work/samples.json" || fail "the recorder's samples"

# It knows every block; yet what the program lost is lost.
record_as lost
"$HEAPSNAP" leaks "$work/heap.snap" --json >"$work/leaks.json" || fail "leaks"
python3 - "$work/leaks.json" <<'EOF' || fail "a leak under the recorder"
import json, sys
leaks = json.load(open(sys.argv[1]))["groups"]
lost = sum(l["count"] for l in leaks
           if l["certainty"] == "certain" and 500 <= 8 * l["words_each"] <= 620)
print("%d blocks are certain leaks" % lost)
sys.exit(lost != 1500)
EOF

[ -n "$jemalloc" ] || { echo "skipped: no libjemalloc.so.2 (the recorder's part passed)"; exit 77; }
start env LD_PRELOAD="$jemalloc" MALLOC_CONF=prof:true,lg_prof_sample:14 \
    PROF_DUMP="$work/heap.prof" "$work/known" all
take
kill -USR1 "$pid"
for _ in $(seq 600); do
    grep -q "dump" "$work/log" && break
    sleep 0.1
done
grep -q "^no dump" "$work/log" && { echo "skipped: jemalloc without a profiler"; exit 77; }
facts
python3 "$compare" known "$work/samples.json" "$work/heap.prof" "$work/info.json" "$work/known" ||
    fail "jemalloc's samples"
