#!/usr/bin/env python3
"""check-only.py compile_commands.json [-j JOBS] [--made BUILD]: has the compiler of a build read
and check every file of it, with its warnings as errors, without making code. What another build
with that compiler, and with warnings as errors, has just made is not read again."""

import argparse
import concurrent.futures
import json
import os
import shlex
import subprocess
import sys


def check(entry):
    words = shlex.split(entry["command"])
    kept = words[:words.index("-o")] + words[words.index("-o") + 2:]
    done = subprocess.run(kept + ["-fsyntax-only"], cwd=entry["directory"], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def is_made(entry, build, other):
    words = shlex.split(entry["command"])
    file = os.path.join(entry["directory"], words[words.index("-o") + 1])
    made = os.path.join(other, os.path.relpath(file, build))
    return os.path.exists(made) and os.path.getmtime(made) > os.path.getmtime(entry["file"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("commands")
    parser.add_argument("-j", type=int, default=2)
    parser.add_argument("--made", metavar="BUILD")
    options = parser.parse_args()
    with open(options.commands, encoding="utf-8") as file:
        entries = json.load(file)
    n_all = len(entries)
    if options.made:
        build = os.path.dirname(os.path.abspath(options.commands))
        entries = [entry for entry in entries if not is_made(entry, build, options.made)]
    with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        found = list(pool.map(check, entries))
    for _, said in found:
        print(said, end="")
    n_bad = sum(code != 0 for code, _ in found)
    print(f"{n_all} files, {n_all - len(entries)} of them made elsewhere, {n_bad} refused")
    return 1 if n_bad or not n_all else 0


if __name__ == "__main__":
    sys.exit(main())
