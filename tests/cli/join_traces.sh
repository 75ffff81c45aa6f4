# parts: record
# The join with memtrace's traces: a snapshot made of the table that the runtime had in the live
# process, against the file as it was then and as it was after the process had ended. Of a made
# program, and of a real one where there is one (HS_TRACES).
. "$(dirname "$0")/lib.sh"

export TRACES=${HS_TRACES:-$SOURCE_DIR/../shared/traces}

python <<'END'
import struct

from program_trace import Program, Writer
from snapcli import *

TRACES = os.environ["TRACES"]


class Run:
    """`live`, `final`, `others`: traces; `entries`: the runtime's table when `live` was copied."""

    def __init__(self, live, final, others, entries, join):
        self.live, self.final, self.others, self.join = live, final, others, join
        header = open(live, "rb").read(66)
        begun_us, pid = struct.unpack_from("<Q", header, 8)[0], struct.unpack_from("<Q", header, 30)
        self.entries = sorted(entries, key=lambda entry: int(entry["addr"], 16))
        snap = Snap()
        snap.facts.update(pid=pid[0], command="./cachesrv", started_ns=begun_us * 1000 - 5 * 10**9,
                          taken_ns=begun_us * 1000 + 3600 * 10**9)
        snap.sampler("memprof", 0, 0, 0, "/srv/demo/cachesrv.ctf")
        string = snap.type("string", 252, 2)
        for entry in self.entries:
            block = snap.block((int(entry["hdr"], 16) >> 10) + 1, string,
                               address=int(entry["addr"], 16) - 8)
            snap.sample(entry["id"], block, n=entry["n_samples"], words=entry["wosize"] + 1,
                        state=entry["promoted"])
            if entry["id"] % 2:
                snap.root(block, f"Cachesrv.v{entry['id'] % 7}", unit="Cachesrv")
        self.path = snap.write()


def real_run():
    def trace(name):
        return os.path.join(TRACES, name + ".ctf")
    table = open(os.path.join(TRACES, "cachesrv-entries.jsonl"))
    return Run(trace("cachesrv-live-v2"), trace("cachesrv-final-v2"),
               [trace("viewer-v2"), trace("ocamlopt-v3")], [json.loads(line) for line in table],
               {"in_both": 361, "process_only": 24, "trace_only": 6, "lost": 0, "mismatches": 0})


def made_run():
    """The live file lacks the last packet: what it allocated is in the process only, what it
    collected in the trace only."""
    def path_of(name):
        return os.path.join(WORK, name + ".ctf")
    program = Program(6)
    program.unknown = set()
    writer = Writer(program, 2, 1e-4, pid=4711, executable="cachesrv")
    n_flushed = writer.write(path_of("live"), -2 if writer.packets[-2][1] == 0 else -1)
    writer.write(path_of("final"))
    for name, version in [("other2", 2), ("other3", 3)]:
        Writer(Program(7, n=100), version, 1e-4, pid=99).write(path_of(name))
    entries, address = [], 0x7F0000001008
    for id, (words, n_samples, _, _, _) in sorted(program.alive().items()):
        promoted = int(any(event[2:] == (3, id) for event in program.events))
        entries.append({"id": id, "addr": hex(address), "hdr": hex(words << 10 | 252),
                        "n_samples": n_samples, "wosize": words, "promoted": promoted})
        address += 8 * (words + 1)
    flushed = {id for _, _, kind, id in program.events[:n_flushed] if kind == 2}
    late = {id for _, _, kind, id in program.events[n_flushed:] if kind == 4 and id in flushed}
    both = flushed & set(program.alive())
    return Run(path_of("live"), path_of("final"), [path_of("other2"), path_of("other3")], entries,
               {"in_both": len(both), "process_only": len(entries) - len(both),
                "trace_only": len(late), "lost": 0, "mismatches": 0})


def live(a):
    found = run("samples", a.path, "--trace", a.live, "--json")
    equal(found.json()["join"], a.join, "join with the live trace")
    n, n_only = a.join["in_both"], a.join["process_only"]
    check(f"{n} samples are in process and trace, {n_only} only in the process" in found.err,
          found.err)
    sites = [row["site"] for row in found.json()["samples"]]
    equal(sum(site is not None for site in sites), n, "samples with a site")
    check(all(site[0]["file"] and site[0]["function"] for site in sites if site), "frames")
    cases = [row["join"] for row in found.json()["samples"]]
    equal(cases.count("process only"), n_only, "process only")


def final(a):
    found = run("samples", a.path, "--trace", a.final, "--json").json()
    equal(found["join"], {"in_both": len(a.entries), "process_only": 0, "trace_only": 0,
                          "lost": 0, "mismatches": 0}, "join with the final trace")
    whole = found["samplers"][0]
    n = sum(entry["n_samples"] for entry in a.entries)
    equal(whole["estimated_words"], n * 10000, "all samples at 1e-4")
    equal(whole["error_words"], round(n ** 0.5 * 10000), "standard error")


def the_cases_of_one_id(a):
    rows = run("samples", a.path, "--trace", a.live, "--json").json()["samples"]
    case = {row["join"]: row for row in rows}

    def told(id):
        found = run("paths", a.path, "--to", id, "--trace", a.live, "--json").json()
        return found["target"]["sample"]

    both = told(case["in both"]["sample"])
    check(both["site"], "a site")
    check(both["allocated_us"] > 0, "a time")
    equal(told(case["process only"]["sample"])["trace"],
          "allocated after the trace's last flush: no backtrace yet", "process only")
    known = {row["sample"] for row in rows}
    answers = set()
    for id in range(0, 3000):
        if id not in known:
            err = run("paths", a.path, "--to", id, "--trace", a.live, code=2).err
            check(f"allocation '{id}' " in err, err)
            answers |= {said for said in ("was collected at t = ", "was not flushed")
                        if said in err}
            if answers:
                break
    equal(answers, {"was collected at t = "}, "an early id was collected")


def gone(a):
    """Some are alive in the live trace only; the final one says when they were collected."""
    ids = {row["sample"] for row in run("samples", a.path, "--json").json()["samples"]}
    dump = [line.split() for line in run("trace", "dump", a.live).lines()]
    live = set()
    for _, id, what, *rest in dump:
        if what.startswith("alloc"):
            live.add(int(id))
        elif what == "collect":
            live.discard(int(id))
    gone = sorted(live - ids)
    equal(len(gone), a.join["trace_only"], "only in the trace")
    check(gone, "none is only in the trace")
    for id in gone[:2]:
        err = run("paths", a.path, "--to", id, "--trace", a.live, code=2).err
        check("gone from the process: its collection was not flushed" in err, err)
        err = run("paths", a.path, "--to", id, "--trace", a.final, code=2).err
        check("was collected at t = " in err, err)


def other_processes(a):
    for other in a.others:
        err = run("samples", a.path, "--trace", other, code=2).err
        check("of another process" in err and "\nhint: " in err, err)


def checked(a):
    for test in (live, final, the_cases_of_one_id, gone, other_processes):
        test(a)


def a_made_run():
    checked(made_run())


def a_real_run():
    checked(real_run())


main(a_made_run, *([a_real_run] if os.path.isdir(TRACES) else []))
END
