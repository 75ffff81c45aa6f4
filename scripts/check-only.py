#!/usr/bin/env python3
"""check-only.py compile_commands.json [-j JOBS]: has the compiler of a build read and check every
file of it, with its warnings as errors, without making code."""

import argparse
import concurrent.futures
import json
import shlex
import subprocess
import sys


def check(entry):
    words = shlex.split(entry["command"])
    kept = words[:words.index("-o")] + words[words.index("-o") + 2:]
    done = subprocess.run(kept + ["-fsyntax-only"], cwd=entry["directory"], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("commands")
    parser.add_argument("-j", type=int, default=2)
    options = parser.parse_args()
    with open(options.commands, encoding="utf-8") as file:
        entries = json.load(file)
    with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        found = list(pool.map(check, entries))
    for _, said in found:
        print(said, end="")
    n_bad = sum(code != 0 for code, _ in found)
    print(f"{len(found)} files, {n_bad} refused")
    return 1 if n_bad or not found else 0


sys.exit(main())
