# parts: record
# The estimate of what lives covers the truth: for several seeds, each within four standard errors,
# and their mean too. C++ over an allocator that brings its own operators is sampled once, not twice
# and not never. A program with more rights than its caller is left alone.
. "$(dirname "$0")/_record.sh"

python3 - <<'END_OF_TEST'
import math
import shutil

from _record_lib import *

exe = program()


def estimate(table):
    count = sum(slot[3] for slot in table.slots.values())
    return table.period * count, table.period * math.sqrt(count)


seeds, far = range(1, 9), 0.0
for period in (512, 20000):
    sum_far = 0.0
    for seed in seeds:
        target = Target(exe, "sizes", rate=period, seed=seed, file=trace_path("sizes-%p"))
        table, truth = target.table(), sum(target.blocks.values())
        trace = read_trace(table.path)
        same_live(table, trace)
        guess, error = estimate(table)
        check(abs(guess - truth) <= 4 * error, "seed %d: %d of %d, error %d" % (
            seed, guess, truth, error))
        check(abs(trace.info["rate"] - 8 / period) < 1e-12, "rate")
        sum_far += (guess - truth) / error
        target.end()
    far = sum_far / math.sqrt(len(seeds))
    check(abs(far) <= 4, "period %d: the estimates lie %.1f errors off" % (period, far))
    print("period", period, "mean error in standard errors: %.2f" % far)

cpp = os.path.join(WORK, "operators.cpp")
with open(cpp, "w", encoding="utf-8") as file:
    file.write("""
#include <cstdio>
#include <memory>
#include <new>
struct alignas(64) Wide { char bytes[192]; };
int main()
{
    static char buffer[4096];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    for (int i = 0; i < 100; i++) {
        delete new char[1];
        auto *array = new char[1000 + i];
        auto *wide = new Wide, *other = new Wide[3];
        auto *quiet = new (std::nothrow) char[77];
        std::printf("block %zx %d\\nblock %zx 192\\nblock %zx 576\\nblock %zx 77\\n", (size_t)array,
                    1000 + i, (size_t)wide, (size_t)other, (size_t)quiet);
        std::make_unique<long[]>(50);
    }
    try {
        ::operator new(~(size_t)0 / 4);
        return 1;
    } catch (const std::bad_alloc &) {
    }
    std::puts("READY");
    std::fflush(stdout);
    return std::getchar() == EOF ? 0 : 1;
}
""")
program_cpp = os.path.join(WORK, "operators")
subprocess.run(["g++", "-O0", "-std=c++17", "-w", "-o", program_cpp, cpp], check=True)
beneath = {"glibc": (), "jemalloc": ("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2",),
           "tcmalloc": ("/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4",)}
for name, libraries in beneath.items():
    if not all(os.path.exists(path) for path in libraries):
        continue
    target = Target(program_cpp, preload=(LIBRARY, *libraries), rate=1,
                    file=trace_path("operators-" + name))
    table = target.table()
    check(len(target.blocks) == 400, "blocks")
    all_known(target, table, 40)
    target.end()
    trace = read_trace(table.path)
    same_live(table, trace)
    sizes = [a.words for a in trace.allocs.values()]
    check(sizes.count(50) == 100, "%s: %d arrays of 50 words" % (name, sizes.count(50)))
    print("operators over", name)

if os.geteuid() != 0 or not shutil.which("setpriv"):
    print("programs with more rights: not tried, as nobody can make one here")
    sys.exit(0)
linked = program("-Wl,-u,malloc", "-Wl,-u,heapsnap_record_switch_v1",
                 os.path.join(BIN, "libheapsnap-record.a"), name="linked")
os.chmod(WORK, 0o777)
os.chmod(linked, 0o4755)
command = ["setpriv", "--reuid=65534", "--clear-groups", linked, "refused"]
target = Target(*command, preload=(), file=trace_path("setuid"), rate=1)
check(not os.path.exists(trace_path("setuid")), "a setuid program wrote a trace")
target.end()
print("setuid: refused")
END_OF_TEST
