# parts: serve
# serve: every answer is what the command prints, as openapi.json describes it; who has no business
# there gets none; and nothing that is sent, late, large, broken or in great numbers, ends it.
. "$(dirname "$0")/lib.sh"
"$HEAPSNAP" serve -h >/dev/null 2>&1 || skip "heapsnap was built without serve"
export PYTHONPATH=$SOURCE_DIR/tests/cli:$SOURCE_DIR/tests/clients
python3 -B "$SOURCE_DIR/tests/clients/fixture.py" hard.snap

python <<'END'
import shutil
import threading
import time
from ctf import Trace
from snapcli import *
from _serve import *


ENDLESS = "with recursive n(i) as (select 1 union all select i+1 from n) select max(i) from n"
os.chdir(os.environ["WORK"])


def some_heap(name="heap.snap", n=300, more=0):
    """A hub that holds blocks, a list, what two roots share, and something lost."""
    snap = Snap()
    snap.facts["taken_ns"] = (1 + more) * 3600 * 10**9
    link, text = snap.type("struct link", 0, 12), snap.type("char[]", 0, 14)
    hub = snap.block(n + 1, snap.type("struct hub", 0, 12))
    for i in range(n):
        snap.edge(hub, snap.block(2 + i % 7, text), i)
    links = [snap.block(3, link) for _ in range(50 + 20 * more)]
    for one, next_one in zip(links, links[1:]):
        snap.edge(one, next_one, 0)
    shared = snap.block(40, text)
    snap.edge(links[0], shared, 2)
    other = snap.block(4, link)
    snap.edge(other, shared, 0)
    snap.root(hub, "hub", file="src/hub.c", line=3)
    snap.root(links[0], "list")
    snap.root(other, "other")
    for i in range(120):
        snap.root(snap.block(1 + i % 5, snap.type(f"type {i}", 0, 12)), f"small {i}")
    snap.block(9, text)
    snap.sample(7, links[3])
    return snap.write(name)


def answers():
    """Those of every path, of two heaps: the command's, byte for byte, and as described."""
    for heap in [some_heap(), "hard.snap"]:
        roots = run("roots", heap, "--json").json()
        block = run("sql", heap, "select id from blocks order by retained_words desc limit 1",
                    "--json", code=None)
        target = "#%d" % block.json()["rows"][0]["id"] if block.code == 0 else "#200"
        with Server(heap) as server:
            api = server.ask("/openapi.json", headers={"Authorization": None})
            asked = [("info", ["info"]), ("roots?limit=20", ["roots", "-n", 20]),
                     ("roots?group_by=kind&sort=name", ["roots", "-n", 50, "--group-by=kind",
                                                        "--sort=name"]),
                     ("types?limit=7", ["types", "-n", 7]), ("leaks", ["leaks", "-n", 50]),
                     ("samples", ["samples", "-n", 50]), ("suspects", ["suspects", "-n", 10]),
                     ("tree?limit=30&depth=3", ["dominators", "-n", 30, "--depth=3"]),
                     (node(target), ["object", target, "-n", 50]),
                     (node(target, "paths") + "?disjoint=1&limit=3",
                      ["paths", "--to", target, "--limit", 3, "--disjoint"]),
                     (node(target, "cut"), ["paths", "--to", target, "--cut"]),
                     (node(target, "types"), ["types", "--of", target, "-n", 50]),
                     (node(roots["roots"][0]["id"]), ["object", roots["roots"][0]["id"], "-n", 50])]
            if roots["sets"]:
                asked.append((node("set:1"), ["object", "set:1", "-n", 50]))
            for path, (command, *rest) in asked:
                found = server.api(path)
                words = [command, heap, *rest, "--json"]
                equal(found, run(*words).json(), f"what {words} prints")
                described = re.sub(r"node/[^/?]*", "node/{what}", path.split("?")[0])
                valid(api, "/api/1/" + described, found)
                again = server.ask("/api/1/" + path, code=304,
                                   headers={"If-None-Match": server.last.getheader("ETag")})
                equal(again, b"", "the body of what has not changed")
            for path in ["snapshots", "keys", "sets", "sites"]:
                valid(api, "/api/1/" + path, server.api(path))
            keys = server.api("keys")
            equal(keys["words"][0], roots["heap"]["words"], "all words of the keys")
            check(server.api("report").startswith(b"<!doctype html>"), "the report")
            valid(api, "/api/1/info", server.api("nonsense", code=404), code="4XX")
            unknown = [path for path in api["paths"] if path[7:].split("/")[0] not in
                       "snapshots info roots sets types leaks samples suspects tree keys node diff "
                       "series sql report sites trace".split()]
            equal(unknown, [], "described, and not asked for here")


