#!/usr/bin/env bash
# parts: import sql export record watch report serve browse
# A program whose name, arguments, threads, files, symbols, types, members, sections, registered
# areas, chunks of talloc, pools of APR and Python classes are called by terminal escapes, line
# breaks, tabs, direction overrides and broken UTF-8: no command in any format, on a terminal or
# not, passes one of them on: neither what looks at snapshots and traces, nor exports, nor pages and
# answers of a server, nor the screens of browse.
. "$(dirname "$0")/_native.sh"
export HEAPSNAP work fixtures SOURCE_DIR

python3 -B - <<'END'
import base64, fcntl, gzip, http.client, json, os, pty, re, select, shutil, signal, sqlite3
import struct, subprocess, sys, termios, time
from urllib.parse import quote

HEAPSNAP, WORK, FIXTURES = os.environ["HEAPSNAP"], os.environ["work"], os.environ["fixtures"]
EVIL = (b"\x1b]0;t\x07\x1b[31m\n\t\r\xc2\x9b\xe2\x80\xae\xe2\x81\xa6\xff\x7f")
# C0 but the line's end, DEL, C1; directions, isolates, marks, separators, zero width, tags.
FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e"
                       "\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]")
OURS = re.compile("\x1b\\[[012]?m|\x1b\\[K")  # bold, dim, plain, erase: the attacker's is 31
# What no file may have, be it text or not: a title, a colour, an override of the direction.
SENT = [b"\x1b]0;t", b"\x1b[31m", b"\xe2\x80\xae\xe2\x81\xa6", b"\xff\x7f"]
PLACES = ["global", "function", "local", "member", "section", "thread", "type", "library", "chunk",
          "tag"]
seen = set()


def evil(what, n_bytes=40):
    """A name of just so many bytes, none of them a slash."""
    name = EVIL + what.encode()
    assert len(name) <= n_bytes, what
    return name + b"z" * (n_bytes - len(name))


def check(condition, text):
    if not condition:
        sys.exit(f"FAILED: {text}")


def judge(raw, what, allowed=""):
    try:
        text = raw.decode("utf-8", errors="strict")
    except UnicodeDecodeError as error:
        sys.exit(f"FAILED: {what}: {error}: {raw[max(error.start - 40, 0):error.end + 40]!r}")
    bad = FORBIDDEN.search(text.translate({ord(c): None for c in allowed}))
    check(bad is None, f"{what}: passes on {bad and hex(ord(bad.group()))}: "
          f"{bad and bad.string[max(bad.start() - 60, 0):bad.end() + 40]!r}")
    for place in PLACES + ["source", "program", "command", "pool", "object"]:
        if place + "zz" in text:
            seen.add(place)
    return text


def run(*words, codes=(0,), allowed=""):
    done = subprocess.run([HEAPSNAP, *words], capture_output=True, timeout=300)
    what = " ".join(map(repr, words))
    check(done.returncode in codes, f"{what}: exit {done.returncode}: {done.stderr!r}")
    judge(done.stderr, what + ": talk")
    return judge(done.stdout, what, allowed)


def on_terminal(*words, columns=100):
    """All that a terminal gets of both outputs, our own controls taken away."""
    child, fd = pty.fork()
    if child == 0:
        os.environ.update(TERM="xterm")
        os.execv(HEAPSNAP, [HEAPSNAP, *map(os.fsencode, words)])
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    raw = b""
    while select.select([fd], [], [], 300)[0]:
        try:
            more = os.read(fd, 65536)
        except OSError:
            break
        if not more:
            break
        raw += more
    os.waitpid(child, 0)
    os.close(fd)
    raw = raw.replace(b"\r\n", b"\n").replace(b"\r", b"") # the terminal's own; progress begins so
    text = raw.decode("utf-8", errors="replace")
    check(text.encode() == raw, f"{words}: broken UTF-8 on a terminal")
    judge(OURS.sub("", text).encode(), f"{words}: on a terminal", "\t")


