"""Holds the samples of a snapshot against what else is known of them.

   _sampled_compare.py known SAMPLES.json PROF_DUMP INFO.json PROGRAM
   _sampled_compare.py record SAMPLES.json
   _sampled_compare.py redis SAMPLES.json PROF_DUMP INFO.json
"""
import collections
import json
import math
import re
import subprocess
import sys

THREADS, ROUNDS = 3, 4000  # of fixtures/sampled_known.c
KEPT = {"small_here": ROUNDS, "middle_here": ROUNDS // 4, "large_here": -(-ROUNDS // 64),
        "leak_here": ROUNDS // 8}

bad = []


def need(holds, text):
    if not holds:
        bad.append(text)


def samples_of(path, kind):
    document = json.load(open(path))
    need([s["sampler"] for s in document["samplers"]] == [kind], "samplers: %s" %
         document["samplers"])
    return document["samplers"][0], document["samples"]


def read_prof(path):
    """{stack: (objects, bytes)} of all threads together, and the period: jemalloc's heap_v2."""
    contexts, stack, period = {}, None, None
    for line in open(path):
        if line.startswith("heap_v2/"):
            period = int(line.split("/")[1])
        elif line.startswith("@"):
            stack = tuple(int(word, 16) for word in line.split()[1:])
        elif line.startswith("MAPPED_LIBRARIES"):
            break
        elif stack is not None and line.startswith("  t*:"):
            objects, n_bytes = re.match(r"  t\*: (\d+): (\d+)", line).groups()
            contexts[stack] = (int(objects), int(n_bytes))
    return period, contexts


def as_printed(sizes, period):
    """jemalloc 5.3 gives each sample its weight when it is taken (of counts it keeps eighths), and
    on printing turns the sums back into what jeprof would have to see to come to them:
    prof_unbias_map_init of prof.c, prof_do_unbias of prof_data.c."""
    n = sum(math.floor(8 / -math.expm1(-size / period) + 0.5) for size in sizes) / 8
    n_bytes = sum(math.floor(size / -math.expm1(-size / period) + 0.5) for size in sizes)
    share = -math.expm1(-n_bytes / n / period)
    return n * share, n_bytes * share


def distance(one, printed):
    """Of two pairs; jemalloc cuts both to whole numbers, which may come to one less."""
    return max(abs(one[0] - printed[0]), abs(one[1] - printed[1]))


def compare_contexts(samples, period, contexts):
    """Counts and bytes of each distinct backtrace, each of ours with one of theirs."""
    sizes = collections.defaultdict(list)
    for sample in samples:
        sizes[json.dumps(sample["site"])].append(8 * sample["words"])
    ours = [as_printed(group, period) for group in sizes.values()]
    theirs = [value for value in contexts.values() if value[0] != 0]
    need(len(ours) == len(theirs), "%d backtraces, jemalloc printed %d" % (len(ours), len(theirs)))
    for one in sorted(ours, reverse=True):
        best = min(theirs, key=lambda other, one=one: distance(one, other), default=(-9, -9))
        need(distance(one, best) <= 1.001, "a backtrace of %s, jemalloc printed %s" % (one, best))
        if best in theirs:
            theirs.remove(best)
    need(not theirs, "jemalloc printed %s besides" % theirs)
    print("%d samples of %d backtraces, as jemalloc's own dump has them" %
          (len(samples), len(ours)))


def addr2line(program, offsets):
    """The functions at each address, the inlined ones first."""
    out = subprocess.run(["addr2line", "-fiae", program], input="\n".join(map(hex, offsets)),
                         stdout=subprocess.PIPE, text=True, check=True).stdout
    names, current = {}, None
    lines = out.splitlines()
    at = 0
    while at < len(lines):
        if re.match(r"0x[0-9a-f]{16}$", lines[at]):
            current = names.setdefault(int(lines[at], 16), [])
            at += 1
        else:
            current.append(lines[at])
            at += 2
    return names


def compare_names(samples, contexts, info, program):
    base = next(int(b["begin"], 16) for b in info["build_ids"] if b["path"].endswith("/known"))
    offsets = {address - 1 - base for stack in contexts for address in stack
               if 0 <= address - base < 1 << 20}
    names = addr2line(program, sorted(offsets))
    theirs = sorted({tuple(name for address in stack if address - 1 - base in offsets
                           for name in names[address - 1 - base])
                     for stack, value in contexts.items() if value[0] != 0})
    ours = sorted({tuple(f["function"] for f in sample["site"] if f["module"] == "known")
                   for sample in samples})
    need(ours == theirs, "functions %s, addr2line says %s" % (ours, theirs))
    print("%d backtraces named as addr2line names them" % len(ours))


def check_proofs(info):
    proofs = [p for p in info["proofs"] if p["what"].startswith("jemalloc: backtraces")]
    need(len(proofs) == 2 and all(p["holds"] for p in proofs), "proofs: %s" % proofs)
    need(not any(note["gap"] for note in info["notes"]), "gaps: %s" % info["notes"])


def check_joined(samples):
    lost = [s for s in samples if s["address"] is None or not s["reached"]]
    need(not lost, "samples without a block or a keeper: %s" % lost[:3])
    need(all(s["site"] for s in samples), "a sample without a backtrace")


def check_estimate(sampler):
    miss = abs(sampler["estimated_words"] - sampler["exact_words"])
    need(miss <= 5 * sampler["error_words"], "an estimate of %(estimated_words)d +- "
         "%(error_words)d, where there are %(exact_words)d words" % sampler)


def known(path, dump, info, program):
    sampler, samples = samples_of(path, "jemalloc")
    period, contexts = read_prof(dump)
    need(sampler["period_words"] * 8 == period, "a period of %s words" % sampler["period_words"])
    compare_contexts(samples, period, contexts)
    compare_names(samples, contexts, json.load(open(info)), program)
    check_proofs(json.load(open(info)))
    check_joined([s for s in samples if s["type"] == "struct item"])
    check_estimate(sampler)
    keepers = collections.Counter(s["root"] for s in samples if s["type"] == "struct item")
    # None: by several roots, when a word of a stack leads into the list too
    need(set(keepers) <= {"kept", None}, "keepers: %s" % keepers)


def record(path):
    _, samples = samples_of(path, "record")
    check_joined([s for s in samples if s["type"] == "struct item"])
    counts = collections.Counter(frame["function"] for s in samples for frame in s["site"][1:2]
                                 if s["type"] == "struct item")
    need(counts == {name: THREADS * n for name, n in KEPT.items()}, "blocks: %s" % counts)
    need(all(s["n_samples"] == 8 * s["words"] or s["words"] * 8 - 8 < s["n_samples"]
             for s in samples), "not every byte is a sample at rate 1")
    print("every block of the program is a sample: %s" % dict(counts))


def redis(path, dump, info):
    sampler, samples = samples_of(path, "jemalloc")
    period, contexts = read_prof(dump)
    need(sampler["period_words"] * 8 == period, "a period of %s words" % sampler["period_words"])
    need(len(samples) >= 100, "%d samples" % len(samples))
    compare_contexts(samples, period, contexts)
    check_proofs(json.load(open(info)))
    check_joined(samples)
    check_estimate(sampler)


{"known": known, "record": record, "redis": redis}[sys.argv[1]](*sys.argv[2:])
for line in bad[:20]:
    print("FAILED: " + line)
sys.exit(bool(bad))