def pages():
    heap = some_heap()
    whole = run("roots", heap, "--json").json()["roots"]
    with Server(heap) as server, Server(some_heap("other.snap", n=10)) as other:
        for limit in [1, 50, 1000]:
            rows, after, n = [], "", 0
            while after is not None and n < 200:
                page = server.api(f"roots?limit={limit}&after={after}")
                rows, n = rows + page["rows"], n + 1
                after = server.last.getheader("X-Heapsnap-Next")
                check(len(page["rows"]) <= limit, "more rows than were asked for")
                if limit == 1 and n == 7:
                    break
            equal(rows, whole[:len(rows)], f"pages of {limit}")
            check(limit == 1 or len(rows) == len(whole), f"all of them: {len(rows)}")
        found = server.api("roots?q=SMALL%207")["rows"]
        equal(sorted(row["name"] for row in found),
              sorted(row["name"] for row in whole if "small 7" in row["name"]), "a search")
        equal(server.api("roots?q=retained_words")["rows"], [], "keys are not searched")
        server.api("roots?after=&limit=5")
        cursor = server.last.getheader("X-Heapsnap-Next")
        other.api("roots?after=" + cursor, code=410)
        server.api("types?after=" + cursor, code=410)
        server.api("roots?sort=name&after=" + cursor, code=410)
        for bad in ["x", cursor + "0" * 30, cursor[:16], cursor[:17], "-1", "%00",
                    cursor[:17] + "g",
                    cursor[:17] + "f" * 15]:
            server.api("roots?after=" + bad, code=400)


def strangers():
    """Who is no page of ours on this machine, or has no token."""
    with Server(some_heap()) as server:
        for host in ["evil.example", f"evil.example:{server.port}", "127.0.0.1.evil.example", "",
                     "localhost.", "localhost:", "localhost:x", "localhost:123456", "0.0.0.0",
                     "127.0.0.1@evil.example", "[::1", "10.0.0.1"]:
            for path in ["/", "/openapi.json", "/api/1/info"]:
                server.ask(path, code=403, headers={"Host": host})
        for host in ["localhost", "127.0.0.1:8080", "[::1]:1", "LOCALHOST:80"]:
            server.api("info", headers={"Host": host})
        for origin in ["http://evil.example", "null", "https://127.0.0.1:%d" % server.port, "",
                       "http://127.0.0.1:1", "http://localhost:%d" % server.port]:
            server.api("info", code=403, headers={"Origin": origin})
            check(server.last.getheader("Access-Control-Allow-Origin") is None, "shared")
        server.api("info", headers={"Origin": "http://127.0.0.1:%d" % server.port})
        wrong = server.token[:-1] + ("0" if server.token[-1] != "0" else "1")
        for token in [None, "", "Bearer ", "Bearer " + wrong, "Bearer " + server.token + "0",
                      "Bearer " + server.token[:-1], "Basic " + server.token, server.token]:
            for path in ["info", "nonsense", "snapshots"]:
                server.api(path, code=401, headers={"Authorization": token})
        server.api("sql", code=401, method="POST", body=b"select 1",
                   headers={"Authorization": None})
        server.api("info")
        policy = server.last.getheader("Content-Security-Policy")
        check("default-src 'none'" in policy and "frame-ancestors 'none'" in policy, policy)
        equal(server.last.getheader("X-Content-Type-Options"), "nosniff", "sniffing")


