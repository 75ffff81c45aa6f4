"""Compiles what stands on arch/ once more, with the headers of another processor and without
making code: second_processor.py BUILD SOURCE ARCH. A file that names a register of ARCH fails."""

import concurrent.futures
import json
import os
import shlex
import subprocess
import sys

OTHER = "aarch64"
COMPILED = ("arch/", "symbols/", "snapshot/", "tools/")


def command_for(entry, source, arch):
    """The compiler's own command, or None for a file that does not stand on arch/."""
    path = os.path.relpath(entry["file"], source)
    mine, other = (os.path.join(source, "arch", a, "include") for a in (arch, OTHER))
    words = shlex.split(entry["command"])
    if not path.startswith(COMPILED) or not any(mine in word for word in words):
        return None
    if path.startswith("arch/" + arch):
        return None
    at = words.index("-o")
    del words[at : at + 2]
    return [word.replace(mine, other) for word in words] + ["-fsyntax-only"]


def main(build, source, arch):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = {entry["file"]: entry for entry in json.load(file)}
    found = {e["file"]: command_for(e, source, arch) for e in entries.values()}
    commands = {path: command for path, command in found.items() if command}
    like = next(iter(commands.values()), None)
    if like is None or len(commands) < 100:
        sys.exit("only %d files stand on arch/: the test looks in the wrong place" % len(commands))
    folder = os.path.join(source, "arch", OTHER)
    for name in sorted(os.listdir(folder)): # its own files are compiled by nobody else
        if name.endswith(".c"):
            commands[os.path.join(folder, name)] = None
    own = [w for w in like if not w.endswith(".c")]
    own += ["-I" + os.path.join(source, "arch", "include")]

    def compile_one(path):
        command = commands[path] or own + [path]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=build)
        return ended.returncode, ended.stderr

    n_failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for code, text in pool.map(compile_one, sorted(commands)):
            if code != 0:
                n_failed += 1
                print(text)
    print("%d files, %d do not compile for %s" % (len(commands), n_failed, OTHER))
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
