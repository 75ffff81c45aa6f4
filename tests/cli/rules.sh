# rules: what is listed, what a wrong file is told, exit codes.
. "$(dirname "$0")/lib.sh"
cat >"$work/house.rules" <<'RULES'
heapsnap-rules 1
type "house::Ref<*>" "house::View" pointers find when language c++  # ours
library "libhouse.so*" tier runtime
RULES
printf 'heapsnap-rules 1\ntype "a" keeps\n\nlibrary "b" tier firm\n' >"$work/wrong.rules"

python <<'END'
import os
from snapcli import *

work = os.environ["WORK"]
document = run("rules", "--json").json()
equal(document["schema"], "heapsnap.rules/1", "schema")
equal(document["explain"], None, "explain")
check(len(document["hash"]) == 16, document["hash"])
rows = document["rules"]
check(len(rows) >= 40, len(rows))
equal([row["number"] for row in rows], list(range(1, len(rows) + 1)), "numbers")
equal(list(rows[0]), ["number", "name", "file", "line", "kind", "patterns", "says", "language",
                      "enabled"], "keys")
check(all(row["file"] is None and row["enabled"] for row in rows), "shipped ones have no file")

mine = run("rules", "--rules", f"{work}/house.rules", "--json").json()
check(mine["hash"] != document["hash"], "another hash")
equal(mine["rules"][0], {
    "number": 1, "name": "house", "file": f"{work}/house.rules", "line": 2, "kind": "type",
    "patterns": "house::Ref<*> house::View", "says": "pointers find", "language": "c++",
    "enabled": True}, "a rule")

# The shipped files are what is installed, and say line and column as those do.
text = open(f"{os.environ['SOURCE_DIR']}/share/heapsnap/rules.d/std.rules").read().splitlines()
for row in rows:
    if row["name"] == "std":
        check(row["patterns"].split()[0] in text[row["line"] - 1], row)

def explained(name, *more):
    done = run("rules", "--explain", name, *more, "--json").json()
    return [(row["name"], row["says"]) for row in done["rules"]]
equal(explained("std::weak_ptr<int>"), [("std", "pointers find")], "weak_ptr")
equal(explained("libc.so.6"), [("libc", "tier runtime"), ("libc", "group system")], "libc")
equal(explained("simple-fab5b0cf-82b66b4d.eln"), [("emacs", "tier runtime")], "Emacs's Lisp")
equal(explained("app::Session"), [], "none")
equal(explained("house::View", "--rules", f"{work}/house.rules"), [("house", "pointers find")],
      "house::View")
off = run("rules", "--rules=-std", "--json").json()
equal({row["enabled"] for row in off["rules"] if row["name"] == "std"}, {False}, "off")
check(off["hash"] != document["hash"], "another hash")

equal(run("rules", "--check", f"{work}/house.rules", "--json").json()["faults"], [], "sound")
wrong = run("rules", "--check", f"{work}/wrong.rules", "--json", code=2)
equal([(f["line"], f["column"]) for f in wrong.json()["faults"]], [(2, 10), (4, 18)], "faults")
check("expected 'pointers find'" in wrong.json()["faults"][0]["reason"], wrong.out)
check("2 lines are no rules" in wrong.err, wrong.err)
END

exits 2 rules --rules "$work/wrong.rules"
mentions "wrong.rules', line 2, column 10: nothing is said so of a type"
mentions "^hint: 'heapsnap rules --check FILE'"
exits 2 dump $$ -o "$work/x.snap" --rules "$work/wrong.rules"
mentions "line 2, column 10"
exits 2 rules --rules=-stt
mentions "^hint: did you mean 'std'\?"
exits 5 rules --check "$work/absent.rules"
exits 5 rules --rules "$work/absent.rules"

# Files that must be refused, called by the line and the column of their first fault.
for file in "$SOURCE_DIR"/tests/cli/golden/rules/*.rules; do
    place=$(basename "$file" .rules | grep -oE '[0-9]+_[0-9]+$')
    exits 2 rules --check "$file" --format tsv
    sed -n 2p "$work/out" | grep -q "$(printf '\t%s\t%s\t' "${place%_*}" "${place#*_}")" ||
        fail "$file: $(sed -n 2p "$work/out")"
    exits 2 dump $$ -o "$work/x.snap" --rules "$file"
    mentions "line ${place%_*}, column ${place#*_}: "
done
