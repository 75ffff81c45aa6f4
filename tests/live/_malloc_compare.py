"""Compares the blocks of a snapshot with what malloc_known wrote of itself.

    _malloc_compare.py KNOWN BLOCKS MOST_UNKNOWN

BLOCKS has rows of address and words, tab-separated, below a head. Each live block ends where one of
a snapshot does, and lies in it (one that was asked for with an alignment begins later). At most so
many others may be there: the C library's own, which may have got what the program freed."""
import bisect
import sys


def main():
    live, freed, blocks = {}, [], []
    for line in open(sys.argv[1], encoding="ascii"):
        fields = line.split()
        if fields[0] == "L":
            live[int(fields[1], 16)] = int(fields[2])
        else:
            freed.append(int(fields[1], 16))
    with open(sys.argv[2], encoding="ascii") as file:
        next(file)
        blocks = sorted((int(at, 0), 8 * int(words))
                        for at, words in (line.split("\t") for line in file))
    begins = [at for at, _ in blocks]

    def block_at(address):
        at = bisect.bisect_right(begins, address) - 1
        return at if at >= 0 and address < begins[at] + blocks[at][1] else None

    missing, wrong, known = [], [], set()
    for address, usable in live.items():
        at = block_at(address)
        if at is None:
            missing.append(address)
        elif address + usable != sum(blocks[at]):
            wrong.append(address)
        elif at in known:
            wrong.append(address)
        else:
            known.add(at)
    false = [address for address in freed
             if (at := block_at(address)) is not None and at not in known]
    unknown = len(blocks) - len(known)
    print(f"{len(live)} live, {len(freed)} freed; {len(missing)} missing, {len(wrong)} of a wrong "
          f"size, {len(false)} freed but listed, {unknown} that nobody noted")
    for name, some in (("missing", missing), ("wrong", wrong)):
        if some:
            print(f"BAD {name}: " + ", ".join(f"{at:x}" for at in some[:8]))
    if unknown > int(sys.argv[3]):
        print("BAD freed: " + ", ".join(f"{at:x}" for at in false[:8]))
    sys.exit(bool(missing or wrong or unknown > int(sys.argv[3]) or len(live) < 1000))


main()
