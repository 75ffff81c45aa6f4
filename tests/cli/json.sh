# The JSON of every command holds the keys, types and units that scripts depend on.
. "$(dirname "$0")/lib.sh"

python <<'END'
from snapcli import *

COUNT, TEXT, ADDRESS, ID, BOOL = "count", "text", "address", "id", "bool"
ROOT = {"id": ID, "kind": TEXT, "name": TEXT, "group": list, "module": TEXT, "symbol": TEXT,
        "offset": COUNT, "field": COUNT, "file": TEXT, "line": COUNT, "function": TEXT,
        "thread": COUNT, "frame": COUNT, "address": ADDRESS, "reachable_words": COUNT,
        "reachable_objects": COUNT, "static_reachable_words": COUNT, "retained_words": COUNT,
        "retained_objects": COUNT, "static_retained_words": COUNT, "certainty": TEXT,
        "tier": TEXT, "parent": ID, "level": TEXT, "is_root": BOOL, "unit": TEXT, "target": ID,
        "weak": BOOL, "rule": TEXT}
NULLABLE = {"module", "symbol", "offset", "field", "file", "line", "function", "thread", "frame",
            "address", "site", "trace", "version", "build_id", "root", "root_id", "dominator",
            "name", "type", "kind", "id", "sample", "parent", "unit", "target",
            "rule"}
path = a_snap().write()


def is_a(value, kind):
    if kind == COUNT:
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if kind == BOOL:
        return isinstance(value, bool)
    if kind is list or kind is dict:
        return isinstance(value, kind)
    if not isinstance(value, str):
        return False
    if kind == ADDRESS:
        return value.startswith("0x") and int(value, 16) > 0
    return kind == TEXT or (value[0] == "#" and value[1:].isdigit())


def has(found, keys, what):
    for key, kind in keys.items():
        check(key in found, f"{what}: no key '{key}' in {sorted(found)}")
        value = found[key]
        check(is_a(value, kind) or (value is None and key in NULLABLE),
              f"{what}: '{key}' is {value!r}, not a {kind}")
    lowers(found, what)


def lowers(value, what):
    if isinstance(value, dict):
        for key, inner in value.items():
            check(key == key.lower() and " " not in key, f"{what}: key '{key}'")
            check(inner is None or not isinstance(inner, float) or key.endswith("percent"),
                  f"{what}: '{key}' is {inner!r}: raw integers only")
            lowers(inner, what)
    elif isinstance(value, list):
        for inner in value:
            lowers(inner, what)


def document(name, *arguments):
    found = run(*arguments, "--json").json()
    equal(list(found)[0], "schema", f"the first key of {name}")
    equal(found["schema"], f"heapsnap.{name}/1", "schema")
    equal(run(*arguments, "--format", "json").json(), found, "--format json is --json")
    return found


def roots():
    found = document("roots", "roots", path)
    has(found, {"snapshot": TEXT, "pid": COUNT, "word_bytes": COUNT, "heap": dict, "roots": list,
                "shared": dict, "others": dict, "unreached": dict, "policy": TEXT,
                "owned_words": COUNT, "attributed_words": COUNT, "kept_by": dict, "sets": list,
                "other_sets": dict}, "roots")
    for at, found_set in enumerate(found["sets"]):
        has(found_set, {"id": TEXT, "roots": list, "n_roots": COUNT, "retained_words": COUNT,
                        "retained_objects": COUNT}, "a set")
    equal(found["pid"], 4242, "pid")
    equal(found["word_bytes"], 8, "word_bytes")
    equal(set(found["heap"]), {"objects", "words", "reachable_objects", "reachable_words",
                               "unreached_objects", "unreached_words", "static_words"}, "heap")
    for root in found["roots"]:
        equal(set(root), set(ROOT) | {"type"}, "the keys of a root")
        has(root, ROOT | {"type": TEXT}, "a root")
    vcs = next(root for root in found["roots"] if root["name"] == "Stm.VCS")
    for key, value in {"kind": "global", "group": ["globals", "coqtop", "Stm"], "module": "coqtop",
                       "symbol": "camlStm", "offset": 504, "field": 63, "file": "stm/stm.ml",
                       "line": 318, "function": None, "thread": None, "frame": None,
                       "address": "0x5500001000", "reachable_words": 165, "reachable_objects": 7,
                       "static_reachable_words": 0, "retained_words": 115, "retained_objects": 6,
                       "certainty": "exact", "tier": "firm"}.items():
        equal(vcs[key], value, f"Stm.VCS: {key}")
    slot = next(root for root in found["roots"] if root["kind"] == "stack")
    for key, value in {"thread": 4242, "frame": 1, "function": "Stm.observe", "symbol": None,
                       "offset": None, "field": None}.items():
        equal(slot[key], value, f"the slot: {key}")
    static = next(root for root in found["roots"] if root["kind"] == "c_root")
    equal((static["retained_words"], static["static_retained_words"]), (0, 4), "static data apart")
    check(not any(root["kind"] == "finaliser" for root in found["roots"]), "a weak root is a row")
    equal([r["retained_words"] for r in found["roots"]],
          sorted((r["retained_words"] for r in found["roots"]), reverse=True), "the order")


