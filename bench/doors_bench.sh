#!/usr/bin/env bash
# Every door out of one large snapshot, in one run: processor time, seconds and peak of each export,
# of the stored questions and of a set of queries; the same queries of the SQLite file and, where
# npm has DuckDB, of the Parquet tables that two of the exports are.
#
#     bench/doors_bench.sh BUILD_DIR SNAP [DIRECTORY]
#
# Prints tables in Markdown. DIRECTORY (default: a temporary one) takes some 4 GB for ten million
# blocks; an export is removed when it has been measured, but for those that are asked.
set -euo pipefail
build=$(realpath "${1:?usage: bench/doors_bench.sh BUILD_DIR SNAP [DIRECTORY]}")
snap=$(realpath "${2:?usage: bench/doors_bench.sh BUILD_DIR SNAP [DIRECTORY]}")
SOURCE_DIR=$(realpath "$(dirname "$0")/..")
BUILD_DIR=$build
work=$(mktemp -d -p "${3:-${TMPDIR:-/tmp}}")
trap 'rm -rf "$work"' EXIT

need()
{
    local tool
    for tool in "$@"; do
        command -v "$tool" >/dev/null || skip "no $tool"
    done
}
# What the client's own helpers say when it is not to be had: the rest is measured all the same.
skip()
{
    echo "doors_bench: without DuckDB: $1" >&2
    exit 77
}
npm_dir=$(
    . "$SOURCE_DIR/tests/oracles/_tools.sh"
    need_npm duckdb @duckdb/node-api@1.5.6-r.1 >&2
    echo "$npm_dir"
) || npm_dir=""

export HEAPSNAP=$build/bin/heapsnap WORK=$work SNAP=$snap NPM_DIR=$npm_dir
export DUCKDB=$SOURCE_DIR/tests/oracles/duckdb.mjs PYTHONDONTWRITEBYTECODE=1
python3 -B - <<'END'
import os, shutil, subprocess, sys, time

HEAPSNAP, WORK, SNAP = (os.environ[name] for name in ("HEAPSNAP", "WORK", "SNAP"))
NPM_DIR, DUCKDB = os.environ["NPM_DIR"], os.environ["DUCKDB"]

def measure(argv, text=None, output=None):
    """Runs it: seconds, processor seconds, peak in MB (not less than this program's own); what it
    printed, unless `output` takes it."""
    with open(output or f"{WORK}/out", "w+b") as out, open(f"{WORK}/in", "w+b") as into:
        into.write((text or "").encode())
        into.seek(0)
        begin = time.monotonic()
        child = subprocess.Popen(argv, stdin=into, stdout=out, stderr=subprocess.PIPE)
        said = child.stderr.read().decode()
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.monotonic() - begin
        out.seek(0)
        printed = "" if output else out.read().decode(errors="replace")
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{argv}: {child.returncode}: {said}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, printed

def size(path):
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(at, name))
               for at, _, names in os.walk(path) for name in names)

def table(*heads):
    print("\n| " + " | ".join(heads) + " |")
    print("|" + " --- |" * len(heads), flush=True)

def row(*cells):
    print("| " + " | ".join(cells) + " |", flush=True)

def cost(found):
    return f"{found[0]:.2f}", f"{found[1]:.2f}", f"{found[2]:.0f}"

def load():
    with open("/proc/loadavg") as file:
        return file.read().split()[0]

print(f"load {load()} at the beginning, {os.cpu_count()} processors")
print(measure([HEAPSNAP, "sql", SNAP, "select objects, edges from snapshots", "--format", "tsv"])[3]
      .replace("\n", " "))

table("export", "seconds", "processor, s", "peak, MB", "MB")
for name in ("folded", "pprof", "speedscope", "heaptrack", "callgrind", "ncdu", "dot", "perfetto",
             "hprof", "v8", "graph", "parquet", "sqlite"):
    path = f"{WORK}/to.{name}"
    found = measure([HEAPSNAP, "export", SNAP, "--to", name, "-o", path])
    row(name, *cost(found), f"{size(path) / 1e6:.2f}")
    if name not in ("parquet", "sqlite"):
        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)

