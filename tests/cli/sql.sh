# parts: sql
# SQL: what tables say is what the other commands and a brute force say; what is refused; limits.
. "$(dirname "$0")/lib.sh"

python <<'PYTHON'
import csv, io, re
from snapcli import *


def rows(path, query, *more):
    """The rows of a query, as TSV has them: all texts."""
    text = run("sql", path, *more, query, "--format", "tsv").out
    return list(csv.DictReader(io.StringIO(text), delimiter="\t", quoting=csv.QUOTE_NONE))


def values(path, query, *more):
    return [list(row.values()) for row in rows(path, query, *more)]


def graph(path):
    directory = path + ".graph"
    run("export", path, "--to", "graph", "-o", directory)
    read = lambda name: list(csv.DictReader(open(f"{directory}/{name}"), delimiter="\t",
                                            quoting=csv.QUOTE_NONE))
    return read("nodes.tsv"), read("edges.tsv")


def blocks_are_those_of_the_graph():
    for seed in range(rounds(6)):
        path = random_snap(seed).write()
        nodes, edges = graph(path)
        n_tree = int(values(path, "select count(*) from roots")[0][0])
        expected = [[n["id"], n["address"], n["words"], n["static"], n["type"],
                     "" if n["idom"] == "-" else n["idom"], n["retained_words"],
                     {"0": "firm", "1": "runtime", "2": "doubtful", "-": ""}[n["tier"]]]
                    for n in nodes[n_tree:]]
        columns = "id, address, words, static, type, idom, retained_words, tier"
        equal(values(path, f"select {columns} from blocks"), expected, "blocks")
        for one in expected:
            for key in ["id", "address"]:
                value = int(one[0 if key == "id" else 1], 0)
                equal(values(path, f"select {columns} from blocks where {key} = {value}"), [one],
                      f"by {key}")
            if seed:
                break
        by_retained = sorted(expected, key=lambda n: (-int(n[6]), int(n[0])))
        for n in [1, 5, len(expected), len(expected) + 3]:
            equal(values(path, f"select {columns} from blocks order by retained_words desc "
                         f"limit {n}"), by_retained[:n], f"the {n} largest")
        equal(values(path, f"select {columns} from blocks order by retained_words desc "
                     "limit 3 offset 2"), by_retained[2:5], "with an offset")
        children = sorted(n["id"] for n in nodes if n["idom"] == "2")
        equal(sorted(r[0] for r in values(path, "select id from children('#2')")), children,
              "children of #2")
        equal(sorted(r[0] for r in values(path, "select id from blocks where idom = 2")),
              [c for c in children if int(c) >= n_tree], "blocks below #2")
        of_blocks = sorted((int(e["from"]), int(e["to"]), e["class"], e["used"]) for e in edges
                           if int(e["to"]) >= n_tree)
        found = values(path, "select src, dst, class, used from edges")
        equal(sorted((int(a), int(b), c, d) for a, b, c, d in found), of_blocks, "edges")
        for end, at in [("src", 0), ("dst", 1)]:
            # One after the other: soon from the file of single blocks.
            found = values(path, "select src, dst, class, used from "
                           "(select id from roots union all select id from blocks) n "
                           f"cross join edges e where e.{end} = n.id")
            equal(sorted((int(a), int(b), c, d) for a, b, c, d in found), of_blocks,
                  f"all edges by {end}")
            for node in sorted({e[at] for e in of_blocks})[:3]:
                found = values(path, "select src, dst, class, used from edges "
                               f"where {end} = {node}")
                equal(sorted((int(a), int(b), c, d) for a, b, c, d in found),
                      [e for e in of_blocks if e[at] == node], f"edges by {end}")


def views_say_what_commands_say():
    path = random_snap(3, n_blocks=60).write()
    listed = run("roots", path, "--format", "tsv", "-n", 0).lines()
    heads = listed[0].split("\t")
    expected = [dict(zip(heads, line.split("\t"))) for line in listed[1:]]
    expected = [(r["id"], r["name"], r["retained_words"], r["reachable_words"]) for r in expected
                if r["id"].startswith("#")]
    found = [("#" + r["id"], r["name"], r["retained_words"], r["reachable_words"])
             for r in rows(path, "select * from biggest_roots")]
    equal(sorted(found), sorted(expected), "roots")
    for level, view in [("kind", "by_kind"), ("unit", "by_unit")]:
        listed = run("roots", path, "--group-by", level, "--json", "-n", 0).json()["roots"]
        equal(sorted(r["retained_words"] for r in listed),
              sorted(int(r["retained_words"]) for r in rows(path, f"select * from {view}")), view)
    totals = run("info", path, "--json").json()
    equal(values(path, "select count(*), sum(words) from blocks where not static"),
          [[str(totals["objects"]), str(totals["words"])]], "the sums of info")


