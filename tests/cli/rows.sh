# -n bounds every listing, the tree of dominators included; what has no row is counted and summed;
# rows of 0.0 % are folded in tables.
. "$(dirname "$0")/lib.sh"

python <<'PYTHON'
import random, re
from snapcli import *


def table(*arguments):
    """The lines of a table without its heading."""
    return run(*arguments).lines()[1:]


def tree(path, *more):
    nodes = run("dominators", path, "--json", *more).json()["nodes"]
    return {node["id"]: node for node in nodes}


def check_lines(path, n, *more):
    """No more lines than rows; what each shows, hides and has of its own is what it retains."""
    lines = table("dominators", path, "-n", n, "--depth", 3, *more)
    check(len(lines) <= n, f"-n {n}: {len(lines)} lines")
    check(not any(re.search(r"\[1 others?\]", line) for line in lines), f"-n {n}: {lines}")
    rows = []
    for line in lines:
        retained, _, own, id, what = re.match(
            r" *(\d+) +(\S+) +(\S+) +(\S+)  ( *\S.*)", line).groups()
        rows.append((len(what) - len(what.lstrip()), int(retained), own, id, what))
    for at, (indent, retained, own, id, what) in enumerate(rows):
        children = []
        for row in rows[at + 1:]:
            if row[0] <= indent:
                break
            if row[0] == indent + 2:
                children.append(row[1])
        if children and id != "-":
            equal(sum(children) + (0 if retained == 0 else int(own)), retained,
                  f"-n {n}: what {what} retains")


def dominators_are_bounded():
    for seed in range(6):
        path = random_snap(seed, n_blocks=40).write()
        whole = tree(path, "-n", 0, "--depth", 3)
        depth = {id: node["depth"] for id, node in whole.items()}
        for n in [1, 2, 3, 5, 8, 13, 40, 1000]:
            shown = tree(path, "-n", n, "--depth", 3)
            equal(len(shown), min(n, len(whole)), f"-n {n} of {len(whole)}")
            hidden = [node for id, node in whole.items()
                      if id not in shown and node["dominator"] in shown]
            for node in list(shown.values())[1:]:
                check(node["dominator"] in shown, "no row without its parent")
                for other in hidden:
                    check(node["retained_words"] >= other["retained_words"],
                          f"{node} before {other}")
            for id, node in shown.items():
                children = [c for c in whole.values() if c["dominator"] == id]
                if depth[id] < 3:
                    equal(node["hidden_children"],
                          len(children) - sum(c["id"] in shown for c in children), f"{id} hides")
            if n > 1:
                check_lines(path, n)


def a_single_child_is_shown():
    snap = Snap()
    cell = snap.type("block tag 0, 2 fields")
    chain = [snap.block(10, cell) for _ in range(3)]
    for a, b in zip(chain, chain[1:]):
        snap.edge(a, b)
    snap.root(chain[0], "chain")
    wide = snap.block(100, cell)
    for _ in range(50):
        snap.edge(wide, snap.block(4, cell))
    snap.root(wide, "wide")
    path = snap.write()
    lines = table("dominators", path, "--from", "root:chain", "--depth", 0)
    equal(len(lines), 2, f"a root and what it alone holds: {lines}")
    check("block tag 0, 2 fields  [1 below]" in lines[1], lines[1])
    lines = table("dominators", path, "--from", "root:wide", "--depth", 1)
    check("block tag 0, 2 fields  [50 below]" in lines[-1], f"{lines}")
    # 50 of 51 do not fit in 52 rows with the line that counts the rest; 50 and the last do.
    for n, others in [(51, 2), (10, 43), (3, None)]:
        lines = table("dominators", path, "--from", "root:wide", "-n", n)
        check(len(lines) <= n, f"-n {n}: {len(lines)}")
        found = [line for line in lines if "others]" in line]
        if others is not None:
            check(len(found) == 1 and f"[{others} others]" in found[0], f"-n {n}: {lines}")
    equal(len(table("dominators", path, "--from", "root:wide", "-n", 52)), 52, "all of them")


def small_rows_are_folded():
    snap = Snap()
    large = snap.block(100000, snap.type("large"))
    snap.root(large, "large")
    for i in range(5):
        snap.root(snap.block(3, snap.type(f"small {i}")), f"small{i}")
    path = snap.write()
    names = lambda *more: [line.split()[-1] for line in table("roots", path, *more)
                           if "small" in line]
    equal(names(), [], "rows of 0.0 %")
    check(any("[5 others]" in line for line in table("roots", path)), "they are counted")
    for more in [["-n", "0"], ["--min-words", "1"], ["--min-bytes", "8"], ["--sort", "name"],
                 ["--kind", "global"]]:
        equal(len(names(*more)), 5, f"{more} asks for them")
    check(any("[5 others]" in line for line in table("types", path)), "types")
    check(not any("small" in line for line in table("dominators", path)), "dominators")
    equal(sum("small" in line for line in table("dominators", path, "-n", "0", "--depth", "5")), 10,
          "all of them and what they hold")
    for command, rows in [("roots", "roots"), ("types", "types")]:
        found = run(command, path, "--json").json()[rows]
        check(sum("small" in str(row) for row in found) == 5, f"JSON has all: {command}")


main(dominators_are_bounded, a_single_child_is_shown, small_rows_are_folded)
PYTHON
