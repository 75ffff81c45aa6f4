# ndjson and tsv say what json says; -o writes the same bytes as standard output.
. "$(dirname "$0")/lib.sh"

python <<'END'
from snapcli import *

path = a_snap().write()
LISTS = {"roots": "roots", "types": "types", "dominators": "nodes", "samples": "samples"}


def tsv_rows(text):
    lines = text.split("\n")
    equal(lines.pop(), "", "a TSV ends with a newline")
    keys = lines[0].split("\t")
    equal(len(set(keys)), len(keys), "keys of a TSV")
    for key in keys:
        check(key == key.lower(), f"TSV key '{key}'")
    rows = [line.split("\t") for line in lines[1:]]
    for row in rows:
        equal(len(row), len(keys), f"cells of {row}")
    return [dict(zip(keys, row)) for row in rows]


def lines_of_json():
    for command, key in LISTS.items():
        expected = run(command, path, "--json").json()[key]
        found = [json.loads(line) for line in
                 run(command, path, "--format", "ndjson").out.splitlines()]
        equal(found, expected, f"{command}: ndjson")
    one = run("info", path, "--format", "ndjson").out
    equal(one.count("\n"), 1, "info: ndjson is one line")
    equal(json.loads(one), run("info", path, "--json").json(), "info: ndjson")


def tab_separated():
    for command, key in LISTS.items():
        expected = run(command, path, "--json").json()[key]
        found = tsv_rows(run(command, path, "--format", "tsv").out)
        equal(len(found), len(expected), f"{command}: rows of the TSV")
        for row, whole in zip(found, expected):
            for name in set(row) & set(whole):
                value = "" if whole[name] is None else str(whole[name])
                if name == "name" and command == "dominators" and value == "":
                    value = whole["type"]
                if name == "root" and value == "":
                    continue # [shared], [unreached]
                equal(row[name], value, f"{command}: {name}")
    for command in ["info", "object"]:
        more = ["1235"] if command == "object" else []
        tsv_rows(run(command, path, *more, "--format", "tsv").out)
    tsv_rows(run("paths", path, "--to", "1235", "--format", "tsv").out)


def to_a_file():
    name = os.path.join(WORK, "listing")
    for command in [["roots"], ["info"], ["types"], ["dominators"], ["samples"],
                    ["paths", "--to", "1234"]]:
        for format in ["table", "json", "ndjson", "tsv"]:
            expected = run(command[0], path, *command[1:], "--format", format).out
            found = run(command[0], path, *command[1:], "--format", format, "-o", name)
            equal(found.out, "", f"{command} -o: standard output")
            equal(open(name).read(), expected, f"{command} --format {format} -o")
        equal(run(command[0], path, *command[1:], "-o", "-").out,
              run(command[0], path, *command[1:]).out, f"{command} -o -")


def the_same_twice():
    for command in LISTS:
        equal(run(command, path, "--json").raw, run(command, path, "--json").raw, command)


def limits():
    snap = Snap()
    kind = snap.type("cell")
    for at in range(100):
        snap.root(snap.block(at + 2, kind), f"A.v{at:03}")
    many = snap.write("many.snap")
    equal(len(run("roots", many).lines()), 40 + 6,
          "a table has a heading, 40 rows, [n others], [shared], [unreached], TOTAL and a line")
    check("[60 others]" in run("roots", many).out, "the rest is folded")
    equal(len(run("roots", many, "-n", "0").lines()), 100 + 5, "-n 0 is all")
    for format in ["json", "ndjson", "tsv"]:
        text = run("roots", many, "--format", format).out
        equal(text.count("A.v"), 100, f"--format {format} has all")
    equal(len(run("roots", many, "--json", "-n", "7").json()["roots"]), 7, "-n 7")


main(lines_of_json, tab_separated, to_a_file, the_same_twice, limits)
END
