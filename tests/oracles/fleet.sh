# parts: export
# The tables of export --to parquet as DuckDB reads them: sums equal to `info`, hostile names, hosts
# that are called anything; and every query of docs/sql.md over fifty hosts, of which one leaks.
. "$SOURCE_DIR/tests/oracles/_oracle.sh"

need python3
need_npm duckdb @duckdb/node-api@1.5.6-r.1
export PYTHONPATH=$SOURCE_DIR/tests/cli PYTHONDONTWRITEBYTECODE=1 MAKE_SNAP=$BUILD_DIR/bin/make_snap
export WORK=$work DUCKDB="$here/duckdb.mjs" NPM_DIR=$npm_dir

python3 -B - <<'END' || fail "the tables"
from concurrent.futures import ThreadPoolExecutor
import re
from snapcli import *

def ask(sql):
    done = subprocess.run(["node", os.environ["DUCKDB"], os.environ["NPM_DIR"]],
                          input=sql.encode(), capture_output=True, timeout=100)
    check(done.returncode == 0, f"{sql}: {done.stderr.decode()}")
    return [json.loads(line) for line in done.stdout.decode().splitlines()]

def table(name, directory):
    return f"read_parquet('{WORK}/{directory}/*/*/*/{name}.parquet', hive_partitioning = true, " \
           "hive_types_autocast = false)"

HOSTILE = ["a'b\"c\n\t</script>", "';drop_table_keys;--", "\u202etxt", "NULL", "null", "\\N",
           b"\xff\xfebad", "x" * 3000, "%s%n", "0x7f0123456789", "\U0001f600"]

def sums():
    s = a_snap()
    s.facts["taken_ns"] = 1795467552123456789
    last = s.block(1)
    for at, name in enumerate(HOSTILE):
        t = s.type(name)
        block = s.block(3 + at, t)
        s.root(block, name if isinstance(name, str) else "odd", unit="Hostile",
               address=0x7f0000000000 + at)
        s.edge(block, last, 0)
    path = s.write()
    info = run("info", path, "--json").json()
    roots = run("roots", path, "--json", "-n", 0).json()
    for name in ["shop", "a/b", "..", "NULL", "null", "x=y", "a\nb", "__HIVE_DEFAULT_PARTITION__",
                 "001", "2026-01-01", "é", "a b+c%41"]:
        run("export", path, "--to", "parquet", "-o", f"{WORK}/one", "--host", name,
            "--service", name, "--tables", "snapshots")
    names = ask(f"select host, service, host_name, service_name from {table('snapshots', 'one')}")
    equal(len(names), 12, "hosts")
    for host, service, host_name, service_name in names:
        equal((host, service), (host_name, service_name), "a name there and back")
    run("export", path, "--to", "parquet", "-o", f"{WORK}/sums", "--host", "h")
    def one(sql):
        return ask(sql)[0]
    heap = roots["heap"]
    found = one(f"select objects, words, unreached_words, shared_words, pid, taken_ns, "
                f"strftime(taken, '%Y-%m-%d %H:%M:%S') from {table('snapshots', 'sums')}")
    equal(found, [str(info["objects"]), str(heap["words"]), str(heap["unreached_words"]),
                  str(roots["shared"]["retained_words"]), "4242", "1795467552123456789",
                  "2026-11-23 20:59:12"], "snapshots")
    equal(one(f"select sum(words), sum(objects) from {table('keys', 'sums')}"),
          [str(heap["words"]), str(info["objects"])], "keys")
    equal(one(f"select sum(retained_words) from {table('roots', 'sums')}"),
          [str(sum(root["retained_words"] for root in roots["roots"]))], "roots")
    equal(one(f"select coalesce(sum(retained_words), 0) from {table('sets', 'sums')}"),
          [str(roots["shared"]["retained_words"])], "sets")
    equal(one(f"select sum(words) filter (not static), count(*) from {table('blocks', 'sums')}"),
          [str(heap["words"]), str(info["objects"] + 1)], "blocks")
    types = run("types", path, "--json", "-n", 0).json()["types"]
    found = ask(f"select \"type\", words, retained_words from {table('types', 'sums')}")
    truth = [[t["type"], str(t["words"]), str(t["retained_words"])] for t in types]
    equal([t for t in found if t not in truth], [t for t in truth if t not in found], "types")
    equal(len(found), len(truth), "types")
    leaks = run("leaks", path, "--json").json()["groups"]
    equal(sorted(ask(f"select \"type\", words, first from {table('leaks', 'sums')}")),
          sorted([g["type"], str(g["words"]), str(int(g["first"], 16))] for g in leaks), "leaks")
    dominators = ask(f"select r.name from {table('blocks', 'sums')} b join "
                     f"{table('roots', 'sums')} r on b.idom = r.id where b.words = 4")
    check(["';drop_table_keys;--"] in dominators, f"dominators: {dominators}")

