"""A small news feed in Python that remembers more than it should: every reader's session stays in
a class attribute, a thread keeps its backlog, and a callback keeps a report that nobody reads.

    python3 feed.py N    handles N articles, says "ready", and goes on when its input ends
"""
import sys
import threading


class Article:
    __slots__ = ("title", "words")

    def __init__(self, number):
        self.title = "article %d" % number
        self.words = [number, number + 1]


class Session:
    def __init__(self, reader):
        self.reader = "reader %d" % reader
        self.read = []


class Feed:
    sessions = {}  # one for each reader who ever came

    def handle(self, number):
        session = Feed.sessions.setdefault(number // 4, Session(number // 4))
        session.read.append(Article(number))


def subscribe(n):
    report = ["line %d of a report" % i for i in range(n)]

    def on_change():
        return len(report)

    return on_change


def work(n, started, stop):
    backlog = ["to do: %d" % i for i in range(n)]
    started.set()
    stop.wait()
    return backlog


def main(n):
    feed, started, stop = Feed(), threading.Event(), threading.Event()
    threading.Thread(target=work, args=(n // 4, started, stop), daemon=True).start()
    started.wait()
    for number in range(n):
        feed.handle(number)
    print("ready", flush=True)
    sys.stdin.read()
    stop.set()


callbacks = [subscribe(5000)]
main(int(sys.argv[1]))