def info():
    found = document("info", "info", path)
    has(found, {"format_version": COUNT, "tool_version": TEXT, "pid": COUNT, "command": TEXT,
                "complete": BOOL, "runtimes": list, "proofs": list, "objects": COUNT,
                "edges": COUNT, "roots": COUNT, "samples": COUNT, "words": COUNT,
                "pause_ns": COUNT, "read_bytes": COUNT, "file_bytes": COUNT, "unreadable": list,
                "build_ids": list}, "info")
    equal(found["pause_ns"], 12345678, "pause")
    equal(found["objects"], 11, "objects")
    equal(found["words"], 198, "words")
    equal(found["static_words"], 4, "static words")
    equal(found["roots"], 6, "roots")
    equal(found["samples"], 4, "samples")
    equal(found["proofs"], [{"what": "words of the heap chunks", "expected": 198, "found": 198,
                             "holds": True}], "proofs")
    equal(found["unreadable"], [{"begin": "0x1000", "end": "0x2000"}], "unreadable")
    for runtime in found["runtimes"]:
        has(runtime, {"name": TEXT, "version": TEXT, "certainty": TEXT}, "a runtime")
    for binary in found["build_ids"]:
        has(binary, {"path": TEXT, "build_id": TEXT, "debug_information": BOOL}, "a binary")


def dominators():
    found = document("dominators", "dominators", path)
    for node in found["nodes"]:
        has(node, {"id": ID, "dominator": ID, "depth": COUNT, "address": ADDRESS, "name": TEXT,
                   "type": TEXT, "words": COUNT, "retained_words": COUNT,
                   "retained_objects": COUNT}, "a node")
    equal(found["nodes"][0]["id"], "#0", "the first node")
    equal(found["nodes"][0]["dominator"], None, "its dominator")
    by_id = {node["id"]: node for node in found["nodes"]}
    for node in found["nodes"][1:]:
        equal(node["depth"], by_id[node["dominator"]]["depth"] + 1, "the depth")


def types():
    found = document("types", "types", path)
    has(found, {"word_bytes": COUNT, "types": list, "others": dict, "unreached": dict}, "types")
    for row in found["types"]:
        has(row, {"type": TEXT, "kind": TEXT, "known": BOOL, "objects": COUNT, "words": COUNT,
                  "static_words": COUNT, "retained_words": COUNT}, "a type")
        equal(row["known"], not row["type"].startswith("block tag "), f"{row['type']} is known")
    by_name = {row["type"]: row for row in found["types"]}
    equal(by_name["string"]["kind"], "string", "the kind of strings")
    equal(by_name["string"]["words"], 170, "words of strings")
    equal(by_name["block tag 0, 2 fields"]["objects"], 6, "cells")
    equal(by_name["block tag 0, 2 fields"]["retained_words"], 117, "what cells retain")
    equal(found["unreached"], {"objects": 1, "words": 7}, "unreached")


def samples():
    found = document("samples", "samples", path)
    equal(len(found["samples"]), 4, "samples")
    for row in found["samples"]:
        has(row, {"sample": COUNT, "id": ID, "address": ADDRESS, "type": TEXT, "words": COUNT,
                  "state": TEXT, "retained_words": COUNT, "root": TEXT, "root_id": ID,
                  "reached": BOOL}, "a sample")
    by_id = {row["sample"]: row for row in found["samples"]}
    equal(by_id[1234]["root"], "Stm.VCS", "kept by one root")
    equal((by_id[1235]["root"], by_id[1235]["reached"]), (None, True), "kept by several")
    equal((by_id[1236]["root"], by_id[1236]["reached"]), (None, False), "kept by none")
    equal(by_id[1237]["id"], None, "not in the heap")