def build():
    """The program and its library, placeholders overwritten, under names as bad."""
    source = os.path.join(WORK, "hostile_source_placeholder_aaaaaaaaaaaaa.c")
    with open(os.path.join(FIXTURES, "hostile_names.c"), "rb") as file:
        text = file.read()
    with open(source, "wb") as file:
        file.write(text)
    include = os.path.join(os.environ["SOURCE_DIR"], "include")
    compile = ["gcc", "-O0", "-g", "-pthread", "-I", include, source]
    made, libraries = [], []
    for package, option in [("talloc", "-DTALLOC"), ("apr-1", "-DAPR")]:
        found = subprocess.run(["pkg-config", "--cflags", "--libs", package], capture_output=True)
        check(found.returncode == 0, f"{package} is not there")
        libraries += [option, *found.stdout.decode().split()]
    for name, options in [("program", libraries),
                          ("object", ["-DLIBRARY", "-shared", "-fPIC", "-fvisibility=hidden"])]:
        plain = os.path.join(WORK, name)
        subprocess.run([*compile, *options, "-o", plain, "-ldl"], check=True)
        with open(plain, "rb") as file:
            data = file.read()
        data = re.sub(rb"hostile_([a-z]+)_placeholder_a+",
                      lambda m: evil(m.group(1).decode(), len(m.group())), data)
        path = os.path.join(os.fsencode(WORK), evil(name))
        with open(path, "wb") as file:
            file.write(data)
        os.chmod(path, 0o755)
        made.append(path)
    return made


def start(words, env):
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env={**os.environb, **env})
    line = process.stdout.readline()
    check(line.startswith(b"READY"), f"{words}: {line!r}")
    return process


def look(snap):
    """Every command in every format over a snapshot."""
    graph, js = snap + b".graph", snap + b".js"
    heads = [["info"], ["roots", "-n", "0"], ["dominators", "-n", "0"], ["types", "-n", "0"],
             ["leaks", "-n", "0"], ["samples"], ["suspects", "-n", "0"]]
    heads += [["sql", f"select * from {table} limit 500"] for table in
              ["roots", "sets", "types", "keys", "samples", "sites", "leaks", "suspects",
               "snapshots"]]
    heads += [["sql", "select * from blocks order by retained_words desc limit 50"],
              ["sql", "select h.* from blocks b, holders(b.id) h order by retained_words limit 50"]]
    heads += [["roots", "--group-by", level] for level in
              ["root", "kind", "module", "unit", "thread", "frame"]]
    rows = json.loads(run("types", snap, "--json", "-n", "0"))["types"]
    ours = [row["type"] for row in rows if "zzz" in row["type"]]
    for name in ours[:3]:
        heads += [["paths", "--to", "type:" + name], ["dominators", "--from", "type:" + name]]
    heads += [["object", "type:" + name] for name in ours[:3]]
    roots = [row["name"] for row in json.loads(run("roots", snap, "--json", "-n", "0"))["roots"]]
    heads += [["object", "root:" + name] for name in roots if "zzz" in name][:20]
    heads += [["paths", "--to", "root:" + name] for name in roots if "zzz" in name][:3]
    for command, *options in heads:
        first = [command, snap]
        if command == "object":
            first, options = [command, snap, *options], []
        for format in ["table", "json", "ndjson", "tsv"]:
            text = run(*first, *options, "--format", format, codes=(0, 2),
                       allowed="\t" if format == "tsv" else "")
            if format == "json" and text:
                json.loads(text)
            for line in text.splitlines() if format == "ndjson" else []:
                json.loads(line)
            if format == "tsv" and text:
                check(len({line.count("\t") for line in text.split("\n")[:-1]}) == 1,
                      f"{first}: cells per line")
        on_terminal(*first, *options)
        on_terminal(*first, *options, columns=30)
    for word in ["nothing\x1b[31m", "type:\u202e", "root:" + EVIL.decode(errors="surrogateescape")]:
        run("object", snap, word, codes=(2,))
        on_terminal("object", snap, word)
    run("check", snap)
    on_terminal("index", snap, "--rebuild", "--progress", "always")
    run("index", snap, "--rebuild", "--progress", "always")
    run("check", snap)
    run("export", snap, "--to", "graph", "-o", graph)
    for name in [b"nodes.tsv", b"edges.tsv"]:
        with open(os.path.join(graph, name), "rb") as file:
            text = judge(file.read(), f"export: {name}", "\t")
        check(len({line.count("\t") for line in text.split("\n")[:-1]}) == 1, f"cells of {name}")
    run("export", snap, "--to", "v8", "-o", js)
    with open(js, "rb") as file:
        json.loads(judge(file.read(), "export: v8"))
    # A second pass through the doors of others.
    for source, of in [(graph, "graph"), (js, "v8")]:
        run("import", "--from", of, source, "-o", snap + b".again")
        for format in ["table", "json", "tsv"]:
            run("types", snap + b".again", "-n", "0", "--format", format,
                allowed="\t" if format == "tsv" else "")
    # Files that are not what they are called.
    with open(snap + b".bad", "wb") as file:
        file.write(EVIL * 100)
    for command in [["info", snap + b".bad"], ["import", "--from", "v8", snap + b".bad"],
                    ["import", "--from", "graph", snap + b".bad"], ["check", snap + b".bad"],
                    ["leaks", snap, "--suppressions", snap + b".bad"],
                    ["dump", b"1" + EVIL], ["roots", snap, b"--" + EVIL],
                    ["roots", snap, b"--sort=" + EVIL], [EVIL]]:
        run(*command, codes=(2, 4, 5))


