#!/usr/bin/env python3
"""Shows every golden file to both readers: they must agree.

    compare_readers.py FIGURES_PROGRAM GOLDEN_DIRECTORY
"""
import os
import shutil
import subprocess
import sys


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace", check=False)


def compare(figures, path, verdict, second):
    ours, theirs = run(figures, path), run(sys.executable, "-B", second, path)
    opens = verdict == "opens"
    if (ours.returncode == 0) != opens or (theirs.returncode == 0) != opens:
        return "%s\n  ours: %d %s\n  second: %d %s" % (
            path, ours.returncode, ours.stderr, theirs.returncode, theirs.stderr)
    if "Traceback" in theirs.stderr:
        return "%s: the second reader fell over\n%s" % (path, theirs.stderr)
    if ours.stdout != theirs.stdout:
        return "%s: ours\n%s\nsecond\n%s" % (path, ours.stdout, theirs.stdout)
    return None


def main():
    figures, golden = sys.argv[1:]
    second = os.path.join(os.path.dirname(os.path.abspath(__file__)), "second_reader.py")
    if shutil.which("zstd") is None:
        print("skipped: the second reader needs the program 'zstd'", file=sys.stderr)
        return 77
    with open(os.path.join(golden, "manifest.tsv"), encoding="utf-8") as manifest:
        rows = [line.rstrip("\n").split("\t") for line in manifest][1:]
    wrong = [text for name, verdict, _ in rows
             if (text := compare(figures, os.path.join(golden, name), verdict, second))]
    print("\n".join(wrong))
    print("%d files, %d on which the readers disagree" % (len(rows), len(wrong)))
    return 1 if wrong or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
