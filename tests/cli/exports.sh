# parts: export
# What exports do when something is wrong: the disk, the reader, the snapshot, the command line.
# That what they write is right is the business of tests/clients.
. "$(dirname "$0")/lib.sh"
export PYTHONPATH=$SOURCE_DIR/tests/cli:$SOURCE_DIR/tests/clients

python3 -B "$SOURCE_DIR/tests/clients/fixture.py" heap.snap
export SNAP=$work/heap.snap TRACE=$work/some.ctf
"$HEAPSNAP" index "$SNAP" 2>"$work/err"
python <<'END'
from program_trace import Program, Writer
from snapcli import *
Writer(Program(2, n=3000, n_wide=20), 2, 1e-4).write(os.environ["TRACE"])
Snap().write("empty.snap")
END
stacks="folded pprof speedscope heaptrack callgrind ncdu"
files="$stacks perfetto hprof v8 dot prometheus"
! has_part sql || files+=" sqlite"

# A full disk: exit 5, told once.
for format in $files; do
    exits 5 export "$SNAP" --to "$format" -o /dev/full
    mentions "^heapsnap: cannot .*No space left on device"
done
for format in $stacks; do
    exits 5 trace export "$TRACE" --to "$format" -o /dev/full
    mentions "^heapsnap: cannot .*No space left on device"
done

# A reader that is gone; a terminal, which binary formats do not go to.
STACKS=$stacks FILES=$files python <<'END'
import pty
from snapcli import *

BINARY = ("pprof", "perfetto", "hprof", "sqlite")
PIPE = 65536
n_midway = 0
commands = [(name, [HEAPSNAP, "export", os.environ["SNAP"], "--to", name])
            for name in os.environ["FILES"].split()]
commands += [(name, [HEAPSNAP, "trace", "export", os.environ["TRACE"], "--to", name])
             for name in os.environ["STACKS"].split()]
for name, command in commands:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, timeout=100)
    os.close(write)
    check(done.returncode == 5 and b"Broken pipe" in done.stderr, f"{command}: {done}")
    # One that goes in the middle.
    whole = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=100).stdout
    if len(whole) > 2 * PIPE:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            check(child.stdout.read(1) == whole[:1], f"{command}: the first byte")
            child.stdout.close()
            said = child.stderr.read()
            check(child.wait(100) == 5 and said.count(b"heapsnap: ") == 1 and
                  b"Broken pipe" in said, f"{command}: {child.returncode}: {said}")
        n_midway += 1
    if name in BINARY:
        master, slave = pty.openpty()
        done = subprocess.run(command, stdout=slave, stderr=subprocess.PIPE, timeout=100)
        os.close(slave)
        os.close(master)
        check(done.returncode == 2, f"{command} to a terminal: {done}")
        check(b"to a terminal" in done.stderr and b"-o FILE" in done.stderr, str(done.stderr))
check(n_midway >= 6, f"{n_midway} are longer than a pipe")
END

# A snapshot that is cut, and one with wrong bytes: exit 4, and no file.
size=$(stat -c %s "$SNAP")
head -c $((size / 2)) "$SNAP" >"$work/cut.snap"
cp "$SNAP" "$work/damaged.snap"
printf '\377\376\375\374' |
    dd of="$work/damaged.snap" bs=1 seek=$((size / 2)) conv=notrunc status=none
for format in $files; do
    for which in cut damaged; do
        exits 4 export "$work/$which.snap" --to "$format" -o "$work/never"
        [ ! -e "$work/never" ] || fail "$format: a file of a $which snapshot"
    done
done
exits 4 trace export "$SNAP" --to folded -o "$work/never"
[ ! -e "$work/never" ] || fail "a file of what is no trace"

# Wrong command lines.
exits 2 export "$SNAP" --to graph
says "'export --to graph' writes several files and needs -o DIR"
exits 2 export "$SNAP"
mentions "needs --to FORMAT"
exits 2 export "$SNAP" --to pprov -o "$work/never"
mentions "pprof"
exits 2 trace export "$TRACE" --to hprof -o "$work/never"
says "a trace has calls and no graph to export to hprof"
exits 2 trace export "$TRACE"
mentions "needs --to FORMAT"
[ ! -e "$work/never" ] || fail "a file was made for a wrong command line"

# An empty heap, and a trace of which nothing was asked for.
for format in $files; do
    exits 0 export "$work/empty.snap" --to "$format" -o "$work/small"
done
for format in $stacks; do
    exits 0 trace export "$TRACE" --to "$format" --size 1Gi.. -o "$work/small"
done

# What SQLite takes is of --memory, too.
if [[ $files == *sqlite ]]; then
    exits 6 export "$SNAP" --to sqlite -o "$work/never" --memory 17Mi
    mentions 'no memory for SQLite: 6.0 MiB are needed, [0-9.]+ MiB of 17.0 MiB are left$'
    hints 'allow more with --memory'
    [ ! -e "$work/never" ] || fail "a file without memory for it"
    exits 0 export "$SNAP" --to sqlite -o "$work/small" --memory 1Gi -v
    mentions 'at most (3[2-9]|4[0-9])\.[0-9] MiB were taken of the limit of 1.0 GiB'
fi

# Small variables without a name are one root of flame graphs, and their sum is kept.
python <<'END'
from snapcli import *
s = Snap()
node, text = s.type("struct node"), s.type("char[]")
def tree(name, words):
    first, second = s.block(words, node), s.block(3, text)
    s.edge(first, second)
    s.root(first, name)
tree("big", 100000)
tree(".bss+0x8", 400)
for at in range(30):
    tree(f".bss+0x{16 * at + 16:x}", 5 + at)
tree("tiny", 7)
path = s.write("roots.snap")
lines = dict(line.rsplit(" ", 1) for line in
             run("export", path, "--to", "folded").lines())
equal(lines, {
    "root global big;struct node": "800000", "root global big;struct node;char[]": "24",
    "root global .bss+0x8;struct node": "3200", "root global .bss+0x8;struct node;char[]": "24",
    "[other roots];struct node": str(8 * sum(range(5, 35))),
    "[other roots];struct node;char[]": str(30 * 24),
    "root global tiny;struct node": "56", "root global tiny;struct node;char[]": "24"}, "stacks")
END
