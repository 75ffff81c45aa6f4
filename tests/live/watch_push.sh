#!/usr/bin/env bash
# parts: export watch push
# watch --push: every door that is documented gets the very bytes of 'export --to pprof'; a server
# that hangs, refuses, fails, redirects or cannot be trusted is said once and never waited for; no
# password is said anywhere.
. "$(dirname "$0")/_faults.sh"
[ -x "$(dirname "$HEAPSNAP")/heapsnap-push" ] || skip "built without libcurl"

unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
python <<'END'
import base64
import email.parser
import http.server
import json
import socket
import ssl
import threading
import urllib.parse

from watch_lib import *

program = compile_c("watch_busy")
SECRET = "pa55w0rd"
MORE = []


class Door(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append((self.path, dict(self.headers), body))
        code = self.server.code
        self.send_response(code)
        if code == 301:
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
        self.end_headers()
        self.wfile.write(b"{}" if code == 200 else b"no\x1b[31m room for profiles")

    def log_message(self, *_):
        pass


class Server:
    def __init__(self, code=200, context=None):
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Door)
        self.http.code, self.http.seen = code, []
        if context:
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        self.seen, self.port = self.http.seen, self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


BUSY = "still on the way" # said where a machine is too busy for a push between two dumps


def warned(watch):
    """Why nothing could be pushed, but for what a busy machine adds, and for the last dump, while
    which is looked at the watch may be told to end."""
    return [line["why"] for line in watch.log("warn")
            if BUSY not in line["why"] and "interrupted while" not in line["why"]]


def push(target, url, n=2, every="300ms", more=(), env=None):
    """So many dumps with this URL: the watch, ended."""
    directory = new_directory("snaps")
    watch = Watch(target.pid, directory, "--every", every, "--keep", "0", "--push", url,
                  "--service", "a shop", "--host", "web-1", *more, env=env or os.environ)
    watch.wait_log("dump", n, f"dumps with {url}")
    return watch


def profile_of(watch, number):
    path = os.path.join(watch.directory, watch.files()[number])
    return subprocess.run([HEAPSNAP, "export", path, "--to", "pprof"], capture_output=True,
                          check=True).stdout


def form_of(headers, body):
    """name -> (file name, bytes)"""
    text = f"Content-Type: {headers['Content-Type']}\r\n\r\n".encode() + body
    parts = email.parser.BytesParser().parsebytes(text).get_payload()
    return {part.get_param("name", header="content-disposition"):
            (part.get_filename(), part.get_payload(decode=True)) for part in parts}


def ask_go(profile):
    go = shutil.which("go")
    if not go:
        return "go tool pprof is not there"
    path = os.path.join(WORK, "pushed.pb.gz")
    with open(path, "wb") as file:
        file.write(profile)
    done = subprocess.run([go, "tool", "pprof", "-raw", path], capture_output=True, text=True,
                          check=False)
    check(done.returncode == 0, f"go tool pprof: {done.stderr}")
    check("inuse_objects/count inuse_space/bytes" in done.stdout, done.stdout[:300])
    return "and go tool pprof reads them"