def depths_and_the_other_policy():
    for seed in range(rounds(3)):
        path = random_snap(seed, n_blocks=60).write()
        firm, other = [[[r["id"], r["retained_words"]] for r in
                        rows(path, "select id, retained_words from blocks", *more)]
                       for more in [(), ("--policy", "conservative")]]
        column = "select id, retained_conservative from blocks"
        equal(values(path, column), other, "what a conservative index says")
        equal(values(path, column, "--policy", "conservative"), other, "by that policy")
        expected = values(path, "select id, (select max(depth) from up(b.id)) from blocks b "
                          "where reached union all select id, '' from blocks where not reached "
                          "order by 1")
        equal(values(path, "select id, depth from blocks"), expected, "depths")
        for node, depth in expected[:4]:
            equal(values(path, f"select id, depth from blocks where id = {node}"),
                  [[node, depth]], "of one")
    snap = Snap()
    sure, unsure, held = [snap.block(n, snap.type(f"struct of{n}")) for n in (10, 5, 100)]
    snap.root(sure, "sure")
    snap.root(unsure, "unsure")
    snap.edge(sure, held)
    snap.edge(unsure, held, 0, GUESSED)
    path = snap.write()
    question = "select words, retained_words, retained_conservative, depth from blocks"
    depth = int(values(path, "select max(depth) from up((select min(id) from blocks))")[0][0])
    equal([[int(n) for n in row] for row in values(path, question)],
          [[10, 110, 10, depth], [5, 5, 5, depth], [100, 100, 100, depth + 1]], "both policies")
    # A list: so long that ways are kept, and that each climbed anew would take minutes.
    long, n = Snap(), 30000
    cell = long.type("struct cell")
    cells = [long.block(2, cell) for _ in range(n)]
    for above, below in zip(cells, cells[1:]):
        long.edge(above, below)
    long.root(cells[0], "list")
    path = long.write()
    first = int(values(path, "select min(depth) from blocks")[0][0])
    equal(values(path, "select count(*), max(depth), sum(depth) from blocks"),
          [[str(n), str(first + n - 1), str(n * first + n * (n - 1) // 2)]], "of a list")
    equal(values(path, "select count(*) from blocks b where depth <> "
                 f"{first} + id - (select min(id) from blocks)"), [["0"]], "and each of it")


def paths_and_holders():
    path = random_snap(5).write()
    for node in [r[0] for r in values(path, "select id from blocks where reached limit 6")]:
        expected = run("paths", path, "--to", "#" + node, "--json").json()
        found = rows(path, f"select * from path({node})")
        equal(len({r["path"] for r in found}), len(expected["paths"]), "paths")
        equal(sum(1 for r in found), sum(1 + p["length"] for p in expected["paths"]), "steps")
        object = run("object", path, "#" + node, "--json", "-n", 0).json()
        equal(sorted(r["id"] for r in object["referrers"]),
              sorted("#" + r["id"] for r in rows(path, f"select * from holders({node})")),
              "holders")
        equal([r["id"] for r in object["dominators"]],
              ["#" + r["id"] for r in rows(path, f"select * from up({node}) where depth > 0")],
              "dominators")


def lists_are_those_of_commands():
    path = random_snap(4, n_blocks=80).write()
    sets = [s for s in run("roots", path, "--json", "-n", 0).json()["sets"]]
    equal([[s["id"], s["n_roots"], s["retained_words"]] for s in sets],
          [["set:" + r["id"], int(r["n_roots"]), int(r["retained_words"])]
           for r in rows(path, "select * from shared_by")], "sets")
    types = run("types", path, "--json", "--group-by", "constructor").json()["types"]
    equal(sorted((t["type"], t["objects"], t["words"], t["retained_words"]) for t in types),
          sorted((r["type"], int(r["objects"]), int(r["words"]), int(r["retained_words"]))
                 for r in rows(path, "select * from types")), "types")
    groups = run("leaks", path, "--json").json()["groups"]
    equal(sorted((g["certainty"], g["type"], g["words_each"], g["count"], g["words"])
                 for g in groups),
          sorted((r["certainty"], r["type"], int(r["words_each"]), int(r["count"]),
                  int(r["words"])) for r in rows(path, "select * from leaks")), "leaks")
    suspects = run("suspects", path, "--json", "-n", 0).json()["suspects"]
    equal([(s["list"], s["words"]) for s in suspects],
          [(r["list"], int(r["words"])) for r in rows(path, "select * from suspects")], "suspects")
    info = run("info", path, "--json").json()
    found = rows(path, "select * from snapshots", path)
    equal([(r["name"], int(r["objects"]), int(r["words"]), int(r["edges"])) for r in found],
          [(n, info["objects"], info["words"], info["edges"]) for n in ["s1", "s2"]], "snapshots")
    reach = "select reachable_words, (select sum(b.words) from reached_from(r.id) f, blocks b " \
            "where b.id = f.id and not b.static) from roots r"
    for expected, sum in values(path, reach):
        equal(sum or "0", expected, "what a root reaches")
    keys = rows(path, "select * from keys")
    equal(sum_of(keys, "words"), info["words"], "each block has one key")
    equal(int(keys[0]["all_words"]), info["words"], "and number 0 all")
    same = rows(path, "select * from diff('s2')", path)
    check(len(same) == len(keys) - 1 and sum_of(same, "growth_words") == 0, "nothing has grown")


def columns_are_those_of_the_document():
    """docs/sql.md lists them: its lines are broken, the words are the same."""
    with open(os.environ["SOURCE_DIR"] + "/docs/sql.md") as file:
        told = file.read().split("### Columns")[1].split("```")[1]
    equal(told.split(), run("sql", a_snap().write(), ".tables").out.split(), "columns")


def sum_of(found, column):
    return sum(int(row[column]) for row in found)


def what_has_grown():
    def made(name, n):
        snap = Snap()
        session = snap.type("struct session")
        for _ in range(n):
            snap.root(snap.block(10, session), "server.sessions")
        snap.root(snap.block(1000, snap.type("struct cache")), "server.cache")
        return snap.write(name)
    old, new = made("old.snap", 3), made("new.snap", 7)
    for name in ["s2", old]:
        found = rows(new, f"select * from diff('{name}') where growth_words <> 0 order by steps",
                     old)
        equal([(r["key"], r["old_objects"], r["objects"], r["growth_words"]) for r in found],
              [("server.sessions", "3", "7", "40"),
               ("server.sessions > struct session", "3", "7", "40")], "what grew")
    found = rows(old, f"select * from diff('s2') where growth_words <> 0", new)
    equal({r["growth_words"] for r in found}, {"-40"}, "and shrank")
    run("sql", new, "select * from diff('s2')", code=2)
    equal(rows(new, "select * from diff(null)"), [], "since nothing")
    for value in ["2.5", "-1", "0", "9007199254740993", "1e300", "x'00ff'"]:
        equal(rows(new, f"select * from diff({value})", old), [], f"diff({value})")
    for name in ["", "abc", "2", "s3"]:
        said = run("sql", new, old, f"select * from diff('{name}')", code=2).err
        check("is attached" in said, said)
    # Words of another size are no words of ours.
    small = Snap()
    small.facts.update(word_bytes=1)
    small.root(small.block(3), "server.sessions")
    said = run("sql", new, small.write("small.snap"), "select * from diff('s2')", code=2).err
    check("words of 1 bytes" in said and "of 8" in said, said)
    # A damaged one among them.
    with open(old, "rb") as file:
        whole = file.read()
    with open("cut.snap", "wb") as file:
        file.write(whole[:len(whole) // 2])
    said = run("sql", new, old, "cut.snap", "select 1", code=4).err
    check("cut.snap" in said, said)


def samples_and_sites():
    snap = Snap()
    sampler = snap.sampler("record", period=64)
    block = snap.block(10, snap.type("struct session"))
    snap.root(block, "server.sessions")
    place = snap.site(("make_session", "session.c", 12),
                      ("main", "main.c", 3))
    snap.sample(7, block, sampler=sampler, site=place)
    snap.sample(2**63 + 5, block, sampler=sampler, site=place)
    path = snap.write()
    listed = run("samples", path, "--format", "tsv").lines()
    expected = [dict(zip(listed[0].split("\t"), line.split("\t"))) for line in listed[1:]]
    found = rows(path, "select * from samples")
    for key in ["sample", "words", "retained_words", "type", "state", "root", "place"]:
        equal(sorted(r[key] for r in found), sorted(r[key] for r in expected), key)
    check(str(2**63 + 5) in {r["sample"] for r in found}, "ids are never rounded")
    site = rows(path, "select * from sites")
    equal([(r["objects"], r["n_frames"], r["backtrace"]) for r in site],
          [("2", "2", "make_session session.c:12 < main main.c:3")], "sites")
    equal(values(path, "select place, root, objects from sites_by_root"),
          [["make_session session.c:12", "server.sessions", "2"]], "who allocated, who keeps")


def plans():
    path = random_snap(1).write()
    plan = lambda query: run("sql", path, "explain query plan " + query).out
    for query in ["select id from blocks order by id", "select id from blocks order by "
                  "retained_words desc limit 5", "select id from children(0) order by "
                  "retained_words desc limit 5", "select id from roots order by id"]:
        check("TEMP B-TREE" not in plan(query), query)
    for columns in ["count(*)", "count(*), sum(words)", "sum(words * static), max(id)"]:
        for by in ["type", "type || ''"]: # in the order of types, and sorted
            query = f"select type, {columns} from blocks group by {by} order by type"
            equal("TEMP B-TREE" in plan(query), by != "type", query)
        equal(*[values(path, f"select type, {columns} from blocks group by {by} order by 1")
                for by in ["type", "type || ''"]], columns)
    equal(values(path, "select type, id from blocks where type > 'b' order by type, id"),
          values(path, "select type, id from blocks where type > 'b' order by type || '', id"),
          "by type and id")
    check("TEMP B-TREE" in plan("select id from blocks order by words"), "there is no such order")
    for query, found in [
            ("select 1 from blocks a cross join blocks b where b.id = a.idom", "b .*:="),
            ("select 1 from blocks a cross join blocks b where b.idom = a.id", "b .*:="),
            ("select 1 from roots r cross join edges e where e.src = r.id", "e .*:="),
            ("select 1 from blocks b, children(b.id) c", "c .*:A"),
            ("select 1 from blocks where id > 5 and id < 9", "blocks .*:><")]:
        check(re.search("SCAN " + found + "$", plan(query), re.M), f"{query}: {plan(query)}")


def any_value_in_any_place():
    path = random_snap(1).write()
    odd = ["NULL", "'abc'", "''", "2.5", "-1", "9007199254740993", "9223372036854775807",
           "-9223372036854775808", "1e300", "-1e300", "x'00ff'", "'7'", "7.0", "' 7'"]
    # `case 1 when 1 then column end` is no column: the same asked without any key.
    literal = lambda value: f"cast({value} as numeric)" if value.strip("' ").isdigit() and \
        value.startswith("'") else value
    for value in odd:
        asked = [(f"select count(*) from blocks where {column} {op} {value}",
                  f"select count(*) from blocks where case 1 when 1 then {column} end {op} "
                  f"{literal(value)}")
                 for column in ["id", "address", "idom"]
                 for op in ["=", "<", "<=", ">", ">=", "is", "<>"]]
        asked += [(f"select count(*) from edges where {column} = {value}",
                   f"select count(*) from edges where case 1 when 1 then {column} end = "
                   f"{literal(value)}") for column in ["src", "dst"]]
        found = values(path, "select " + ", ".join(f"({a}), ({b})" for a, b in asked))[0]
        for (query, _), one, other in zip(asked, found[::2], found[1::2]):
            equal(one, other, query)
        for call in ["children", "up", "path", "holders", "reached_from"]:
            if value.startswith("'"):
                run("sql", path, f"select count(*) from {call}({value})", code=None)
            elif value != "7.0":
                equal(values(path, f"select count(*) from {call}({value})"), [["0"]],
                      f"{call}({value})")
        run("sql", path, f"select human({value}), addr({value})")
    # The climb that NULL once kept from ending.
    climb = "with recursive c(id) as (select max(id) from blocks union all select b.idom from c, " \
            "blocks b where b.id = c.id) select count(*) > 0 from c"
    equal(values(path, climb), [["1"]], "a climb by NULL")
    equal(values(path, "select count(*) from blocks b, children(b.idom) c where b.idom is null"),
          [["0"]], "children of NULL")
    equal(run("sql", path, "select 9007199254740993 as a, -9007199254740993 as b, 5 as c, 0.1 as d,"
              " null as e, x'0a' as f, 1 as a", "--json").json()["rows"],
          [{"a": "9007199254740993", "b": "-9007199254740993", "c": 5, "d": 0.1, "e": None,
            "f": "x'0a'", "a:2": 1}], "JSON")


def what_is_refused():
    path = random_snap(1).write()
    for query in ["attach 'x' as y", "detach s1", "pragma cache_size", "delete from blocks",
                  "insert into blocks(id) values(1)", "update blocks set id = 1", "vacuum",
                  "create table t(a)", "create temp table t(a)", "drop view biggest", "begin",
                  "select load_extension('x')", "select * from pragma_table_info('blocks')",
                  "create view v as select 1", "vacuum into 'x'", "reindex", "savepoint a",
                  "select * from children()", "select * from nothing", "selec t", ".nothing",
                  "select what('root:none such')", "nothing"]:
        said = run("sql", path, query, code=2)
        equal(said.out, "", query)
        check(said.err.startswith("heapsnap: "), said.err)
    check(not os.path.exists("x"), "nothing was written")
    run("sql", path + ".not", "select 1", code=5)
    run("sql", path, path, "--timeout", "1s", "select count(*) from s2.blocks")


def limits():
    path = random_snap(1).write()
    endless = "with recursive c(x) as (select 1 union all select x + 1 from c) "
    said = run("sql", path, endless + "select count(*) from c", "--timeout", "200ms", code=6)
    check("takes longer than 0.2 s" in said.err, said.err)
    # What looks at no clock: one function over a long text, or with a width of billions.
    for query in ["select length(printf('%.*c', 2000000000, 'x'))",
                  "select instr(hex(zeroblob(5000000)), hex(zeroblob(3000000)) || '1')",
                  "select replace(hex(zeroblob(5000000)), hex(zeroblob(3000000)) || '1', '')"]:
        said = run("sql", path, query, "--timeout", "300ms", code=6)
        check("takes longer than 0.3 s" in said.err or "too big" in said.err, said.err)
        equal(said.out, "", "no answer")
    found = run("sql", path, "select 1 as a; select 2 as b", "--timeout", "1m", "--json").out
    equal(found, run("sql", path, "select 1 as a; select 2 as b", "--json").out, "with a time")
    said = run("sql", path, endless + "select x, randomblob(1000) from c", "--timeout", "300ms",
               code=6)
    equal(said.out, "", "no half answer")
    said = run("sql", path, "select length(group_concat(hex(randomblob(10000000)), '')) from "
               "blocks a, blocks b", "--memory", "80Mi", code=6)
    check("more memory" in said.err or "too big" in said.err, said.err)
    many = "with recursive c(x) as (select 1 union all select x + 1 from c limit 300000) "
    found = run("sql", path, many + "select x, 'some text that is long enough' as t from c order "
                "by (x * 7919) % 300007", "--format", "tsv").lines()
    equal(len(found), 300001, "rows that are spilled")
    equal(sorted(int(line.split("\t")[0]) for line in found[1:]), list(range(1, 300001)), "all")
    equal(len(run("sql", path, many + "select x from c", "-n", 7).lines()), 9, "-n")


def hostile_names():
    snap = Snap()
    names = ["'; drop table blocks; --", 'a"b', "tab\there", "new\nline", "\x1b[31mred",
             "</script>", "\u202eright to left", "x" * 2000, b"\xff\xfe not UTF-8", "%s%n", "a;b"]
    for name in names:
        snap.root(snap.block(3, snap.type(name)), name)
    path = snap.write()
    for format in ["table", "json", "ndjson", "tsv"]:
        done = run("sql", path, "select name, id from roots where level = 'leaf' union all "
                   "select type, id from blocks", "-n", 0, "--format", format)
        check("\x1b" not in done.out and "\u202e" not in done.out, format)
        if format == "tsv":
            check(all(line.count("\t") == 1 for line in done.lines()), "cells")
            equal(len(done.lines()), 1 + 2 * len(names), "lines")
        if format == "ndjson":
            equal([json.loads(line)["name"] for line in done.lines()][0], names[0], "as it is")
    equal(values(path, "select count(*) from roots where name = '''; drop table blocks; --'"),
          [["1"]], "by name")


def statements_from_standard_input():
    path = random_snap(1).write()
    script = b"select 1 as a;\n.format tsv\nselect 2 as b,\n 3 as c;\n.snapshots\n" \
             b".attach " + path.encode() + b" other\nselect count(*) > 0 as n from other.blocks"
    said = run("sql", path, stdin=script).out
    equal(said.splitlines()[-5:-3] + said.splitlines()[-2:], ["b\tc", "2\t3", "n", "1"], said)
    run("sql", path, stdin=b"select 1;\nselect nothing;\nselect 2;\n", code=2)
    for command in [".questions", ".tables", ".schema", ".schema blocks", ".help", ".quit"]:
        run("sql", path, command)
    for line in run("sql", path, ".questions").lines():
        run("sql", path, line.split()[0], "--json")


main(blocks_are_those_of_the_graph, views_say_what_commands_say,
     depths_and_the_other_policy, paths_and_holders,
     lists_are_those_of_commands, columns_are_those_of_the_document,
     what_has_grown, samples_and_sites, plans,
     any_value_in_any_place, what_is_refused, limits, hostile_names,
     statements_from_standard_input)
PYTHON

# A pipe whose reader has gone, and a disk without room.
heap=$work/heap.snap
heapsnap_lines() { "$HEAPSNAP" sql "$heap" "$@"; }
many='with recursive c(x) as (select 1 union all select x + 1 from c limit 400000)
    select x, x from c'
set +o pipefail
heapsnap_lines "$many" --format tsv 2>"$work/err" | head -1 >"$work/out"
set -o pipefail
[ "$(cat "$work/out")" = $'x\tx' ] || fail "a closed pipe: $(cat "$work/out")"
exits 5 sql "$heap" "$many" --format tsv -o /dev/full

# Damage that is met midway: no row of it is given.
"$BUILD_DIR/bin/make_heap" 400000 "$work/large.snap" >/dev/null
exits 0 sql "$work/large.snap" 'select id, words from blocks' --format tsv
mv "$work/out" "$work/rows"
exits 0 sql "$work/large.snap" 'select count(*) + 1 from blocks' --format tsv
[ "$(wc -l <"$work/rows")" -eq "$(tail -1 "$work/out")" ] || fail "rows of several chunks"
python "$work/large.snap" <<'PYTHON'
import os, sys
with open(sys.argv[1], "r+b") as file:
    n = os.path.getsize(sys.argv[1])
    for at in range(n * 2 // 5, n * 4 // 5, 997): # chunks alone, all their columns
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 0x55]))
PYTHON
exits 4 sql "$work/large.snap" 'select id, words from blocks' --format tsv
[ ! -s "$work/out" ] || fail "half an answer: $(head -c 100 "$work/out")"

# Anybody's SQLite.
library=$BUILD_DIR/bin/libheapsnap_sqlite
[ -n "${SANITIZED:-}" ] && exit 0
if command -v sqlite3 >/dev/null; then
    sqlite3 -tabs -header :memory: ".load $library" "select heapsnap_attach('$heap') as name" \
        "select id, addr(address) as address, words, type from blocks" >"$work/other" ||
        fail "sqlite3 does not load it"
    exits 0 sql "$heap" "select id, address, words, type from blocks" --format tsv
    diff <(tail -n +3 "$work/other") "$work/out" | head -5
    cmp -s <(tail -n +3 "$work/other") "$work/out" || fail "sqlite3 has other rows"
    sqlite3 :memory: ".load $library" "select heapsnap_attach('/no/such')" 2>"$work/err" &&
        fail "a file that is not there is attached"
    grep -q "no/such" "$work/err" || fail "$(cat "$work/err")"
fi
for python in /usr/bin/python3 python3; do
    "$python" -c 'import sqlite3; sqlite3.connect("").enable_load_extension(True)' 2>/dev/null ||
        continue
    "$python" - "$library" "$heap" <<'PYTHON' || fail "Python's sqlite3"
import sqlite3, sys
db = sqlite3.connect(":memory:")
db.enable_load_extension(True)
db.load_extension(sys.argv[1])
for name in ["one", "two"]:
    assert db.execute("select heapsnap_attach(?, ?)", (sys.argv[2], name)).fetchall() == [(name,)]
assert db.execute("select count(*), sum(words) from one.blocks").fetchall() == \
    db.execute("select count(*), sum(words) from two.blocks").fetchall() != [(0, None)]
try:
    db.execute("select * from up('#nothing')")
except sqlite3.OperationalError as error:
    assert "nothing" in str(error), error
else:
    raise AssertionError("no error")
db.close()
PYTHON
    break
done