def judge_file(path, what):
    """A file of any format, unpacked: none has what was sent; what is text is judged as such."""
    with open(path, "rb") as file:
        raw = file.read()
    if raw[:2] == b"\x1f\x8b":
        raw = gzip.decompress(raw)
    for sent in SENT[:3] if b"\0" in raw else []:
        check(sent not in raw, f"{what}: {sent!r} is in it")
    return b"" if b"\0" in raw else judge(raw, what, "\t")


def judge_database(path):
    base = sqlite3.connect(path)
    base.text_factory = bytes
    tables = base.execute("select name from sqlite_master where type = 'table'").fetchall()
    for (table,) in tables:
        for row in base.execute(f'select * from "{table.decode()}" limit 5000'):
            for text in [cell for cell in row if isinstance(cell, bytes)]:
                judge(text, f"export: sqlite: {table}")
    base.close()
    check(len(tables) > 3, f"tables: {tables}")


def share(snap):
    """What it becomes for other programs: files of every format, and a page. In Parquet's columns
    names are as they were: cli.fleet and oracle.parquet."""
    to = snap + b".out"
    for format in ["folded", "pprof", "speedscope", "heaptrack", "callgrind", "ncdu", "dot",
                   "perfetto", "hprof"]:
        run("export", snap, "--to", format, "-o", to)
        text = judge_file(to, f"export: {format}")
        if format in ("speedscope", "ncdu"):
            json.loads(text)
    run("export", snap, "--to", "sqlite", "-o", to)
    judge_database(to)
    os.remove(to)
    run("export", snap, "--to", "parquet", "-o", to)
    for directory, _, files in os.walk(to):
        for name in files:
            judge(os.path.join(directory, name)[len(to):], "parquet: paths")
    shutil.rmtree(to)
    judge_page(snap)


def judge_page(*words):
    """A page: its text has nothing of it, nor has the JSON that it carries."""
    page = os.path.join(os.fsencode(WORK), b"page.html")
    run("report", *words, "-o", page)
    with open(page, "rb") as file:
        raw = file.read()
    text = judge(raw, f"report {words}", "\t")
    found = re.findall(r'<script type="text/plain" id="data">([^<]*)</script>', text)
    check(len(found) == 1, f"report {words}: {len(found)} pieces of data")
    json.loads(judge(gzip.decompress(base64.b64decode(found[0])), f"report {words}: its data"))