def doors():
    target = Busy(program, 1, 3000)
    server = Server()
    at = f"http://127.0.0.1:{server.port}"

    def pushed(path, more=(), env=None):
        server.seen.clear()
        watch = push(target, path, more=more, env=env)
        until(lambda: len(server.seen) >= 2, f"two at {path}")
        watch.stop(path)
        check(warned(watch) == [], f"{path}: {warned(watch)}")
        taken = [line["why"] for line in watch.log("push")]
        check(taken == ["the first profile was taken"] or watch.log("warn") and
              taken[0] in ("the first profile was taken", "taken again"), f"{path}: {watch.log()}")
        return watch, server.seen[0]

    watch, (path, headers, body) = pushed(at + "/ingest")
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(path).query))
    check(query["name"] == "a_shop{instance=web-1}" and query["format"] == "pprof", f"{query}")
    check(int(query["from"]) < int(query["until"]), f"{query}")
    form = form_of(headers, body)
    check(list(form) == ["profile"], f"{list(form)}")
    check(form["profile"][1] == profile_of(watch, 1), "the profile's bytes")
    told = ask_go(form["profile"][1])

    watch, (path, headers, body) = pushed(at + "/base/ingest?name=mine&spyName=x")
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(path).query))
    check(path.startswith("/base/ingest?") and query["name"] == "mine" and query["spyName"] == "x",
          path)

    watch, (path, headers, body) = pushed(at + "/profiles/writeraw")
    check(headers["Content-Type"] == "application/json", f"{headers}")
    series, = json.loads(body)["series"]
    labels = {label["name"]: label["value"] for label in series["labels"]["labels"]}
    check(labels == {"__name__": "memory", "service_name": "a_shop", "instance": "web-1"},
          f"{labels}")
    check(base64.b64decode(series["samples"][0]["rawProfile"]) == profile_of(watch, 1), "Parca")

    watch, (path, headers, body) = pushed(at + "/push.v1.PusherService/Push")
    series, = json.loads(body)["series"]
    check({"name": "service_name", "value": "a_shop"} in series["labels"], f"{series['labels']}")
    check(re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
                       series["samples"][0]["ID"]), series["samples"][0]["ID"])
    check(base64.b64decode(series["samples"][0]["rawProfile"]) == profile_of(watch, 1), "Connect")

    # As it is, with a password, without key files; and with a token.
    watch, (path, headers, body) = pushed(
        f"http://me:{SECRET}@127.0.0.1:{server.port}/any?key={SECRET}", ("--no-keys",))
    check(body == profile_of(watch, 1), "as it is")
    check(headers["Authorization"] == "Basic " +
          base64.b64encode(f"me:{SECRET}".encode()).decode(), f"{headers}")
    check(SECRET not in watch.talk(), watch.talk())
    watch, (path, headers, body) = pushed(
        at + "/any", env=dict(os.environ, HEAPSNAP_PUSH_TOKEN=SECRET))
    check(headers["Authorization"] == f"Bearer {SECRET}", f"{headers}")
    check(SECRET not in watch.talk(), watch.talk())
    target.check_goes_on("doors")
    target.end()
    return f"five, the bytes of export, {told}"


def failures():
    """Each is said once, however many dumps there are."""
    target = Busy(program, 1, 1000)
    unused = socket.socket() # its port stays taken, and nobody listens there
    unused.bind(("127.0.0.1", 0))
    port = unused.getsockname()[1]
    key, certificate = os.path.join(WORK, "key.pem"), os.path.join(WORK, "certificate.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-subj", "/CN=127.0.0.1", "-keyout", key, "-out", certificate],
                   capture_output=True, check=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    failing, moved, secure = Server(500), Server(301), Server(200, context)
    for url, why in (
            (f"http://me:{SECRET}@127.0.0.1:{port}/ingest?k={SECRET}", "Connection refused"),
            (f"http://127.0.0.1:{failing.port}/ingest", "HTTP 500: no [31m room for profiles"),
            (f"http://127.0.0.1:{moved.port}/ingest", "redirects (HTTP 301)"),
            (f"https://127.0.0.1:{secure.port}/ingest", "certificate"),
            (f"https://127.0.0.1:{failing.port}/ingest", "SSL")):
        watch = push(target, url, 1)
        until(lambda: warned(watch), f"{url}: why nothing could be pushed")
        watch.wait_log("dump", len(watch.log("dump")) + 3, f"{url}: more dumps")
        if str(moved.port) in url:
            until(lambda: len(moved.seen) > 1, "it is asked again")
        watch.stop(url)
        said = warned(watch)
        check(len(said) == 1 and why in said[0] and "cannot push to 'http" in said[0],
              f"{url}: {said}")
        check(SECRET not in watch.talk() and watch.log("fail") == [], watch.talk())
    check(secure.seen == [], "what was seen of them")
    # Once it is well again that is said, and a new failure, too.
    watch = push(target, f"http://127.0.0.1:{failing.port}/ingest", 1)
    until(lambda: len(warned(watch)) == 1, "said")
    failing.http.code = 200
    watch.wait_log("push", 1, "taken again")
    failing.http.code = 500
    until(lambda: len(warned(watch)) == 2, "said again")
    watch.stop("well again")
    check(watch.log("push")[0]["why"] == "taken again", f"{watch.log('push')}")
    target.end()
    return "said once"


