# parts: sql export
# A column has one name, one kind and one value in JSON, TSV, SQL, the exported database, Parquet
# and openapi.json: what analysis/include/analysis/rows.def says once.
. "$(dirname "$0")/lib.sh"

python <<'END'
import glob
import re
import sqlite3
import subprocess
from snapcli import *


def made():
    """Roots of several kinds, a set, a lost block, samples with and without their block."""
    snap = a_snap()
    session = snap.type("struct session", form=12)
    shared, lost = snap.block(40, session), snap.block(9, session)
    for name in ["left", "right"]:
        block = snap.block(4, session)
        snap.root(block, name, binary="prog", unit="Main", symbol="sym", file="main.c", line=12)
        snap.edge(block, shared, 0)
    snap.root(shared, "one", binary="prog", unit="Main")
    snap.root(shared, "two", binary="prog", unit="Main")
    sampler = snap.sampler("record", period=64)
    place = snap.site(("make_session", "session.c", 12), ("main", "main.c", 3))
    snap.sample(7, shared, sampler=sampler, site=place)
    snap.sample(8, lost, sampler=sampler, site=place)
    return snap.write()


SNAP = made()


def in_sql(noun, where=""):
    said = run("sql", SNAP, f"select * from {noun}{where}", "--format", "ndjson").out
    return [json.loads(line) for line in said.splitlines()]


def columns_of(noun):
    for line in run("sql", SNAP, ".tables").lines():
        name, columns = line.split(": ")
        if name == noun:
            return columns.split()
    check(False, f"no table {noun}")


def plain(value):
    """As SQL has it: '#5' and 'set:5' are 5, true is 1."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"(#|set:)\d+", value):
        return int(value.lstrip("#set:"))
    return value


LOOKS = {"roots": (["roots"], "roots", " where is_root and not weak"),
         "types": (["types", "--group-by", "constructor"], "types", ""),
         "leaks": (["leaks"], "groups", ""),
         "samples": (["samples"], "samples", "")}
# What is JSON's or TSV's alone: lists, and an older name.
BESIDE = {"roots": {"group", "type"}, "types": {"form"}, "leaks": {"path"},
          "samples": {"site", "join"}}


def json_is_sql():
    for noun, (command, member, where) in LOOKS.items():
        listed = run(command[0], SNAP, *command[1:], "--json", "-n", 0).json()[member]
        columns, found = columns_of(noun), in_sql(noun, where)
        check(len(listed) > 1 and len(listed) == len(found), f"{noun}: {len(listed)} rows")
        for row in listed:
            equal(set(row) - BESIDE[noun], set(columns), f"{noun}: columns of JSON")
        def key(row):
            return json.dumps([plain(row[c]) for c in columns], sort_keys=True)
        for a, b in zip(sorted(listed, key=key), sorted(found, key=key)):
            for column in columns:
                equal(plain(a[column]) or None, b[column] or None, f"{noun}.{column}")


def suspects_are_suspects():
    """JSON has sentences beside the columns; a set is `set_id` in SQL, where SET is a word of its
    own."""
    listed, found = run("suspects", SNAP, "--json").json()["suspects"], in_sql("suspects")
    check(len(listed) > 1 and len(listed) == len(found), f"{len(listed)} suspects")
    same = set(listed[0]) & set(columns_of("suspects"))
    equal(len(same), 12, f"names that both have: {same}")
    for a, b in zip(listed, found):
        equal({c: a[c] for c in same}, {c: b[c] for c in same}, "suspects")


def tsv_is_json():
    extra = {"roots": {"place", "type"}, "types": set(), "leaks": set(), "samples": set()}
    for noun, (command, _, _) in LOOKS.items():
        told = run(command[0], SNAP, *command[1:], "--format", "tsv").lines()[0].split("\t")
        equal(set(told) - set(columns_of(noun)) - extra[noun], set(), f"{noun}: columns of TSV")


def database_is_sql():
    path = os.path.join(WORK, "heap.sqlite")
    run("export", SNAP, "--to", "sqlite", "-o", path)
    db = sqlite3.connect(path)
    for noun in ["roots", "sets", "types", "keys", "samples", "sites", "leaks", "snapshots",
                 "blocks"]:
        cursor = db.execute(f"select * from {noun}")
        shown = [c for c in columns_of(noun) if c not in ("retained_conservative", "depth")]
        equal([c[0] for c in cursor.description], shown, f"{noun}: columns of the database")
        rows = [dict(zip(shown, row)) for row in cursor]
        found = in_sql(noun)
        equal(len(rows), len(found), f"{noun}: rows of the database")
        for a, b in zip(rows, found):
            for column in shown:
                if isinstance(b[column], str) and b[column].startswith("0x"):
                    b[column] = int(b[column], 16)
                    a[column] %= 2**64
                equal(a[column], b[column], f"{noun}.{column} of the database")


def parquet_is_sql():
    """By the footer, which has the names in their order; tests/oracles/fleet.sh reads the rows."""
    run("export", SNAP, "--to", "parquet", "-o", f"{WORK}/fleet", "--host", "h", "--service", "s")
    beside = {"keys": ["pid", "taken"], "snapshots": []}
    of_blocks = "id address words static type idom retained_words tier".split()
    for noun in ["roots", "sets", "types", "keys", "leaks", "snapshots", "blocks"]:
        names = of_blocks if noun == "blocks" else \
            [c for c in columns_of(noun) if noun != "snapshots" or c not in
             ("name", "path", "command")] + beside.get(noun, [])
        path, = glob.glob(f"{WORK}/fleet/*/*/*/{noun}.parquet")
        with open(path, "rb") as file:
            whole = file.read()
        footer = whole[-8 - int.from_bytes(whole[-8:-4], "little"):]
        at = 0
        for name in names: # a thrift string: its length, its bytes
            at = footer.find(bytes([len(name)]) + name.encode(), at)
            check(at >= 0, f"{noun}.parquet: no column {name} in its place")
            at += len(name)
        check(f"heapsnap.{noun}/2".encode() in footer, f"{noun}: schema")


def described_is_json():
    """What man pages and openapi.json have: docs/man is held to it by man.sh."""
    told = {}
    for line in run("help", "rows").lines():
        command, array, name, _ = line.split("\t")
        told.setdefault(command, (array, []))[1].append(name)
    what = {"object": ["root:left"], "paths": ["--to", "type:struct session"]}
    for command, (array, names) in told.items():
        answer = run(command, SNAP, *what.get(command, []), "--json").json()
        rows = answer["paths"][0][array] if command == "paths" else answer[array]
        check(rows, f"{command}: no rows")
        equal(list(rows[0]), names, f"help rows: {command}")
    said = subprocess.run([os.environ["SOURCE_DIR"] + "/scripts/openapi", HEAPSNAP, "--check"],
                          capture_output=True, text=True)
    equal(said.returncode, 0, f"run scripts/openapi: {said.stdout[:2000]}{said.stderr}")


main(json_is_sql, suspects_are_suspects, tsv_is_json, database_is_sql, parquet_is_sql,
     described_is_json)
END