def bad_requests():
    heap = some_heap()
    with Server(heap) as server:
        for method in ["PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"]:
            server.api("info", code=405, method=method)
        server.api("info", code=405, method="POST", body=b"")
        server.api("sql", code=405)
        for bad in ["roots?nonsense=1", "roots?limit=0", "roots?limit=65537", "roots?limit=-1",
                    "roots?limit=1e3", "roots?sort=colour", "roots?sort=name&sort=name",
                    "roots?kind=%ff", "roots?sort=%zz", "roots?sort=%00", "roots?limit=x",
                    "info?limit=1", "diff", "diff?old=/etc/passwd", "diff?old=nothing",
                    node("#1", "paths") + "?disjoint=2", node("no such name"), node("#99999999"),
                    node("0xzz"), node("--help"), node("-o"), "tree?root=-o", "types?of=x%0ay",
                    "roots?without=--output%3Dx", "tree?depth=x",
                    "node/1/2/3/4"]:
            server.api(bad, code=400)
        for gone in ["", "x", "roots/1", "node", "node/%231/nothing", "../../etc",
                     "series", "roots%2f", "info?snap=../../etc/passwd", "info?snap=nothing"]:
            server.api(gone, code=404)
        for path in ["/api", "/api/2/info", "//api/1/info", "/etc/passwd", "/%2e%2e/x"]:
            server.ask(path, code=404)
        many = "&".join(f"a{i}=1" for i in range(20))
        server.api("roots?" + many, code=414)
        server.api("roots?q=" + "x" * 9000, code=414)
        with server.raw() as one: # more than a connection may take
            one.sendall(b"GET /" + b"x" * 100000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
            check(one.recv(100)[:12] in (b"HTTP/1.1 414", b"HTTP/1.1 431", b""), "a huge address")
        with server.raw() as one:
            one.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 20000)
            check(one.recv(100)[:10] in (b"HTTP/1.1 4", b""), "huge headers")
        for junk in [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", b"GET\r\n\r\n", b"\0" * 1000,
                     b"GET / HTTP/9.9\r\n\r\n", b"POST /api/1/sql HTTP/1.1\r\nHost: localhost\r\n"
                     b"Content-Length: -1\r\n\r\n"]:
            with server.raw() as one:
                one.sendall(junk)
                one.shutdown(socket.SHUT_WR)
                one.recv(100)
        server.api("sql", code=413, method="POST", body=b"select 1 -- " + b"x" * 70000)
        server.api("sql", code=413, method="POST", body=b"x" * (8 << 20))
        server.api("info")


def sql():
    heap = some_heap()
    if run("sql", heap, "select 1", code=None).code != 0:
        return
    with Server(heap) as server:
        api = server.ask("/openapi.json")

        def ask(text, code=200):
            return server.api("sql", method="POST", body=text.encode(), code=code)
        query = "select type, count(*) as n, addr(min(address)) from blocks group by 1 order by 2"
        found = ask(query)
        equal(found, run("sql", heap, query, "--json").json(), "an answer")
        valid(api, "/api/1/sql", found, method="post")
        for bad in ["", " ; ", "nonsense", ".attach /etc/passwd", heap, "attach 'x' as y",
                    "pragma user_version", "delete from blocks", "create table x(y)",
                    "select load_extension('x')", "select 1; select 2", "select 1\0"]:
            valid(api, "/api/1/sql", ask(bad, code=400), method="post", code="4XX")
        ask(ENDLESS, code=503)
        for text in ["select length(printf('%.*c', 2000000000, 'x'))",
                     "select replace(hex(zeroblob(5000000)), hex(zeroblob(3000000)) || '1', '')"]:
            said = ask(text, code=503)["message"]
            check("takes longer than 5 s" in said or "too big" in said, said)
        equal(ask("select 1 as one")["rows"], [{"one": 1}], "the next query")
        ask("with recursive n(i) as (select 1 union all select i + 1 from n limit 100001) "
            "select i from n", code=503)
        ask("select 1")