def no_addresses():
    run("export", f"{WORK}/heap.snap", "--to", "parquet", "-o", f"{WORK}/none", "--host", "h",
        "--no-addresses")
    equal(ask(f"select max(address) from {table('blocks', 'none')}"), [["0"]], "blocks")
    equal(ask(f"select max(address) from {table('roots', 'none')}"), [["0"]], "roots")
    equal(ask(f"select max(first) from {table('leaks', 'none')}"), [["0"]], "leaks")
    equal(ask(f"select count(*) from {table('roots', 'none')} where name = '0x?'"), [["1"]], "name")
    for name in ["keys", "roots", "types", "blocks", "sets", "leaks"]:
        text = json.dumps(ask(f"select * from {table(name, 'none')}"))
        check("0x7f0123456789" not in text, f"an address in {name}")

# ---- fifty hosts

HOSTS, DUMPS, LEAKER = 50, 7, 37

def host_at(host, dump):
    """A cache that swings, a configuration that is loaded once, a queue of any length, a vector
    that fills up; and in one host sessions that are never given up, 2.5 % of it at the end."""
    rng = random.Random(host * 100 + dump)
    s = Snap()
    s.facts.update(taken_ns=(1795467552 + 3600 * dump) * 10**9, pid=100 + host,
                   command="/usr/bin/shop")
    entry, conf = s.type("struct entry", form=12), s.type("struct option", form=12)
    message, session = s.type("struct msg", form=12), s.type("struct session", form=12)
    def held(name, type, n, words):
        head = s.block(10 + n, s.type(f"struct {name}_table", form=12))
        s.root(head, name, binary="shop", unit="shop.c")
        for _ in range(n):
            s.edge(head, s.block(words, type), 0)
    held("cache", entry, rng.randrange(20, 60), 100)
    held("config", conf, 5 if dump < 2 else 60, 50)
    held("queue", message, rng.randrange(0, 40), 60)
    held("index", entry, min(40, 20 + 9 * dump), 30)
    held("sessions", session, 4 + 2 * dump if host == LEAKER else rng.randrange(4, 8), 20)
    path = s.write(f"{host}.{dump}.snap")
    run("export", path, "--to", "parquet", "-o", f"{WORK}/fleet", "--service", "shop",
        "--host", f"web-{host}", "--tables", "snapshots,keys,types")

def queries():
    """The SQL of the document by the comment on its first line."""
    text = open(os.environ["SOURCE_DIR"] + "/docs/sql.md").read()
    blocks = re.findall(r"```sql\n(.*?)```", text, re.S)
    return {block.split("\n", 1)[0][3:]: block.replace("'fleet/", f"'{WORK}/fleet/")
            for block in blocks}

def fleet():
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda at: host_at(*at),
                      [(host, dump) for host in range(HOSTS) for dump in range(DUMPS)]))
    known = queries()
    def answer(name):
        return ask(known["the tables"] + "\n;\n" + known[name])
    equal(answer("how many")[0], [str(HOSTS), str(HOSTS * DUMPS)], "how many")
    leak = "sessions > struct sessions_table > struct session"
    growing = answer("what grows")
    equal(growing[0][:3], [f"web-{LEAKER}", "shop", leak], "what grows")
    equal(growing[0][3], str((4 + 2 * (DUMPS - 1)) * 20 * 8), "its bytes now")
    largest = answer("largest keys")
    equal(largest[0][0], "cache > struct cache_table > struct entry", "the largest key")
    odd = answer("unlike the others")
    equal(odd[0][:2], [f"web-{LEAKER}", leak], "unlike the others")
    equal(len(answer("by build")), 1, "builds")
    # Below one folder each host may have a directory of its own, as of a watch, in any depth.
    os.mkdir(f"{WORK}/watched")
    for host in range(HOSTS):
        if host % 2 == 0:
            os.makedirs(f"{WORK}/watched/{host}")
            os.rename(f"{WORK}/fleet/host=web-{host}", f"{WORK}/watched/{host}/host=web-{host}")
    os.rename(f"{WORK}/fleet", f"{WORK}/watched/rest")
    deep = known["the tables"].replace("/fleet/*/*/*/", "/watched/**/")
    equal(ask(deep + "\n;\n" + known["what grows"]), growing, "what grows, by directories")

main(sums, no_addresses, fleet)
END
