"""Shared by the tests of serve: starts it, asks it, and holds answers against openapi.json."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
from urllib.parse import quote

from snapcli import HEAPSNAP, check, equal


class Server:
    def __init__(self, *arguments, env=None, program=HEAPSNAP):
        self.talk = open("serve.err", "w+b")
        self.child = subprocess.Popen([program, "serve", *map(str, arguments)],
                                      stdout=subprocess.PIPE, stderr=self.talk,
                                      env={**os.environ, **(env or {})})
        self.url = self.child.stdout.readline().decode().strip()
        found = re.fullmatch(r"http://(?:127\.0\.0\.1:(\d+)|localhost)/#([0-9a-f]{32})", self.url)
        check(found, f"the address: {self.url!r}, {self.said()}")
        self.port, self.token = int(found[1] or 0), found[2]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.child.poll() is None:
            self.end()

    def said(self):
        self.talk.seek(0)
        return self.talk.read().decode(errors="replace")

    def end(self, number=signal.SIGTERM, code=0):
        self.child.send_signal(number)
        equal(self.child.wait(60), code, f"exit code: {self.said()}")
        equal(self.child.stdout.read(), b"", "more on standard output")

    def raw(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def ask(self, target, code=200, method="GET", body=None, headers=None, connection=None):
        """(JSON or text, headers); a header of None is left out."""
        one = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=100)
        all_headers = {"Authorization": "Bearer " + self.token, **(headers or {})}
        one.putrequest(method, target, skip_host="Host" in all_headers, skip_accept_encoding=True)
        for name, value in all_headers.items():
            if value is not None:
                one.putheader(name, value)
        if body is not None:
            one.putheader("Content-Length", str(len(body)))
        one.endheaders(body)
        answer = one.getresponse()
        text = answer.read()
        if connection is None:
            one.close()
        equal(answer.status, code, f"{method} {target[:200]}: {text[:300]}")
        self.last = answer
        if (answer.getheader("Content-Type") or "").startswith("application/json"):
            return json.loads(text)
        return text

    def api(self, rest, **more):
        return self.ask("/api/1/" + rest, **more)


def node(what, *rest):
    return "/".join(["node", quote(what, safe=""), *rest])


# ---- the part of JSON Schema that openapi.json uses

KINDS = {"null": lambda v: v is None, "boolean": lambda v: isinstance(v, bool),
         "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
         "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
         "string": lambda v: isinstance(v, str), "array": lambda v: isinstance(v, list),
         "object": lambda v: isinstance(v, dict)}
KNOWN = {"type", "properties", "required", "items", "anyOf", "$ref", "const", "enum", "minimum",
         "maximum", "maxLength", "default"}


def faults(api, schema, value, place):
    """What about the value is not as the schema has it."""
    check(set(schema) <= KNOWN, f"unknown words in a schema: {set(schema) - KNOWN}")
    if "$ref" in schema:
        for part in schema["$ref"].split("/"):
            api_part = api if part == "#" else api_part[part]
        return faults(api, api_part, value, place)
    if "anyOf" in schema:
        all_faults = [faults(api, one, value, place) for one in schema["anyOf"]]
        return [] if not all(all_faults) else min(all_faults, key=len)
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(KINDS[kind](value) for kind in kinds):
        return [f"{place}: {value!r:.80} is not {kinds}"]
    if "const" in schema and value != schema["const"]:
        return [f"{place}: {value!r:.80} is not {schema['const']}"]
    found = []
    if isinstance(value, dict):
        found += [f"{place}: no {key}" for key in schema.get("required", []) if key not in value]
        for key, below in schema.get("properties", {}).items():
            if key in value:
                found += faults(api, below, value[key], f"{place}.{key}")
    if isinstance(value, list) and "items" in schema:
        for i, one in enumerate(value):
            found += faults(api, schema["items"], one, f"{place}[{i}]")
    return found


def valid(api, path, value, method="get", code="200"):
    answer = api["paths"][path][method]["responses"][code]
    if "$ref" in answer:
        answer = api["components"]["responses"][answer["$ref"].split("/")[-1]]
    wrong = faults(api, answer["content"]["application/json"]["schema"], value, path)
    check(not wrong, f"not as openapi.json has it: {wrong[:5]}")
