"""Do two snapshots of one moment say the same? same_graph.py ONE OTHER [but-types]

All sections of blocks and pointers must be the same, byte for byte, and every string but those of
notes that tell how the dump was made. Sections as in docs/format.md."""
import struct
import subprocess
import sys

STRINGS, META, TRAILER = 1, 2, 12
TYPES = {5, 9}
# Sections with numbers of strings: one more note moves all that come behind it.
WITH_STRINGS = {3, 9}
HOW = b"the copy of the process ("


def unpacked(frames):
    """The contents of zstd's frames, one behind the other."""
    return subprocess.run(["zstd", "-dcq"], input=b"".join(frames), stdout=subprocess.PIPE,
                          check=True).stdout


def read(path):
    """(kind, number, content) of each section."""
    data = open(path, "rb").read()
    at, heads, frames = 32, [], []
    while at < len(data) - 32:
        kind, flags, number, raw, n_stored, _ = struct.unpack_from("<IIQQQQ", data, at)
        stored = data[at + 40:at + 40 + n_stored]
        assert flags & 1 or n_stored == raw
        heads.append((kind, number, raw, None if flags & 1 else stored))
        frames += [stored] if flags & 1 else []
        at += 40 + n_stored
    all_content, at = unpacked(frames), 0
    for kind, number, raw, stored in heads:
        if stored is None:
            stored = all_content[at:at + raw]
            at += raw
        yield kind, number, stored
    assert at == len(all_content)


def sections(path):
    found, strings = {}, set()
    for kind, number, stored in read(path):
        if kind == STRINGS:
            at_text = next(i for i, byte in enumerate(stored) if byte < 128) + 1 # behind the count
            strings |= {s for s in stored[at_text:].split(b"\0") if HOW not in s}
        elif kind in WITH_STRINGS:
            found[kind, number] = len(stored) // 1000
        elif kind not in (META, TRAILER):
            found[kind, number] = stored
    return found, strings


def main():
    (one, text), (other, other_text) = sections(sys.argv[1]), sections(sys.argv[2])
    but_types = "but-types" in sys.argv[3:]
    bad = [f"section {key}" for key in sorted(one.keys() | other.keys())
           if one.get(key) != other.get(key) and not (but_types and key[0] in TYPES)]
    if not but_types:
        bad += [f"string {s!r}" for s in sorted(text ^ other_text)]
    print("\n".join(bad[:20]) or "same")
    sys.exit(bool(bad))


main()
