# parts: export
# A disk that is full in the middle of each export, and of what SQL spills: exit 5, one message, no
# file under the name, what was there before stays. By a limit of the size of files, which a disk's
# end looks like to a program; tests/cli/faults_disk.sh has a file system that is really full.
. "$(dirname "$0")/lib.sh"

python <<'END'
import re
import resource
import shutil
from snapcli import *

OLD = b"what was there"


def formats():
    said = run("export", "x.snap", "--to", "nothing", code=2).err
    names = re.search(r"hint: one of ([a-z0-9|]+)", said)[1].split("|")
    check(len(names) >= 13, f"formats: {said}")
    return names


def large():
    """Many roots, types, blocks and edges, with names that cannot be pressed away."""
    s, rng = a_snap(), random.Random(5)
    types = [s.type(f"struct {rng.getrandbits(200):x}", form=12) for _ in range(2000)]
    last = s.block(2)
    for i in range(4000):
        block = s.block(3 + i % 7, types[i % 2000])
        s.edge(block, last, 0)
        if i % 3 == 0:
            s.root(block, f"v{rng.getrandbits(160):x}", binary="prog", unit="Main")
        last = block
    return s.write("large.snap")


def limited(bytes_most, *command):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_most, bytes_most))
    return subprocess.run([HEAPSNAP, *command], capture_output=True, preexec_fn=limit, timeout=100,
                          check=False)


def check_refused(done, what):
    said = done.stderr.decode()
    equal(done.returncode, 5, f"{what}: exit: {said}")
    check(said.startswith("heapsnap: cannot ") and "File too large" in said, f"{what}: {said}")
    equal(said.count("heapsnap: "), 1, f"{what}: one message: {said}")


def names_in(directory):
    return sorted(os.path.join(at, name) for at, _, names in os.walk(directory) for name in names)


def exports():
    snap = large()
    run("index", snap)
    for name in formats():
        whole, place = os.path.join(WORK, "whole"), os.path.join(WORK, "place")
        for path in (whole, place):
            shutil.rmtree(path, ignore_errors=True)
            os.mkdir(path)
        is_folder = name in ("graph", "parquet")
        def out(directory):
            return directory if is_folder else os.path.join(directory, "file")
        run("export", snap, "--to", name, "-o", out(whole))
        size = max(map(os.path.getsize, names_in(whole)))
        if not is_folder:
            with open(out(place), "wb") as file:
                file.write(OLD)
        for most in sorted({1, size // 3, 2 * size // 3, size - 1}):
            done = limited(most, "export", snap, "--to", name, "-o", out(place))
            check_refused(done, f"{name}, {most} of {size} bytes")
            if is_folder: # each table is whole or absent
                for path in names_in(place):
                    with open(path, "rb") as one, \
                         open(path.replace(place, whole, 1), "rb") as other:
                        check(one.read() == other.read(), f"{name}: half of {path}")
            else:
                equal(names_in(place), [out(place)], f"{name}: what is left")
                with open(out(place), "rb") as file:
                    check(file.read() == OLD, f"{name}: the old file is gone")
        # Exactly enough is enough, where no temporary file is larger.
        done = limited(max(size, 1), "export", snap, "--to", name, "-o", out(place))
        equal(done.returncode, 0, f"{name}, {size} bytes: {done.stderr.decode()}")


def spilled_rows():
    snap = os.path.join(WORK, "large.snap")
    query = "select a.*, b.type, b.id from blocks a, (select * from blocks limit 60) b"
    whole = run("sql", snap, query, "--format", "tsv").raw
    check(len(whole) > 8 << 20, f"{len(whole)} bytes are more than what stays in memory")
    for most in (4096, 1 << 20, 3 << 20):
        done = limited(most, "sql", snap, query, "--format", "tsv")
        check_refused(done, f"rows, {most}")
        check(done.stdout == b"", "no row was written")
    # What is sorted spills in SQLite's own files.
    sort = query.replace(" from", ", a.type || b.id as both from", 1) + " order by both desc"
    run("sql", snap, sort, "--format", "tsv", "--memory", "64MiB")
    done = limited(65536, "sql", snap, sort, "--format", "tsv", "--memory", "64MiB")
    check_refused(done, "a sort")
    check(done.stdout == b"", "no row of a sort was written")


main(exports, spilled_rows)
END