def serve(*words):
    """Every answer of a server, also those about what it has not."""
    child = subprocess.Popen([HEAPSNAP, "serve", *words], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
    url = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/#([0-9a-f]{32})\n",
                       child.stdout.readline().decode())
    check(url, f"serve {words}: no address")

    def ask(target, method="GET", body=None, codes=(200,)):
        one = http.client.HTTPConnection("127.0.0.1", int(url[1]), timeout=100)
        one.request(method, target, body, {"Authorization": "Bearer " + url[2]})
        answer = one.getresponse()
        judge(str(answer.getheaders()).encode(), f"serve: {target}: head")
        text = judge(answer.read(), f"serve: {target}", "\t" if "report" in target else "")
        one.close()
        check(answer.status in codes, f"serve: {target}: {answer.status}: {text[:300]}")
        return json.loads(text) if "json" in answer.getheader("Content-Type") else text

    api, other = "/api/1/", (200, 400, 404, 409)
    for path in ask("/openapi.json")["paths"]:
        if "{" not in path and not path.endswith("/sql"):
            ask(path, codes=other)
    whats = [quote(EVIL), quote("type:" + EVIL.decode(errors="replace")), "set:1"]
    found = ask(api + "roots", codes=other)
    whats += [quote(str(row["id"])) for row in found.get("roots", [])[:5]]
    found = ask(api + "types", codes=other)
    whats += [quote("type:" + row["type"]) for row in found.get("types", [])[:5]]
    for what in whats:
        for rest in ["", "/paths", "/cut", "/types"]:
            ask(api + "node/" + what + rest, codes=other)
    for query in ["roots?q=" + quote(EVIL), "roots?sort=" + quote(EVIL), quote(EVIL)]:
        ask(api + query, codes=other)
    for query in [b"select * from types", b"select '" + EVIL + b"'", EVIL]:
        ask(api + "sql", "POST", query, codes=other)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=100)
    judge(out + err, f"serve {words}: talk")


def browse(snap):
    """Its screens, with all that a key shows of what is marked. What it draws with are escapes as
    well: nothing of what was sent is among them."""
    child, fd = pty.fork()
    if child == 0:
        os.environ.update(TERM="xterm")
        os.execv(HEAPSNAP, [HEAPSNAP, b"browse", snap])
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 200, 0, 0))
    raw, keys = b"", list("t\rot\x1b[Di\x1b\x1b[By" * 8 + "Lrdsu?\x1bq" + "q\x1bq")
    while keys:
        while select.select([fd], [], [], 0.1)[0]: # it has drawn, and waits for a key
            more = read_or_none(fd)
            if more == b"":
                keys = []
                break
            raw += more
        for key in keys[:1]:
            os.write(fd, key.encode())
        keys = keys[1:]
    os.kill(child, signal.SIGTERM)
    os.waitpid(child, 0)
    os.close(fd)
    check(b"zzz" in raw and len(raw) > 5000, f"browse: {len(raw)} bytes: {raw[-300:]!r}")
    for sent in SENT + [b"\xc2\x9b"]:
        check(sent not in raw, f"browse: {sent!r} went to the terminal")


def read_or_none(fd):
    try:
        return os.read(fd, 65536)
    except OSError:
        return b""


def record(words, env):
    """A trace of the program, which is called as badly, and all that is made of one."""
    trace = os.path.join(os.fsencode(WORK), EVIL + b"trace")
    child = subprocess.Popen([HEAPSNAP, b"record", b"--rate", b"100", b"-o", trace, *words],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             env={**os.environb, **env})
    out, err = child.communicate(timeout=300)
    check(child.returncode == 0 and b"READY" in out, f"record: {child.returncode}: {err!r}")
    judge(err, "record: talk")
    for what in ["info", "dump", "top", "tree", "live", "lifetimes"]:
        for format in ["table", "json", "ndjson", "tsv"]:
            run("trace", what, trace, "--format", format, codes=(0, 2),
                allowed="\t" if format == "tsv" else "")
        on_terminal("trace", what, trace)
    for format in ["folded", "pprof", "speedscope", "heaptrack", "callgrind", "ncdu"]:
        run("trace", "export", trace, "--to", format, "-o", trace + b".out")
        judge_file(trace + b".out", f"trace export: {format}")
    run("trace", "names", trace, "-o", trace + b".names")
    judge_page(trace)
    serve(trace)
    run("trace", "top", trace, "--inside", EVIL, codes=(0, 2))


