# Roots, pools and bitmaps that a program and a library of its own register: every block that they
# say lives is listed and kept by what they say, and nothing else is; with symbols and without.
. "$(dirname "$0")/_faults.sh"

python <<'END_OF_TEST'
from native_faults import *

include = ["-I", os.path.join(SOURCE, "include"), "-O1", "-g"]
library = compile_c("registered_areas.c", "libareas.so", *include, "-DLIBRARY", "-shared", "-fPIC")
programs = {
    "program": compile_c("registered_areas.c", "areas", *include),
    "with a library": compile_c("registered_areas.c", "areas_with", *include, "-DWITH_LIBRARY",
                                library, f"-Wl,-rpath,{WORK}"),
}
subprocess.run(["strip", "-s", "-o", programs["program"] + ".stripped", programs["program"]],
               check=True)
programs["stripped"] = programs["program"] + ".stripped"


def object_at(address):
    done = subprocess.run([HEAPSNAP, "object", SNAP, address, "--json"], capture_output=True,
                          timeout=120, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def judge(target, what):
    info, roots, types = look("info"), look("roots", "--kind", "registered"), look("types")
    check(gaps(info) == [], f"{what}: {gaps(info)}")
    n_blocks = {row["type"]: row["objects"] for row in types["types"]}
    lost = {"certain": {}, "possible": {}}
    for group in look("leaks")["groups"]:
        of = lost[group["certainty"]]
        of[group["type"]] = of.get(group["type"], 0) + group["count"]
    check(lost["certain"] == {}, f"{what}: certain leaks: {lost['certain']}")
    by_name = {root["name"]: root for root in roots["roots"]}
    check("gone" not in str(by_name), f"{what}: what was unregistered is listed")
    words = {}
    for line in target.lines("pool"):
        name, (_, size, each, live, sure) = " ".join(line[:-5]), line[-5:]
        words[name] = int(each if int(each) else size) // 8
        found = n_blocks.get(name, 0) + lost["possible"].get(name, 0)
        check(found == int(live), f"{what}: pool {name}: {found} blocks, it has {live}")
        if sure == "exact":
            check(name not in lost["possible"], f"{what}: pool {name}: {lost['possible']}")
    for line in target.lines("root"):
        name, (address, _, kind) = " ".join(line[:-3]), line[-3:]
        root = by_name.get(name)
        check(root is not None, f"{what}: no root {name}: {list(by_name)}")
        pool = "arena" if name == "words" else name.replace("root", "cells")
        count = n_blocks[pool]
        check((root["reachable_objects"], root["reachable_words"]) == (count, count * words[pool]),
              f"{what}: root {name} reaches {root['reachable_objects']} blocks")
        # nobody else knows them, the records of what is registered neither
        check(kind != "precise" or root["retained_objects"] == count,
              f"{what}: root {name} retains {root['retained_objects']} of {count} blocks")
    for line in target.lines("block"):
        name, (address, size) = " ".join(line[:-2]), line[-2:]
        block = object_at(address)
        check(block is not None, f"{what}: no block {name} at {address}")
    for line in target.lines("free"):
        check(object_at(line[-1]) is None, f"{what}: a block at the free place {line[-1]}")
    # The block of malloc that a pool lies in is not lost, only because its pointer is in the pool.
    check("slots" in by_name and by_name["slots"]["retained_objects"] == 1,
          f"{what}: who keeps the memory of slots? {list(by_name)}")
    return f"{len(target.lines('pool'))} pools and {len(target.lines('root'))} roots agree"


def known(name):
    target = Target(programs[name])
    dump(target, name)
    target.check_lives(name)
    said = judge(target, name)
    target.end()
    return said


def all_of_them():
    return {name: known(name) for name in programs}


main(all_of_them)
END_OF_TEST