def paths():
    found = document("paths", "paths", path, "--to", "1234")
    has(found, {"target": dict, "paths": list, "complete": BOOL}, "paths")
    target = found["target"]
    has(target, {"id": ID, "address": ADDRESS, "words": COUNT, "type": TEXT,
                 "retained_words": COUNT, "sample": dict, "dominator": ID}, "the target")
    equal(target["words"], 100, "words of the target")
    has(target["sample"], {"id": COUNT, "state": TEXT, "words": COUNT}, "the sample")
    equal(target["sample"]["site"], None, "the site, which only a trace tells")
    equal(target["sample"]["id"], 1234, "the sample's id")
    equal(len(found["paths"]), 1, "paths")
    one = found["paths"][0]
    has(one, {"root": dict, "length": COUNT, "steps": list}, "a path")
    equal(set(one["root"]), set(ROOT), "the keys of a path's root")
    equal(one["root"]["name"], "Stm.VCS", "the root")
    for step in one["steps"]:
        has(step, {"id": ID, "address": ADDRESS, "type": TEXT, "words": COUNT,
                   "retained_words": COUNT, "repeat": COUNT}, "a step")
        check({"offset", "field"} <= set(step), f"a step has no offset or field: {step}")
    equal(sum(step["repeat"] for step in one["steps"]), one["length"], "repeats make the length")
    other = run("paths", path, "--to", "#" + one["steps"][0]["id"][1:], "--json").json()
    equal(other["target"]["sample"], None, "no sample")
    equal(run("paths", path, "--to", "1235", "--json").json()["complete"], True, "complete")


def object():
    found = document("object", "object", path, "1235")
    has(found, {"object": dict, "fields": list, "referrers": list, "more_referrers": COUNT,
                "dominators": list, "n_dominated": COUNT, "dominated": list}, "object")
    has(found["object"], {"id": ID, "address": ADDRESS, "type": TEXT, "words": COUNT,
                          "retained_words": COUNT, "reached": BOOL, "static": BOOL, "root": TEXT,
                          "samples": list}, "the object")
    equal(found["object"]["words"], 50, "its words")
    equal(found["object"]["samples"], [1235], "its samples")
    equal(sorted(link["class"] for link in found["referrers"]), ["exact", "exact", "weak"],
          "who points here, the weak root too")
    equal([node["id"] for node in found["dominators"]][-1], "#0", "the last dominator")
    for link in found["referrers"]:
        has(link, {"id": ID, "class": TEXT, "words": COUNT, "retained_words": COUNT}, "a link")
        check({"field", "offset"} <= set(link), f"a link has no field or offset: {link}")
    table = document("object", "object", path, "type:ephemeron")
    equal(sorted((link["class"], link["field"], link["offset"]) for link in table["fields"]),
          [("ephemeron", 1, 8), ("exact", 0, 0), ("weak", 2, 16)], "fields of the ephemeron")


def leaks():
    found = document("leaks", "leaks", path)
    has(found, {"snapshot": TEXT, "word_bytes": COUNT, "collected": BOOL, "groups": list,
                "others": dict, "certain": dict, "possible": dict, "suppressed": dict}, "leaks")
    for key in ["others", "certain", "possible", "suppressed"]:
        has(found[key], {"count": COUNT, "words": COUNT}, key)
    equal(len(found["groups"]), 1, "one string is lost")
    for group in found["groups"]:
        has(group, {"certainty": TEXT, "why": TEXT, "type": TEXT, "words_each": COUNT,
                    "count": COUNT, "words": COUNT, "heads": COUNT, "held_words": COUNT,
                    "first": ADDRESS, "first_id": ID, "head": ADDRESS, "head_type": TEXT,
                    "path": list}, "a group")
        for step in group["path"]:
            has(step, {"id": ID, "address": ADDRESS, "type": TEXT, "repeat": COUNT}, "a step")


main(roots, info, dominators, types, samples, paths, object, leaks)
END