def sql_beside_screens():
    """What the server keeps for its screens takes nothing from the memory of a query."""
    heap = some_heap("big.snap", n=60000)
    if run("sql", heap, "select 1", code=None).code != 0:
        return
    with Server(heap, "--memory", "30Mi") as server:
        for screen in ["sql", "leaks", "suspects", "types", "roots", "sql", "sql"]:
            body = b"select count(*) as n from blocks" if screen == "sql" else None
            server.api(screen, method="POST" if body else "GET", body=body)


def many():
    """A thousand connections that say nothing, and some that are slow, hinder nobody for long."""
    with Server(some_heap()) as server:
        silent = []
        for _ in range(1000):
            try:
                one = socket.socket()
                one.setblocking(False)
                one.connect_ex(("127.0.0.1", server.port))
                silent.append(one)
            except OSError:
                break
        slow = server.raw()
        slow.sendall(b"GET /api/1/info HTTP/1.1\r\nHost: loc")
        check(len(server.api("info")) > 0, "nobody answers") # once the silent ones are let go
        with open(f"/proc/{server.child.pid}/status") as file:
            threads = [line for line in file if line.startswith("Threads:")]
        check(int(threads[0].split()[1]) <= 4, f"a thread each: {threads}")
        check(len(os.listdir(f"/proc/{server.child.pid}/fd")) < 150, "descriptors")
        for one in silent:
            one.close()
        slow.close()
        results = []

        def client(n):
            for i in range(10):
                results.append(server.api(node(f"#{6 + (n * 10 + i) % 300}"))["object"]["id"])
        threads = [threading.Thread(target=client, args=(n,)) for n in range(30)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        equal(len(results), 300, "answers at once")


def changed():
    """The file is replaced, cut, removed while it is served."""
    heap = some_heap()
    with Server(heap) as server:
        before = server.api("roots")
        server.api("roots?after=&limit=5")
        etag, cursor = server.last.getheader("ETag"), server.last.getheader("X-Heapsnap-Next")
        os.rename(some_heap("new.snap", more=3), heap)
        after = server.api("roots", headers={"If-None-Match": etag})
        equal(after, run("roots", heap, "-n", 50, "--json").json(), "the new one")
        check(after != before, "the old one is still there")
        server.api("roots?after=" + cursor, code=410)
        info = server.api(node("#130"))
        with open(heap, "r+b") as file:
            file.truncate(100)
        for path in ["types", node("#130"), node("#131"), "roots", "info", node("#3", "paths")]:
            server.api(path, code=409)
        os.rename(some_heap("new.snap"), heap)
        equal(server.api("roots"), before, "it is whole again")
        check(server.api(node("#130")) is not None and info is not None, "an object")
        os.unlink(heap)
        server.api("roots", code=404)
        some_heap()
        equal(server.api("roots"), before, "it is back")


def cut_in_place():
    """Large enough that pages which were never read lie beyond the cut."""
    heap = os.path.abspath("large.snap")
    subprocess.run([os.path.join(os.environ["BUILD_DIR"], "bin", "make_heap"), "400000", heap],
                   check=True, stdout=subprocess.DEVNULL)
    with Server(heap) as server:
        server.api(node("#5000"))
        size = os.path.getsize(heap)
        os.truncate(heap, 4096)
        os.truncate(heap, size)
        for n in [5001, 150000, 390000]:
            server.api(node(f"#{n}"), code=409)
        server.api("types", code=409)
        equal(server.child.poll(), None, "it lives")


def bare_heaps():
    """Without roots, without types, without blocks, and a node with very many children."""
    lost = Snap()
    first, second = lost.block(3), lost.block(5)
    lost.edge(first, second, 0)
    untyped, nothing, wide = Snap(), Snap(), Snap()
    untyped.root(untyped.block(7), "one")
    nothing.root(None, "none")
    n = 60000
    hub = wide.block(n)
    for i in range(n):
        wide.edge(hub, wide.block(1 + i % 9), i)
    wide.root(hub, "hub")
    for name, snap in [("lost", lost), ("untyped", untyped), ("nothing", nothing), ("wide", wide)]:
        heap = snap.write(name + ".snap")
        with Server(heap) as server:
            for path, words in [("info", ["info"]), ("roots", ["roots", "-n", 50]),
                                ("types", ["types", "-n", 50]), ("leaks", ["leaks", "-n", 50]),
                                ("suspects", ["suspects", "-n", 10]),
                                ("tree?limit=30", ["dominators", "-n", 30])]:
                equal(server.api(path), run(words[0], heap, *words[1:], "--json").json(),
                      f"{path} of {name}")
            equal(server.api("keys")["words"][0], server.api("info")["words"], f"keys of {name}")
            check(server.api("report").startswith(b"<!doctype html>"), f"the report of {name}")
    with Server("wide.snap") as server:
        hub = server.api("tree?root=root:hub&limit=5&depth=1")["nodes"][-1]["id"]
        found = server.api(node(hub) + "?limit=20")
        equal(len(found["dominated"]), 20, "of many children those that were asked for")
        equal(found["n_dominated"], n, "how many there are")


def no_place():
    """Neither beside the snapshot nor in the cache directory: the index is made, and kept by no
    file."""
    nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    if os.getuid() != 0 or not shutil.which("setpriv") or \
            subprocess.run([*nobody, "test", "-x", HEAPSNAP]).returncode != 0:
        return
    here = os.path.abspath("no place")
    os.makedirs(here, exist_ok=True)
    heap = os.path.join(here, "heap.snap")
    os.replace(some_heap("else.snap"), heap)
    roots = run("roots", heap, "-n", 50, "--json").json()
    for name in os.listdir(here):
        if name != "heap.snap":
            os.remove(os.path.join(here, name))
    os.chmod(heap, 0o644)
    os.chmod(os.environ["WORK"], 0o755)
    with open("serve.as", "w") as file:
        file.write(f'#!/bin/sh\nexec {" ".join(nobody)} "{HEAPSNAP}" "$@"\n')
    os.chmod("serve.as", 0o755)
    with Server(heap, program=os.path.abspath("serve.as"),
                env={"XDG_CACHE_HOME": "/proc/nowhere", "HOME": "/proc/nowhere"}) as server:
        equal(server.api("roots"), {**roots, "snapshot": heap}, "roots")
        check("hub" in json.dumps(server.api(node("root:hub"))), "an object")
    equal(os.listdir(here), ["heap.snap"], "what is beside it")


def notes_once():
    """What a command says on its standard error is said once, however often it is asked."""
    note = "was not sampling its allocations"
    with Server("hard.snap") as server:
        for limit in [5, 6, 7]:
            check(note in run("samples", "hard.snap", "-n", limit).err, "the command has no note")
            server.api(f"samples?limit={limit}")
        equal(server.said().count(note), 1, "notes of a server")


def some_trace(name="app.ctf", n=40):
    """Named as the file that it is written to."""
    trace = Trace(pid=77)
    codes = [trace.code((f"f{i}", f"m{i % 3}.c", i + 1)) for i in range(9)]
    ids = []
    for i in range(n):
        ids.append(trace.alloc(1000 * i, 2 + i % 7, [codes[i % 9], codes[(3 * i) % 9]]))
        if i % 3 == 2:
            trace.collect(1000 * i + 500, ids[i // 2])
    return trace.write(os.path.join(os.environ["WORK"], name))


FILTERS = [("", []), ("live_at=peak", ["--live-at=peak"]),
           ("collected=never&hide=f1&hide=f2", ["--collected=never", "--hide=f1", "--hide=f2"]),
           ("allocated=5ms..30ms&inside=%2Ff%5B0-5%5D%2F&not_inside=f3&size=16..64",
            ["--allocated=5ms..30ms", "--inside=/f[0-5]/", "--not-inside=f3", "--size=16..64"]),
           ("lifetime=1ms..&heap=minor&group_leaked=10%25..",
            ["--lifetime=1ms..", "--heap=minor", "--group-leaked=10%.."])]


def traces():
    """Every question about a trace, with every filter, is the command's answer."""
    path = some_trace()
    with Server(path) as server:
        api = server.ask("/openapi.json", headers={"Authorization": None})
        equal(server.api("trace/info"), run("trace", "info", path, "--json").json(), "info")
        valid(api, "/api/1/trace/info", server.api("trace/info"))
        for query, options in FILTERS:
            for what, more, words in [("top", "by=function&limit=7", ["--by=function", "-n", 7]),
                                      ("top", "sort=leaked", ["--sort=leaked", "-n", 400]),
                                      ("tree", "by=caller&min_words=1&depth=3",
                                       ["--by=caller", "--min-words=1", "--depth=3", "-n", 200]),
                                      ("live", "points=9", ["--points=9"]),
                                      ("lifetimes", "points=2", ["--points=2", "-n", 300])]:
                found = server.api(f"trace/{what}?{query}&{more}")
                equal(found, run("trace", what, path, *options, *words, "--json").json(),
                      f"{what} {query}")
                valid(api, "/api/1/trace/" + what, found)
        page = server.api("trace/top?after=&limit=2")
        equal(len(page["rows"]), 2, "a page of rows")
        server.api("trace/top?after=" + server.last.getheader("X-Heapsnap-Next"))
        for query in ["live_at=soon", "inside=%2F%28%2F", "by=nothing", "points=3",
                      "size=1&size=2"]:
            server.api("trace/top?" + query, code=400)
        for other in ["roots", "trace/dump", "trace", "trace/top/3", "sites"]:
            server.api(other, code=404)
        equal(server.api("snapshots")["trace"]["name"], "app.ctf", "its name")
        valid(api, "/api/1/snapshots", server.api("snapshots"))
        check(server.api("report").startswith(b"<!doctype html>"), "the report")
    with Server(some_heap()) as server:
        server.api("trace/top", code=404)
    run("serve", path, "--trace", path, code=2)
    run("serve", some_heap(), "--trace", "hard.snap", code=4)


def growing_trace():
    """It is written on, replaced and cut while it is served."""
    path, whole = some_trace(), open(some_trace("whole.ctf", n=90), "rb").read()
    size = os.path.getsize(path)
    with Server(path) as server:
        before = server.api("trace/top")
        with open(path, "wb") as file: # as record writes: the same file, packet by packet
            file.write(whole[:size // 2])
            file.flush()
            less = server.api("trace/top")
            equal(less, run("trace", "top", path, "-n", 400, "--json").json(), "what is there yet")
            file.write(whole[size // 2:])
        after = server.api("trace/top")
        equal(after, run("trace", "top", path, "-n", 400, "--json").json(), "all of it")
        check(less["total"] != after["total"] != before["total"], "it has not grown")
        with open("new.ctf", "wb") as file:
            file.write(b"no trace at all")
        os.rename("new.ctf", path)
        server.api("trace/top", code=409)
        os.unlink(path)
        server.api("trace/top", code=404)
        some_trace()
        equal(server.api("trace/top"), before, "it is back")
        equal(server.child.poll(), None, "it lives")


def ends():
    heap = some_heap()
    for number in [signal.SIGINT, signal.SIGTERM]:
        with Server(heap) as server:
            server.api("info")
            idle = server.raw()
            server.end(number)
            idle.close()
    with Server(heap) as server: # with a query at work
        one = server.raw()
        query = ENDLESS.encode()
        one.sendall(b"POST /api/1/sql HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
                    + server.token.encode() + b"\r\nContent-Length: %d\r\n\r\n" % len(query)
                    + query)
        server.api("info")
        server.end()
        one.close()
    with Server(heap) as server:
        text = run("serve", heap, "--port", server.port, code=5)
        check("cannot listen on port" in text.err and "hint: " in text.err, text.err)
    for arguments, code in [(["none.snap"], 5), (["-"], 2), (["hard.snap", "--port", "70000"], 2),
                            (["hard.snap", "--port", "1", "--socket", "x"], 2), ([], 2),
                            ([os.environ["MAKE_SNAP"]], 4), (["hard.snap", "--socket", "/"], 5)]:
        run("serve", *arguments, code=code)


def socket_file():
    heap = some_heap()
    for left_behind in [False, True]:
        if left_behind:
            with socket.socket(socket.AF_UNIX) as one:
                one.bind("here.sock")
        with Server(heap, "--socket", "here.sock") as server:
            equal(os.stat("here.sock").st_mode & 0o777, 0o600, "the mode of the socket")
            with socket.socket(socket.AF_UNIX) as one:
                one.connect("here.sock")
                one.sendall(b"GET /api/1/info HTTP/1.0\r\nHost: localhost:8080\r\nAuthorization: "
                            b"Bearer " + server.token.encode() + b"\r\n\r\n")
                check(one.recv(12).endswith(b"200"), "an answer by the socket")
            run("serve", heap, "--socket", "here.sock", code=5)
            server.end()
        check(not os.path.exists("here.sock"), "the socket is left")
    with open("file", "w") as file:
        file.write("kept")
    run("serve", heap, "--socket", "file", code=5)
    with open("file") as file:
        equal(file.read(), "kept", "a file of that name")


def several():
    """Files that are named, the newest first; of one name in two folders by their paths."""
    os.makedirs("there", exist_ok=True)
    os.rename(some_heap(more=1), "there/heap.snap")
    heaps = ["there/heap.snap", some_heap()]
    with Server(*heaps) as server:
        found = server.api("snapshots")
        equal([one["name"] for one in found["snapshots"]], heaps, "told apart")
        equal(found["is_series"], False, "no series")
        equal(server.api("info"), run("info", heaps[0], "--json").json(), "the first")
        old = "snap=" + heaps[1].replace("/", "%2F")
        equal(server.api("info?" + old), run("info", heaps[1], "--json").json(), "the other")
        equal(server.api("diff?old=" + heaps[1].replace("/", "%2F")),
              run("diff", heaps[1], heaps[0], "-n", 50, "--json").json(), "what grew")
        server.api("series", code=404)
        server.api("info?snap=elsewhere%2Fheap.snap", code=404)
        os.replace(some_heap("other.snap", more=2), "there/heap.snap")
        equal(server.api("info"), run("info", heaps[0], "--json").json(), "another one by then")
    os.mkdir("a folder")
    check("a folder" in run("serve", "there/heap.snap", "a folder", code=2).err, "with a folder")
    run("serve", "there/heap.snap", "missing.snap", code=5)


def series():
    os.mkdir("series")
    names = [f"heap-20260101T0{i}0000Z-000001.snap" for i in range(3)]
    for i, name in enumerate(names):
        os.rename(some_heap(more=i), os.path.join("series", name))
    with Server("series") as server:
        api = server.ask("/openapi.json")
        found = server.api("snapshots")
        equal([one["name"] for one in found["snapshots"]], names[::-1], "the newest first")
        equal(found["is_series"], True, "a series")
        for name in names:
            equal(server.api("roots?snap=" + name),
                  run("roots", os.path.join("series", name), "-n", 50, "--json").json(), name)
        grown = server.api("series")
        equal(grown, run("diff", "series", "-n", 50, "--json").json(), "what grew")
        valid(api, "/api/1/series", grown)
        two = server.api(f"diff?old={names[0]}")
        equal(two, run("diff", *[os.path.join("series", name) for name in (names[0], names[2])],
                       "-n", 50, "--json").json(), "two of them")
        valid(api, "/api/1/diff", two)
        server.api("info?snap=heap.snap", code=404)
        check("hub" in json.dumps(server.api(node("root:hub") + "?snap=" + names[1])), "an object")
    shutil.rmtree("series")
    several()
    os.mkdir("series")
    with Server("series") as server:
        equal(server.api("snapshots")["snapshots"], [], "an empty folder")
        server.api("info", code=404)


main(notes_once, bare_heaps, no_place, answers, pages, strangers, bad_requests, sql,
     sql_beside_screens, many, changed,
     cut_in_place, traces, growing_trace, ends, socket_file, series)
END
