"""Writes the contents of all sections of a snapshot, unpacked: unpack.py SNAP OUT.

Sections as in docs/format.md: after 32 bytes of header, heads of 40 bytes, each followed by what it
says is stored; a footer of 32 bytes at the end."""
import struct
import subprocess
import sys


def main():
    data = open(sys.argv[1], "rb").read()
    at, n_packed = 32, 0
    with open(sys.argv[2], "wb") as out:
        while at < len(data) - 32:
            _, flags, _, raw, n_stored, _ = struct.unpack_from("<IIQQQQ", data, at)
            stored = data[at + 40:at + 40 + n_stored]
            if flags & 1:
                stored = subprocess.run(["zstd", "-dcq"], input=stored, stdout=subprocess.PIPE,
                                        check=True).stdout
                n_packed += 1
            assert len(stored) == raw, (at, len(stored), raw)
            out.write(stored)
            at += 40 + n_stored
    assert at == len(data) - 32 and n_packed > 0, (at, n_packed)


main()
