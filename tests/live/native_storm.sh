# Programs that allocate, fork, load libraries, make threads or map memory without a rest, stopped
# at any moment: every dump is whole, what the program holds is never called lost, and it lives on.
# HS_FAULTS_TIMES=10 for 60 dumps of each.
. "$(dirname "$0")/_faults.sh"

python "$@" <<'END_OF_TEST'
from native_faults import *

program = compile_c("native_storm.c", "storm", "-g", "-O1", "-pthread")
source = os.path.join(WORK, "plugin.c")
with open(source, "w") as file:
    file.write("#include <stdlib.h>\nvoid *kept;\n__thread int word = 3;\n"
               "__attribute__((constructor)) void begin(void) { kept = malloc(50); }\n"
               "__attribute__((destructor)) void end(void) { free(kept); }\n"
               "int plugin(void) { return word; }\n")
plugin = compile_c(source, "plugin.so", "-g", "-shared", "-fPIC")


def storm(kind, *more, env=None, dumps=6):
    target = Target(program, kind, *more, env=env)
    (words, count), = [map(int, line) for line in target.lines("HELD")]
    seen = {"unproved": 0, "gaps": 0, "pause_ms": 0}
    for turn in range(turns(dumps)):
        what = f"{kind} turn {turn}"
        options = ["--no-names"] if turn % 3 else []
        dump(target, what, *options)
        target.check_lives(what)
        info = look("info")
        seen["unproved"] += check_proofs(info, what) != 0
        seen["gaps"] += len(gaps(info)) != 0
        seen["pause_ms"] = max(seen["pause_ms"], info["pause_ns"] // 1000000)
        lost = certain_leaks(words)
        check(lost == 0, f"{what}: {lost} of {count} held blocks are called lost: {gaps(info)}")
        held = [(root["reachable_objects"], root["reachable_words"])
                for root in look("roots")["roots"] if root["name"].split()[-1] == "held_array"]
        check(held == [(count, count * words)],
              f"{what}: it holds {count} blocks of {words} words, not {held}: {gaps(info)}")
        time.sleep(random.uniform(0, 0.01))
    target.end()
    return f"{turns(dumps)} dumps: {seen}"


def malloc():
    return storm("malloc")


def fork():
    return storm("fork")


def dlopen():
    return storm("dlopen", plugin)


def threads():
    return storm("threads")


def maps():
    return storm("maps")


def sibling():
    return storm("sibling")


if len(sys.argv) > 1:
    main(*[globals()[name] for name in sys.argv[1:]])
else:
    main(malloc, fork, dlopen, threads, maps, sibling)
END_OF_TEST
