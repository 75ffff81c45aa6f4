# parts: record
# trace dump, trace info: made traces against their text, the same events as JSON, refusals with
# their exit codes, and what is said of a trace that has gaps. Where there are traces of real
# programs (HS_TRACES), these too against the hashes of their reference dumps.
. "$(dirname "$0")/lib.sh"

traces=${HS_TRACES:-$SOURCE_DIR/../shared/traces}
corpus=$SOURCE_DIR/tests/fuzz/corpus/trace

# ---- without them ----

exits 0 trace dump "$corpus/fault-v2"
grep -qxF "0000000012 0000000000 alloc 1 len=3 dom=0    0: A.f@a.ml:7:2-9 B.f@b.ml:7:2-9\
 C.f@c.ml:7:2-9 C.g@c.ml:12:0-900 B.g@b.ml:12:0-900" "$work/out" || fail "$(cat "$work/out")"

exits 0 trace dump "$corpus/plain-v3"
mentions "1 packets of '.*' are of other processes and were left out"
grep -c . "$work/out" >"$work/lines"
exits 0 trace dump "$corpus/plain-v3" --format ndjson
[ "$(grep -c . "$work/out")" = "$(cat "$work/lines")" ] || fail "ndjson has other events"
exits 0 trace info "$corpus/plain-v3" --json
cp "$work/out" "$work/info.json"
exits 0 trace dump "$corpus/plain-v3" --json
python <<'END'
import json, os
work = os.environ["WORK"]
dump = json.load(open(work + "/out"))
info = json.load(open(work + "/info.json"))
assert dump["schema"] == "heapsnap.trace-dump/1" and info["schema"] == "heapsnap.trace-info/1"
allocs = [e for e in dump["events"] if e["event"] == "alloc"]
assert len(allocs) == info["counts"]["allocations"] == 4, info
assert allocs[2]["n_common"] == 1 and allocs[2]["backtrace"][0]["function"] == "Main.run"
assert allocs[1]["backtrace"][-1] == {"code": "0x4000"}, allocs[1]
assert info["n_domains"] == 2 and info["gaps"]["foreign_packets"] == 1
assert info["counts"]["certainty"] == "exact" and info["allocated"]["certainty"] == "sampled"
samples = sum(e["n_samples"] for e in allocs)
assert info["allocated"]["words"] == samples * 1000
assert info["allocated"]["words_error"] > 0 and info["live_at_end"]["samples"] == samples - 2
END

exits 0 trace info "$corpus/plain-v2"
grep -q 'live at the peak .*sampled' "$work/out" || fail "$(cat "$work/out")"
grep -q 'packets of others *1 .*exact' "$work/out" || fail "$(cat "$work/out")"

# ---- refusals ----

: >"$work/empty"
exits 4 trace dump "$work/empty"
mentions "'$work/empty' is empty"
exits 4 trace info "$SOURCE_DIR/README.md"
mentions "is no allocation trace"
exits 5 trace dump "$work"
mentions "it is a directory"
exits 5 trace info "$work/nothing"
head -c 100 "$corpus/plain-v1" >"$work/cut"
exits 4 trace dump "$work/cut"
mentions "is cut before its first event: it ends after 100 bytes"
{ head -c 28 "$corpus/plain-v3"; printf '\004'; tail -c +30 "$corpus/plain-v3"; } >"$work/future"
exits 4 trace dump "$work/future"
mentions "version 4; we know 1 to 3"
exits 2 trace dmup "$corpus/plain-v1"
hints "did you mean 'trace dump'?"
exits 2 trace dump "$corpus/plain-v1" --format tsv
exits 2 trace dump

# ---- every version, with all of the format's compression ----

python <<'END'
from program_trace import *
from snapcli import *


def dumped(writer, name):
    path = os.path.join(WORK, name)
    writer.write(path)
    return run("trace", "dump", path)


def every_version():
    for version, n_domains, slots in [(1, 1, 64), (2, 1, 256), (3, 1, 16384), (3, 3, 128)]:
        program = Program(version + 10 * n_domains, n_domains=n_domains)
        found = dumped(Writer(program, version, 1e-4, slots=slots), "whole.ctf")
        equal(found.err, "", "what is said")
        for line, expected in zip(found.lines(), program.dump()):
            equal(line, expected, f"version {version}, {n_domains} domains")
        equal(len(found.lines()), len(program.events), "events")


def cut_between_packets():
    program = Program(5, n=900)
    writer = Writer(program, 2, 1e-4)
    path = os.path.join(WORK, "part.ctf")
    for n in range(2, len(writer.packets)):
        n_events = writer.write(path, n)
        check(run("trace", "dump", path).lines() == program.dump(n_events), f"{n} packets")


def recovered_names():
    """The fault of memtrace 0.2.3: what is not told as lost has the name that it has in the sound
    file, and no event is missing."""
    program = Program(9, n_wide=20)
    writers = [Writer(program, 2, 1e-4, faulty=faulty) for faulty in (False, True)]
    sound, faulty = (dumped(writer, "names.ctf") for writer in writers)
    equal(sound.lines(), overflowing(program).dump(), "the sound file")
    n_places = n_lost = 0
    for line, expected in zip(faulty.lines(), sound.lines()):
        found, expected = line.split(" "), expected.split(" ")
        equal(len(found), len(expected), line)
        for place, right in zip(found, expected):
            n_places += "@" in right
            n_lost += "@" in right and place.startswith("?")
            if "@" in place and not place.startswith("?"):
                equal(place.split("@")[0], right.split("@")[0], "a name")
                equal(place.split(":")[:-1], right.split(":")[:-1], "a place")
    equal(len(faulty.lines()), len(sound.lines()), "events")
    check(0 < n_lost < n_places // 3, f"{n_lost} of {n_places} are lost")
    check("lost their names: they print as ?" in faulty.err, faulty.err)


main(every_version, cut_between_packets, recovered_names)
END

# ---- the traces of real programs ----

[ -d "$traces" ] || exit 0
while read -r name hash; do
    exits 0 trace dump "$traces/$name.ctf"
    found=$(sha256sum <"$work/out" | cut -c 1-16)
    [ "$found" = "$hash" ] || fail "$name: $found, expected $hash"
    [ ! -s "$work/err" ] || fail "$name: $(cat "$work/err")"
done <<'END'
viewer-v2 c709e33d382e9ae4
ocamlopt-v3 2d9ddb066271dc8d
ocamlopt413-v2 7d2288e09edb7615
cachesrv-live-v2 c458b9662c979970
cachesrv-final-v2 477e3070b6eec4f7
cachesrv-3domains-v3 b5bb75a78a09ef1c
END

exits 0 trace dump "$traces/ocamlopt413-overflow-v2.ctf"
[ "$(grep -c . "$work/out")" = 9843 ] || fail "events are missing"
mentions "[0-9]+ of 2948 places of '.*' lost their names: they print as \?"
