#!/usr/bin/env python3
"""Shows every golden file to both readers: they must agree.

    compare_readers.py FIGURES_PROGRAM GOLDEN_DIRECTORY
"""
import contextlib
import io
import os
import subprocess
import sys
import traceback

import second_reader


def ours_on(figures, path):
    """Exit code, output, message."""
    done = subprocess.run([figures, path], capture_output=True, text=True, errors="replace",
                          check=False)
    return done.returncode, done.stdout, done.stderr


def second_on(path):
    """The same of the second reader, which must not fall over; here, as a Python of its own for
    each file would take most of the time."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = second_reader.main(["second_reader.py", path])
        except Exception:
            return None, out.getvalue(), traceback.format_exc()
    return code, out.getvalue(), err.getvalue()


def compare(figures, path, verdict):
    code, out, said = ours_on(figures, path)
    second_code, second_out, second_said = second_on(path)
    opens = verdict == "opens"
    if second_code is None:
        return "%s: the second reader fell over\n%s" % (path, second_said)
    if (code == 0) != opens or (second_code == 0) != opens:
        return "%s\n  ours: %d %s\n  second: %d %s" % (path, code, said, second_code, second_said)
    if out != second_out:
        return "%s: ours\n%s\nsecond\n%s" % (path, out, second_out)
    return None


def main():
    figures, golden = sys.argv[1:]
    if second_reader.ZSTD is None:
        print("skipped: the second reader needs libzstd", file=sys.stderr)
        return 77
    with open(os.path.join(golden, "manifest.tsv"), encoding="utf-8") as manifest:
        rows = [line.rstrip("\n").split("\t") for line in manifest][1:]
    wrong = [text for name, verdict, _ in rows
             if (text := compare(figures, os.path.join(golden, name), verdict))]
    print("\n".join(wrong))
    print("%d files, %d on which the readers disagree" % (len(rows), len(wrong)))
    return 1 if wrong or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
