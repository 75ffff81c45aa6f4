# parts: record
# At a rate of one byte the recorder's table and trace hold exactly what a program holds, over glibc
# and over jemalloc, preloaded and linked; frees, failed calls and switches included.
. "$(dirname "$0")/_record.sh"

python3 - <<'END_OF_TEST'
from _record_lib import *

exe = program()
jemalloc = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
start = "-Wl,-u,heapsnap_record_switch_v1"
linked = ["-Wl,-u,malloc", start, os.path.join(BIN, "libheapsnap-record.a")]
names = ("malloc calloc realloc reallocarray free aligned_alloc memalign posix_memalign valloc "
         "pvalloc").split()
static = ["-static", "-Wl,--eh-frame-hdr", *("-Wl,--wrap=" + name for name in names), start,
          os.path.join(BIN, "libheapsnap-record-static.a")]
ways = {"preloaded": (exe, (LIBRARY,)),
        "no frame pointers": (program("-fomit-frame-pointer", name="bare"), (LIBRARY,)),
        "frame pointers": (program("-fno-omit-frame-pointer", "-fno-optimize-sibling-calls",
                                   name="framed"), (LIBRARY,)),
        "linked": (program(*linked, name="linked"), ()),
        "static": (program(*static, name="static"), ())}
if os.path.exists(jemalloc):
    ways["jemalloc"] = (exe, (LIBRARY, jemalloc))

for name, (command, preload) in ways.items():
    path = trace_path(name.replace(" ", "_"))
    target = Target(command, "known", preload=preload, file=path, rate=1)
    check(len(target.blocks) > 1000, "blocks")
    table = target.table()
    check(table.pid == target.pid and table.is_on == 1 and table.path == path, "anchor")
    check(table.n_lost == 0 and table.period == 1, "lost %d" % table.n_lost)
    all_known(target, table, 8)
    same_live(table, read_trace(path))
    trace = read_trace(path)
    check(trace.info["pid"] == target.pid and trace.info["rate"] == 8, "info")
    check(trace.info["begin"] == table.begun, "start")
    check(trace.info["executable"] == os.path.realpath(command), "executable")
    inside = [s for a, s in table.slots.items() if a in target.blocks]
    of_program = 0
    for slot in inside:
        alloc = trace.allocs[slot[0]]
        files = [trace.places[f][0] for f in alloc.frames]
        of_program += files[0] == os.path.realpath(command)
        check(len(files) >= 3, "%s: stack of %d frames" % (name, len(files)))
    check(of_program == len(inside), "%s: %d of %d called by the program" % (
        name, of_program, len(inside)))
    target.end()
    left = read_trace(path).live()
    check(10 <= len(left) <= 18, "%s: %d live at the end" % (name, len(left)))
    print(name, len(trace.allocs), "allocations,", len(table.slots), "live")

target = Target(exe, "switches", file=trace_path("switches"), rate=1, start="off", signal=12)
check(sorted(s[1] for s in target.table().slots.values()) == [1111, 3333], "switched")
target.end()
trace = read_trace(trace_path("switches"))
check([a.words for a in trace.allocs.values()] == [139, 417] and len(trace.live()) == 1, "switched")
Target(exe, "refused", preload=()).end()
END_OF_TEST