questions = [line.split()[0] for line in
             measure([HEAPSNAP, "sql", SNAP], ".questions\n")[3].splitlines() if line.strip()]
table("stored question", "seconds", "processor, s", "peak, MB")
for name in questions:
    row(name, *cost(measure([HEAPSNAP, "sql", SNAP, name, "-n", "0"], output="/dev/null")))

blocks = f"read_parquet('{WORK}/to.parquet/*/*/*/blocks.parquet')"
hub = measure([HEAPSNAP, "sql", SNAP, "select idom, count(*) n from blocks where idom is not null "
               "group by idom order by n desc limit 1", "--format", "tsv"])[3].split()[-2]
some = measure([HEAPSNAP, "sql", SNAP, "select max(id) / 2 from blocks", "--format", "tsv"])[3]
some = some.split()[-1]
# What the three call it: the virtual tables, the SQLite file, the Parquet tables (None: they have
# no such table).
QUERIES = [
    ("ready", "select 1", "select 1", "select 1"),
    ("count, sum of words", "select count(*), sum(words) from blocks", None,
     "select count(*), sum(words) from blocks"),
    ("words > 8 and retained > 1000",
     "select count(*) from blocks where words > 8 and retained_words > 1000", None,
     "select count(*) from blocks where words > 8 and retained_words > 1000"),
    ("by type: count, sum of words", "select type, count(*), sum(words) from blocks group by type",
     None, "select \"type\", count(*), sum(words) from blocks group by \"type\""),
    ("by words", "select words, count(*) from blocks group by words", None,
     "select words, count(*) from blocks group by words"),
    ("20 that retain most",
     "select id from blocks order by retained_words desc limit 20", None,
     "select id from blocks order by retained_words desc limit 20"),
    ("one by id", f"select words, retained_words from blocks where id = {some}", None,
     f"select words, retained_words from blocks where id = {some}"),
    ("20 children of a hub",
     f"select id from children({hub}) order by retained_words desc limit 20",
     f"select id from blocks where idom = {hub} order by retained_words desc limit 20",
     f"select id from blocks where idom = {hub} order by retained_words desc limit 20"),
    ("count of its children", f"select count(*) from children({hub})",
     f"select count(*) from blocks where idom = {hub}",
     f"select count(*) from blocks where idom = {hub}"),
    ("pointers from one", f"select dst from edges where src = {some}", None, None),
    ("pointers to one", f"select src from edges where dst = {some}", None, None),
    ("type of dominator x type",
     "select d.type, b.type, count(*) from blocks b join blocks d on b.idom = d.id group by 1, 2",
     None,
     "select d.\"type\", b.\"type\", count(*) from blocks b join blocks d on b.idom = d.id "
     "group by 1, 2"),
]
LONGEST = "300"  # seconds

def tables(sql):
    return measure(["timeout", LONGEST, HEAPSNAP, "sql", SNAP, sql], output="/dev/null")
def sqlite(sql):
    return measure(["timeout", LONGEST, "sqlite3", "-readonly", f"{WORK}/to.sqlite", sql],
                   output="/dev/null")
def duckdb(sql):
    return measure(["timeout", LONGEST, "node", DUCKDB, NPM_DIR],
                   f"create view blocks as from {blocks};\n;\n{sql}", output="/dev/null")

def ask(how, sql):
    if sql is None:
        return "-"
    try:
        return " / ".join(cost(how(sql)))
    except SystemExit as ended:
        if ": 124:" in str(ended):
            return f"over {LONGEST} s"
        raise

table("query: seconds / processor, s / peak, MB", "virtual tables", "SQLite file",
      "DuckDB on Parquet")
for name, ours, files, rows in QUERIES:
    row(name, ask(tables, ours), ask(sqlite, files or ours),
        ask(duckdb, rows) if NPM_DIR else "-")
print(f"\nload {load()} at the end")
END
