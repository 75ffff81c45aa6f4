"""Compares what the probe lists with what a program knows of its jemalloc heap.

   _jemalloc_compare.py KNOWN LISTED [sampled]    of fixtures/jemalloc_known.c, of jemalloc_probe

sampled: the profiler is on. It takes blocks for itself where noted ones were freed, and the
statistics count a sampled small block as 16 KiB.
"""
import sys


def is_made_of_stacks(n_bytes, n_stacks):
    """One stack of a cache per thread, of one size class, and one explicit cache with its stack."""
    classes = [(64 << g) + k * (16 << g) for g in range(5, 10) for k in range(1, 5)]
    return n_stacks > 1 and any((n_stacks - 1) * a + b == n_bytes
                                for a in classes for b in classes if a <= b)


def main():
    live, freed, numbers = {}, set(), {}
    for line in open(sys.argv[1]):
        words = line.split()
        if words[0] == "L":
            live[int(words[1], 16)] = int(words[2])
        elif words[0] == "F":
            freed.add(int(words[1], 16))
        else:
            numbers[words[1]] = int(words[2])
    listed, memory, bad = {}, {}, []
    for line in open(sys.argv[2]):
        words = line.rstrip("\n").split(" ")
        if words[0] == "B" and words[1] == "jemalloc":
            listed[int(words[2], 16)] = int(words[3])
        elif words[0] == "M":
            owner, rest = line[2:].split(": ")
            memory[owner, rest.split()[0]] = [int(word) for word in rest.split()[1:]]
        elif words[0] == "P" and words[1] != words[2]:
            bad.append("proof fails: " + line)
        elif words[0] == "N" and words[1] == "1":
            bad.append("gap: " + line)
    missing = [a for a in live if a not in listed]
    wrong = [a for a in live if a in listed and listed[a] != live[a]]
    false = [a for a in freed if a in listed]
    extra = [a for a in listed if a not in live and a not in freed]
    is_sampled = len(sys.argv) > 3
    if is_sampled and len(false) <= 64:
        false = []
    if missing or wrong or false:
        bad.append("%d missing, %d of a wrong size, %d freed ones listed"
                   % (len(missing), len(wrong), len(false)))
        for a in (missing[:3] + wrong[:3] + false[:3]):
            bad.append("  %x known %s listed %s" % (a, live.get(a), listed.get(a)))
    # What jemalloc calls allocated: live, cached, and the pointer stacks of its caches. These are
    # the only blocks in `internal` besides its own mappings, so that they are what is left over.
    cached = memory.get(("jemalloc", "cached"), [0, 0, 0])
    stacks = numbers["stats.allocated"] - sum(listed.values()) - cached[0]
    n_stacks = memory.get(("jemalloc", "internal"), [0, 0, 0])[2]
    if cached[0] != numbers["stats.arenas.4096.tcache_bytes"]:
        bad.append("cached %d, jemalloc says %d"
                   % (cached[0], numbers["stats.arenas.4096.tcache_bytes"]))
    if is_sampled and stacks < 100 * 16384:
        bad.append("nothing was sampled")
    elif not is_sampled and not is_made_of_stacks(stacks, n_stacks):
        bad.append("allocated %d, listed %d, cached %d: %d left over for %d stacks"
                   % (numbers["stats.allocated"], sum(listed.values()), cached[0], stacks,
                      n_stacks))
    print("%d live, %d freed; %d listed, %d of them nobody noted (%d bytes); cached %d blocks, "
          "%d bytes; %d stacks of caches"
          % (len(live), len(freed), len(listed), len(extra), sum(listed[a] for a in extra),
             cached[2], cached[0], n_stacks))
    for text in bad:
        print("FAILED: " + text.rstrip())
    sys.exit(bool(bad))


main()
