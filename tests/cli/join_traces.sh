# The join with real traces of memtrace: a snapshot made of the table that the runtime had in the
# live process, against the file as it was then and as it was after the process had ended.
. "$(dirname "$0")/lib.sh"

export TRACES=${HS_TRACES:-$SOURCE_DIR/../shared/traces}
[ -r "$TRACES/cachesrv-entries.jsonl" ] || skip "there are no traces in $TRACES (HS_TRACES)"

python <<'END'
import struct

from snapcli import *

TRACES = os.environ["TRACES"]
LIVE, FINAL = (os.path.join(TRACES, f"cachesrv-{name}-v2.ctf") for name in ("live", "final"))
header = open(LIVE, "rb").read(66)
begun_us, pid = struct.unpack_from("<Q", header, 8)[0], struct.unpack_from("<Q", header, 30)[0]
entries = [json.loads(line) for line in open(os.path.join(TRACES, "cachesrv-entries.jsonl"))]
entries.sort(key=lambda entry: int(entry["addr"], 16))

snap = Snap()
snap.facts.update(pid=pid, command="./cachesrv", started_ns=begun_us * 1000 - 5_000_000,
                  taken_ns=begun_us * 1000 + 3600_000_000_000)
snap.sampler("memprof", 0, 0, 0, "/srv/demo/cachesrv.ctf")
string = snap.type("string", 252, 2)
for entry in entries:
    block = snap.block((int(entry["hdr"], 16) >> 10) + 1, string,
                       address=int(entry["addr"], 16) - 8)
    snap.sample(entry["id"], block, n=entry["n_samples"], words=entry["wosize"] + 1,
                state=entry["promoted"])
    if entry["id"] % 2:
        snap.root(block, f"Cachesrv.v{entry['id'] % 7}", unit="Cachesrv")
path = snap.write()


def live():
    found = run("samples", path, "--trace", LIVE, "--json")
    equal(found.json()["join"], {"in_both": 361, "process_only": 24, "trace_only": 6, "lost": 0,
                                 "mismatches": 0}, "join with the live trace")
    check("361 samples are in process and trace, 24 only in the process" in found.err, found.err)
    sites = [row["site"] for row in found.json()["samples"]]
    equal(sum(site is not None for site in sites), 361, "samples with a site")
    check(all(site[0]["file"] and site[0]["function"] for site in sites if site), "frames")
    cases = [row["join"] for row in found.json()["samples"]]
    equal(cases.count("process only"), 24, "process only")


def final():
    found = run("samples", path, "--trace", FINAL, "--json").json()
    equal(found["join"], {"in_both": 385, "process_only": 0, "trace_only": 0, "lost": 0,
                          "mismatches": 0}, "join with the final trace")
    whole = found["samplers"][0]
    n = sum(entry["n_samples"] for entry in entries)
    equal(whole["estimated_words"], n * 10000, "385 samples at 1e-4")
    equal(whole["error_words"], round(n ** 0.5 * 10000), "standard error")


def the_cases_of_one_id():
    rows = run("samples", path, "--trace", LIVE, "--json").json()["samples"]
    case = {row["join"]: row for row in rows}
    both = run("paths", path, "--to", case["in both"]["sample"], "--trace", LIVE, "--json").json()
    check(both["target"]["sample"]["site"], "a site")
    check(both["target"]["sample"]["allocated_us"] > 0, "a time")
    only = run("paths", path, "--to", case["process only"]["sample"], "--trace", LIVE, "--json")
    equal(only.json()["target"]["sample"]["trace"],
          "allocated after the trace's last flush: no backtrace yet", "process only")
    known = {row["sample"] for row in rows}
    answers = set()
    for id in range(0, 3000):
        if id not in known:
            err = run("paths", path, "--to", id, "--trace", LIVE, code=2).err
            check(f"allocation '{id}' " in err, err)
            answers |= {said for said in ("was collected at t = ", "was not flushed")
                        if said in err}
            if answers:
                break
    equal(answers, {"was collected at t = "}, "an early id was collected")


def gone():
    """Six are alive in the live trace only; the final one says when they were collected."""
    ids = {row["sample"] for row in run("samples", path, "--json").json()["samples"]}
    dump = [line.split() for line in run("trace", "dump", LIVE).lines()]
    live = set()
    for _, id, what, *rest in dump:
        if what.startswith("alloc"):
            live.add(int(id))
        elif what == "collect":
            live.discard(int(id))
    gone = sorted(live - ids)
    equal(len(gone), 6, "only in the trace")
    for id in gone[:2]:
        err = run("paths", path, "--to", id, "--trace", LIVE, code=2).err
        check("gone from the process: its collection was not flushed" in err, err)
        err = run("paths", path, "--to", id, "--trace", FINAL, code=2).err
        check("was collected at t = " in err, err)


def other_processes():
    err = run("samples", path, "--trace", os.path.join(TRACES, "viewer-v2.ctf"), code=2).err
    check("of another process" in err and "\nhint: " in err, err)
    err = run("samples", path, "--trace", os.path.join(TRACES, "ocamlopt-v3.ctf"), code=2).err
    check("of another process" in err, err)


main(live, final, the_cases_of_one_id, gone, other_processes)
END
