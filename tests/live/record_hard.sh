# parts: record
# Programs that make it hard for the recorder: many threads, forks while others hold its lock,
# closed and reused descriptors, handlers in the middle of it, modules that come and go, exec, and
# a trace that cannot be written. None of them may fail, and what is counted must be so.
. "$(dirname "$0")/_record.sh"

python3 - <<'END_OF_TEST'
import glob
import resource

from _record_lib import *

exe = program()
plugin = compile_c("record_plugin.c", "libplugin.so", "-shared", "-fPIC")
simple = compile_c("record_plugin.c", "libsimple.so", "-shared", "-fPIC", "-fno-builtin",
                   "-DALLOCATOR")


def sound(name, *arguments, others=8, **settings):
    """Runs to its rest: no loss, and the table is what the trace says; then to its end."""
    target = Target(exe, *arguments, file=trace_path(name), rate=1, **settings)
    table = target.table()
    trace = read_trace(table.path)
    check(table.n_lost == 0, "%s: lost %d" % (name, table.n_lost))
    all_known(target, table, others)
    same_live(table, trace)
    check(target.end() == "", name + " wrote to stderr")
    print(name, len(trace.allocs), "allocations")
    return trace


sound("threads", "threads", "500", others=600) # the loader's, of each thread's memory
sound("forks", "forks", "1000", others=20)
check(glob.glob(trace_path("forks") + ".*") == [], "a child wrote a trace")
sound("closes", "closes")

# Modules at the same address must not be taken for each other.
trace = sound("plugins", "plugins", plugin, others=60)
n_plugins = sum(trace.places[a.frames[0]][0] == plugin for a in trace.live().values())
check(n_plugins == 40, "%d blocks of the plugin" % n_plugins)
for alloc in trace.live().values():
    check(all(f in trace.places for f in alloc.frames), "a frame without a place")

# Two images of one process: the second has a trace of its own.
sound("exec", "exec")
check(len(glob.glob(trace_path("exec") + "*")) == 2, "exec")

# A handler's samples are lost where it hits us, but nothing else is.
target = Target(exe, "handlers", preload=(LIBRARY, simple), file=trace_path("handlers"), rate=1)
table, trace = target.table(), read_trace(trace_path("handlers"))
all_known(target, table, 8)
same_live(table, trace)
target.end()
print("handlers", len(trace.allocs), "allocations,", table.n_lost, "lost")

# Children that record have a trace each.
target = Target(exe, "forks", "20", file=trace_path("child-%p"), rate=1, children=1)
target.end()
traces = glob.glob(os.path.join(WORK, "child-*.ctf"))
check(len(traces) == 21, "%d traces" % len(traces))
for path in traces:
    trace = read_trace(path)
    check("child-%d." % trace.info["pid"] in path, "pid")
    if trace.info["pid"] != target.pid:
        sizes = [a.words for a in trace.allocs.values()]
        check(sizes.count(16) == 1 and 125 in sizes and 625 in sizes, str(sizes))

# A trace that is there is never written over.
with open(trace_path("there"), "w", encoding="utf-8") as file:
    file.write("mine")
target = Target(exe, "known", file=trace_path("there"), rate=1)
check(target.table().path == trace_path("there") + ".1", "name")
target.end()
with open(trace_path("there"), encoding="utf-8") as file:
    check(file.read() == "mine", "written over")


def lossy(name, said, limits=None, prepare=None, **settings):
    """The table is whole, the trace is not: counted, and said once."""
    target = Target(exe, "known", rate=1, limits=limits, **settings)
    table = target.table()
    all_known(target, table, 8)
    check(table.n_lost > 1000, "%s: lost %d" % (name, table.n_lost))
    errors = target.end()
    check(errors.count("\n") == 1 and said in errors, "%s: said %r" % (name, errors))
    print(name, "lost", table.n_lost)
    return table


lossy("full", "cannot be written", file="/dev/full")
lossy("no directory", "cannot be created", file=os.path.join(WORK, "none/trace"))
lossy("a directory", "cannot be created", file=WORK)
lossy("long", "too long", file="/" + 300 * "x")
lossy("limit", "cannot be written", file=trace_path("limit"),
      limits=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000)))
check(len(read_trace(trace_path("limit")).allocs) < 1000, "limit")

# Deleted while it is written to: what comes after is lost.
target = Target(exe, "late", file=trace_path("deleted"), rate=1)
os.unlink(trace_path("deleted"))
check(target.end().count("deleted by the program") == 1, "deleted")
END_OF_TEST
