# Stacks of all kinds that alone hold blocks: none is called lost, no thread is missing, and the
# pause is short. HS_FAULTS_TIMES=10 for 10,000 threads and 2,000,000 frames.
. "$(dirname "$0")/_faults.sh"

python <<'END_OF_TEST'
from native_faults import *

plain = compile_c("odd_stacks.c", "stacks", "-O1", "-g", "-pthread",
                  "-fno-optimize-sibling-calls")


def held(program, *more, options=()):
    """The dump's `info`, when every held block has an owner: a slot of no variable may be one."""
    what = " ".join(map(str, more))
    target = Target(program, *more)
    (words, count), = [map(int, line) for line in target.lines("HELD")]
    began = time.monotonic()
    dump(target, what, *options)
    target.check_lives(what)
    leaks = look("leaks")
    lost = [group["count"] for group in leaks["groups"]
            if group["words_each"] == words and group["certainty"] == "certain"]
    check(lost == [], f"{what}: of {count} held blocks are lost: {lost}")
    check(leaks["possible_on_stack"] == leaks["possible"], f"{what}: not held by stacks: {leaks}")
    info = look("info")
    check(check_proofs(info, what) == 0, f"{what}: {info['proofs']}")
    target.end()
    return info, count, time.monotonic() - began


def threads():
    """The pause is that of the quickest: a busy machine makes one of them long, not each."""
    n = turns(1000)
    limit = (5_000_000_000 if IS_SANITISED else 1_000_000_000) * max(1, TIMES)
    for _ in range(5):
        info, count, seconds = held(plain, "threads", n)
        check(count == n, f"{count} blocks of {n} threads")
        roots = look("roots", "--kind", "stack,local,register,tls")["roots"]
        seen = {root["thread"] for root in roots if root["thread"] is not None}
        check(len(seen) >= n, f"{len(seen)} of {n} threads have roots")
        if info["pause_ns"] < limit:
            break
    check(info["pause_ns"] < limit, f"a pause of {info['pause_ns']} ns")
    return f"{n} threads, pause {info['pause_ns'] // 1000000} ms, {seconds:.1f} s"


def deep():
    n = turns(200000)
    info, count, seconds = held(plain, "deep", n)
    return f"{n} frames, {count} blocks, pause {info['pause_ns'] // 1000000} ms, {seconds:.1f} s"


def others():
    return {what: held(plain, what)[1] for what in ["guard", "signal", "coroutine", "running"]}


main(threads, deep, others)
END_OF_TEST