def dump(pid, snap, *options):
    """True when it is there; on a terminal, too."""
    run("dump", str(pid), "-o", snap, "--progress", "always", "-v", *options)
    on_terminal("dump", str(pid), "-o", snap, "-v", *options)
    commands = subprocess.run([HEAPSNAP, "--help"], capture_output=True, check=True).stdout
    if b"\n  doctor " in commands:
        run("doctor", str(pid), codes=range(128))
        on_terminal("doctor", str(pid))


def watch(pid):
    """What a watch says and logs, until it has compared dumps, and when its target has ended."""
    place = os.path.join(os.fsencode(WORK), EVIL + b"watched")
    for more in ([], ["-q"]):
        words = ["watch", str(pid), "-o", place, "--every", "50ms", "--diff", *more]
        process = subprocess.Popen([HEAPSNAP, *words], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        log = os.path.join(place, b"watch.log")
        events, began = 0, time.monotonic()
        while events < 4 and process.poll() is None and time.monotonic() - began < 120:
            time.sleep(0.1)
            if os.path.exists(log):
                with open(log, "rb") as file:
                    events = file.read().count(b"event=dump")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        check(events >= 4, f"{words}: {events} dumps: {err!r}")
        judge(out, f"{words}: output")
        judge(err, f"{words}: talk")
        for name in os.listdir(place):
            if name.endswith((b".log", b".json", b".state", b"state")):
                with open(os.path.join(place, name), "rb") as file:
                    judge(file.read(), f"{words}: {name}")
        run("diff", place, codes=(0, 1))
        on_terminal("diff", place)
    run("watch", str(pid), "-o", place + b".none/none", "--every", "1s", codes=(5,))
    on_terminal("watch", "999999999", "-o", place, "--every", "1s")
    print("watched, too:", len(os.listdir(place)), "files")


program, library = build()
name = evil("pool", 62)
environment = {b"HOSTILE_NAME": name}
target = start([program, library, evil("command")], environment)
snap = os.path.join(os.fsencode(WORK), EVIL + b"heap.snap")
try:
    dump(target.pid, snap, "--debug-path", os.fsencode(WORK) + b"/" + EVIL)
    look(snap)
    share(snap)
    serve(snap)
    browse(snap)
    watch(target.pid)
    # The same out of a core, which is called as badly.
    if shutil.which("gcore"):
        core = os.path.join(os.fsencode(WORK), EVIL + b"core")
        subprocess.run([b"gcore", b"-o", os.path.join(os.fsencode(WORK), b"core"),
                        str(target.pid).encode()], capture_output=True, timeout=300)
        plain = os.path.join(WORK, f"core.{target.pid}")
        if os.path.exists(plain):
            os.rename(plain, core)
            run("dump", "--core", core, "-o", snap, "--progress", "always", "-v")
            on_terminal("dump", "--core", core, "-o", snap, "-v")
            run("info", snap)
            run("roots", snap, "-n", "0")
            with open(core, "r+b") as file:
                file.truncate(5000)
            run("dump", "--core", core, "-o", snap, codes=range(3, 7))
            print("out of a core, too")
    # One that another traces is refused, with the name of who does it.
    tracer = start([program, b"--trace", str(target.pid).encode()], environment)
    run("dump", str(target.pid), "-o", snap, codes=(3,))
    on_terminal("dump", str(target.pid), "-o", snap)
    tracer.stdin.close()
    tracer.wait()
finally:
    target.kill()

record([program, library, evil("command")], environment)

CODE = ("import os,sys\n"
        f"kinds = [type({EVIL.decode('utf-8', 'replace')!r} + 'class' + 'z' * 9, (), {{}})]\n"
        f"kinds += [type('class' + {chr(0x202e)!r}, (), {{}})]\n"
        "kept = [kind() for kind in kinds for _ in range(2000)]\n"
        "print('READY', flush=True)\nsys.stdin.read()\n")
target = start([sys.executable, "-c", CODE, evil("command")], {})
try:
    dump(target.pid, snap)
    look(snap)
    share(snap)
finally:
    target.kill()
# Proof that they came as far as that: what was escaped was there.
print("seen:", sorted(seen))
missing = {"global", "type", "member", "local", "function", "thread", "library", "pool",
           "program", "command", "object", "chunk", "tag"} - seen
check(not missing, f"no output has a name of {sorted(missing)}")
END
