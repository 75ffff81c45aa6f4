# info: when the process began and was stopped, and whose samples there are.
. "$(dirname "$0")/lib.sh"
snap=$work/heap.snap

# make [LINE...]: fields are separated by commas.
make()
{
    printf '%s\n' "$@" 'root,0,0,0,-,0,all roots' 'root,0,1,0,-,0,globals' \
        'root,1,2,0,-,0,prog' 'root,2,3,0,-,0,Main' 'root,3,5,0,5,0,Main.v0' 'type,t,0,0' \
        'block,0x1000,2,0,0' | tr ',' '\t' | "$MAKE_SNAP" "$snap"
}

make 'fact,taken_ns,1700000001000000000' 'fact,started_ns,1700000000120000000' \
    'sampler,0,1e6,0,0,' 'sampler,1,65536,0,0,' \
    'sampler,2,0,1700000000500000000,3,/tmp/a%0Ab.ctf' 'sampler,3,65536,0,0,' \
    'sample,7,5,1,2,0,1' 'sample,7,5,1,2,0,2' 'sample,8,5,1,2,0,2'
exits 0 info "$snap"
grep -qE '^began +2023-11-14 22:13:20 UTC' "$work/out" || fail "began"
grep -qE '^taken +2023-11-14 22:13:21 UTC' "$work/out" || fail "taken"
grep -qE '^sampler +memprof: 0 samples, one in 7.6 MiB$' "$work/out" || fail "memprof"
grep -qE '^sampler +jemalloc: 1 samples, one in 512.0 KiB$' "$work/out" || fail "jemalloc"
grep -qE '^sampler +record: 2 samples, one in an unknown number of bytes, trace .*, 3 lost$' \
    "$work/out" || fail "record"
grep -qE '^sampler +go: 0 samples, one in 512.0 KiB$' "$work/out" || fail "go"
[ "$(grep -c '^sampler' "$work/out")" = 4 ] || fail "a line break got through"
exits 0 info "$snap" --json
python "$work/out" <<'PYTHON' || fail "json"
import json, sys
info = json.load(open(sys.argv[1]))
assert info["taken_ns"] == 1700000001000000000 and info["started_ns"] == 1700000000120000000
assert [s["kind"] for s in info["samplers"]] == ["memprof", "jemalloc", "record", "go"]
assert [s["period_bytes"] for s in info["samplers"]] == [8000000, 524288, None, 524288]
assert [s["samples"] for s in info["samplers"]] == [0, 1, 2, 0]
assert [s["lost"] for s in info["samplers"]] == [0, 0, 3, 0]
assert [s["begun_ns"] for s in info["samplers"]] == [None, None, 1700000000500000000, None]
assert [s["trace"] for s in info["samplers"]] == [None, None, "/tmp/a\nb.ctf", None]
PYTHON

make
exits 0 info "$snap"
grep -qE '^(began|taken|sampler)' "$work/out" && fail "what is not known was printed"
exits 0 info "$snap" --json
python "$work/out" <<'PYTHON' || fail "json of what is not known"
import json, sys
info = json.load(open(sys.argv[1]))
assert info["taken_ns"] is None and info["started_ns"] is None and info["samplers"] == []
PYTHON
exit 0
