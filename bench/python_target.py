"""A Python heap of about N objects: instances, dicts, lists, tuples, strings, numbers. Prints READY
and waits for its standard input to end."""

import collections
import sys


class Session:
    def __init__(self, number):
        self.number = number
        self.user = "user %d" % number
        self.messages = [("message", number * 1000 + i, "text %d" % (i % 97)) for i in range(6)]
        self.settings = {"language": "en", "theme": "dark %d" % number, "volume": number / 3}


class Server:
    def __init__(self, n_objects):
        self.sessions = {}
        self.recent = collections.deque(maxlen=1000)
        for number in range(n_objects // 24):
            session = Session(number)
            self.sessions[session.user] = session
            self.recent.append(session)


server = Server(int(sys.argv[1]))
print("READY", flush=True)
sys.stdin.read()