def hangs():
    target = Busy(program, 1, 1000)
    listener = socket.create_server(("127.0.0.1", 0))
    held = []
    def accept():
        while True:
            held.append(listener.accept()[0])
    threading.Thread(target=accept, daemon=True).start()
    watch = push(target, f"http://127.0.0.1:{listener.getsockname()[1]}/ingest", 8, "200ms")
    said = [line["why"] for line in watch.wait_log("warn", 2, "it hangs")]
    for why in (BUSY, "no answer within 1.0 s"):
        check(any(why in line for line in said), f"{said}")
    # One that waited for an answer would send each of its dumps.
    until(lambda: len(watch.log("dump")) > len(held) + 4, "dumps while one hangs")
    n_held, n_dumps = len(held), len(watch.log("dump"))
    done = len(watch.log("dump"))
    watch.wait_log("dump", done + 8, "dumps go on")
    check(len(watch.log("warn")) == 2, f"{watch.log('warn')}")
    sending = until(lambda: pushers(watch), "one on the way")
    watch.stop("while one hangs")
    until(lambda: gone(sending), "heapsnap-push ends with its watch")
    # Also with one that is killed, and at the end of the process.
    watch = push(target, f"http://127.0.0.1:{listener.getsockname()[1]}/ingest", 1, "20s")
    sending = until(lambda: pushers(watch), "one on the way")
    check(list(sending.values()) == ["heapsnap-push\0"], f"nobody reads the URL there: {sending}")
    watch.process.kill()
    watch.process.wait()
    until(lambda: gone(sending), "heapsnap-push ends with a killed watch")
    watch = push(target, f"http://127.0.0.1:{listener.getsockname()[1]}/ingest", 1, "20s")
    until(lambda: pushers(watch), "one on the way")
    target.end()
    watch.finish("the end of the process")
    check("still on the way at the end" in watch.log("warn")[0]["why"], f"{watch.log('warn')}")
    return f"{n_dumps} dumps while {n_held} hung"


def stat_of(pid):
    """state, parent; of one that is gone None"""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else (fields[0], int(fields[1]))


def pushers(watch):
    """pid -> command line of each heapsnap-push of this watch"""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        stat = stat_of(pid)
        if not stat or stat[1] != watch.pid:
            continue
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                line = file.read().decode(errors="replace")
        except OSError:
            continue
        if line.startswith("heapsnap-push"):
            found[pid] = line
    return found


def gone(pids):
    return not any(stat_of(pid) for pid in pids)


def wrong_urls():
    target = Busy(program, 1, 100)
    for url in ("", "localhost:4040/ingest", "ftp://h/ingest", "file:///etc/passwd", "http://",
                f"http://me:{SECRET}@/ingest", "http://h", "http://h/", "http://h?x=/ingest",
                f"http://me:{SECRET}@h/in gest", "http://h/\n/ingest", "http://:80/ingest",
                "http://h/" + "x" * 3000):
        watch = Watch(target.pid, new_directory("snaps"), "--push", url)
        said = watch.finish(f"'{url[:40]}'", 2)
        check("--push: " in said and "hint: for example" in said and SECRET not in said, said)
        check(not os.path.exists(watch.directory), f"'{url[:40]}': something was begun")
    target.end()
    return "exit 2"


main(doors, failures, hangs, wrong_urls)
END
