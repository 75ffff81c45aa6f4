"""Compares `heapsnap roots --json` with what the program said of itself.

  EXPECT KINDS WORDS PATTERN   some root of one of the kinds (a,b) whose name matches reaches WORDS
  COUNT KINDS WORDS N PATTERN  at least N roots do; WORDS "-": whatever they reach
  NONE KINDS WORDS PATTERN     no such root reaches WORDS, static blocks apart
  HEAP KINDS WORDS PATTERN     as EXPECT, without static blocks whatever the flag says
  SAMPLE ID WORDS              `heapsnap samples --json` has this id with these words, and its block

--any-frame: a stack could not be delimited and has no frames with names: of roots of stacks the
name is not asked.
--with-static: WORDS count static blocks too, as Obj.reachable_words does in OCaml 5.

usage: _roots_compare.py [--with-static] [--any-frame] roots.json truth.txt [samples.json]
       _roots_compare.py --each truth.txt roots.json...  prints the files of which it does not hold
"""
import json
import re
import sys

WITH_STATIC = "--with-static" in sys.argv
ANY_FRAME = "--any-frame" in sys.argv

def words_of(root):
    return root["reachable_words"] + root["static_reachable_words"] * WITH_STATIC


def matching(roots, kinds, pattern):
    kinds = kinds.split(",")
    return [r for r in roots if r["kind"] in kinds and
            (ANY_FRAME and r["kind"] == "stack" or re.search(pattern, r["name"] or ""))]


def heap_words_of(root):
    return root["reachable_words"]


def check_expect(roots, kinds, words, pattern, count=words_of):
    found = matching(roots, kinds, pattern)
    if any(count(r) == int(words) for r in found):
        return None
    seen = sorted({(r["name"], count(r)) for r in found}, key=lambda x: -x[1])[:8]
    return f"no {kinds} root /{pattern}/ reaches {words} words; seen: {seen}"


def check_count(roots, kinds, words, n, pattern):
    found = [r for r in matching(roots, kinds, pattern)
             if words == "-" or words_of(r) == int(words)]
    if len(found) >= int(n):
        return None
    return f"{len(found)} {kinds} roots /{pattern}/ of {words} words, expected {n} or more"


def check_none(roots, kinds, words, pattern):
    found = [r for r in matching(roots, kinds, pattern) if heap_words_of(r) == int(words)]
    return f"{found[0]['name']} reaches {words} words" if found else None


def check_sample(samples, number, words):
    found = samples.get(int(number))
    if found is None:
        return f"sample {number} is missing"
    if found["words"] != int(words):
        return f"sample {number} has {found['words']} words, expected {words}"
    if found["id"] is None:
        return f"sample {number} has no block"
    return None


def check_all(roots, samples, truth):
    """How many statements there are, and what speaks against them."""
    n_checked, errors = 0, []
    for line in open(truth):
        word, _, rest = line.rstrip("\n").partition(" ")
        if word == "EXPECT":
            error = check_expect(roots, *rest.split(" ", 2))
        elif word == "HEAP":
            error = check_expect(roots, *rest.split(" ", 2), heap_words_of)
        elif word == "COUNT":
            error = check_count(roots, *rest.split(" ", 3))
        elif word == "NONE":
            error = check_none(roots, *rest.split(" ", 2))
        elif word == "SAMPLE":
            error = check_sample(samples, *rest.split(" "))
        else:
            continue
        n_checked += 1
        if error:
            errors.append(error)
    if n_checked == 0:
        sys.exit("the program stated nothing")
    return n_checked, errors


def each(truth, files):
    """To begin Python for each of hundreds would take longer than to compare."""
    for file in files:
        _, errors = check_all(json.load(open(file))["roots"], {}, truth)
        if errors:
            print(file, errors[0])


def main():
    files = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    if "--each" in sys.argv:
        return each(files[0], files[1:])
    roots = json.load(open(files[0]))["roots"]
    samples = {}
    if len(files) > 2:
        samples = {s["sample"]: s for s in json.load(open(files[2]))["samples"]}
    n_checked, errors = check_all(roots, samples, files[1])
    for error in errors[:20]:
        print("  " + error)
    if errors:
        sys.exit(f"{len(errors)} of {n_checked} statements do not hold")
    print(f"  {n_checked} statements hold, {len(roots)} roots")


main()
