"""count-tests.py TITLE JUNIT-FILE: prints "passed failed skipped", then the failed tests' names,
one per line. Skipped ones go to stderr, so that nobody overlooks them."""

import sys
import xml.etree.ElementTree


def main():
    title, name = sys.argv[1:3]
    cases = xml.etree.ElementTree.parse(name).getroot().findall("testcase")
    if not cases:
        return 1
    passed, skipped, failed = [], [], []
    for case in cases:
        skip = case.find("skipped")
        if case.get("status") == "run":
            passed.append(case)
        elif skip is not None and "SKIP" in skip.get("message", ""):
            skipped.append(case)
        else:
            failed.append(case)
    print(len(passed), len(failed), len(skipped))
    for case in failed:
        print(title, case.get("name"))
    for case in skipped:
        output = (case.findtext("system-out") or "").strip().splitlines()
        print("skipped:", title, case.get("name"), *output[-1:], file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
