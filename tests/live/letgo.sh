#!/usr/bin/env bash
# parts: ocaml
# What `roots --without` foretells is freed when the program lets go, within a thousandth, or it had
# a reserve: programs of twelve kinds let go of their owners one after the other, and are dumped
# again. Prints a table.
. "$(dirname "$0")/_target.sh"
need python3 gcc g++

built=0
# build NAME COMMAND...: a program that cannot be built here is told, and left out.
build()
{
    local name=$1
    shift
    if "$@" >"$work/build.log" 2>&1; then
        echo "$work/$name" >>"$work/programs"
        built=$((built + 1))
    else
        echo "NOT TESTED: $name: $(tail -1 "$work/build.log")"
    fi
}

cd "$work"
: >programs
cp "$fixtures/letgo.ml" .
build c gcc -g -O1 -pthread -o c "$fixtures/letgo.c"
# Compiled once, linked with the allocator of the system and with another.
g++ -std=c++17 -g -O1 -c -o cpp.o "$fixtures/letgo.cpp"
build cpp g++ -o cpp cpp.o
build libcxx clang++ -std=c++17 -stdlib=libc++ -g -O1 -o libcxx "$fixtures/letgo.cpp"
build jemalloc g++ -o jemalloc cpp.o -l:libjemalloc.so.2
build rust rustc -g -O --crate-name letgo_rust -o rust "$fixtures/letgo_rust.rs"
for version in 5 6; do
    # shellcheck disable=SC2046
    build "qt$version" g++ -std=c++17 -fPIC -g -o "qt$version" "$fixtures/letgo_qt.cpp" \
        $(pkg-config --cflags --libs "Qt${version}Core" 2>/dev/null)
done
# shellcheck disable=SC2046
build glib gcc -g -O1 -o glib "$fixtures/letgo_glib.c" \
    $(pkg-config --cflags --libs gobject-2.0 2>/dev/null)
build ocaml ocamlfind ocamlopt -g -package unix -linkpkg letgo.ml -o ocaml
# The same without debug information: variables are places, whose number says which.
build stripped gcc -O1 -s -pthread -o stripped "$fixtures/letgo.c"
# The oldest and the newest of those that are installed.
pythons=$(for python in /usr/bin/python3 "$HOME"/.pyenv/versions/3.1[1-9]*/bin/python3; do
    "$python" -c 'import sys; print("%d.%02d" % sys.version_info[:2], sys.executable)' 2>/dev/null
done | sort -u -k1,1 | sed -n '1p;$p' | sort -u)
while read -r _ python; do
    [ -n "$python" ] || continue
    echo "$python $fixtures/letgo.py" >>programs
    built=$((built + 1))
done <<<"$pythons"
[ "$built" -ge 6 ] || { echo "skipped: only $built programs can be built"; exit 77; }

python3 - "$HEAPSNAP" "$work" <<'PYTHON' || fail "a figure without a reserve was wrong"
import json, os, re, subprocess, sys
heapsnap, work = sys.argv[1:]
MOST_PARTS = 1000  # a thousandth


def ask(*arguments):
    done = subprocess.run([heapsnap, "roots", *arguments, "--json", "-n", "30"],
                          stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


class Program:
    def __init__(self, number, command):
        self.name, self.number = os.path.basename(command[0]), number
        self.n_dumps = 0
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, bufsize=1)
        self.owners = []
        for line in self.process.stdout:
            if line.startswith("READY"):
                break
            self.owners.append(line.split(None, 1)[1].strip())

    def dump(self):
        path = f"{work}/{self.number}.{self.n_dumps}.snap"
        self.n_dumps += 1
        subprocess.run([heapsnap, "dump", str(self.process.pid), "-o", path], check=True,
                       stderr=subprocess.DEVNULL)
        return path

    def let_go(self, owner):
        self.process.stdin.write(f"{owner}\n")
        self.process.stdin.flush()
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit(f"{self.name} ended when it let go of {owner}")
            if line.startswith("GONE"):
                return


def places(path):
    """Without names of the program a variable is a place: what each retains, and its reserve."""
    rows = json.loads(subprocess.run(
        [heapsnap, "suspects", path, "--json", "-n", "0", "--threshold", "1"],
        stdout=subprocess.PIPE, check=True).stdout)["suspects"]
    return {re.sub("set:[0-9]+: ", "", re.split(" alone keeps | keep ", row["sentence"])[0]): row
            for row in rows if row["list"] in ("owner", "joint")}


def let_go_of_place(program, path, owner):
    """Of a program without names: what is not listed any more, be it of one place or of many."""
    listed = places(path)
    program.let_go(owner)
    after = program.dump()
    left = places(after)
    gone = [row for place, row in listed.items() if place not in left]
    return [{"freed_words": sum(row["words"] for row in gone),
             "reserve": next((row["reserve"] for row in gone if row["reserve"]), None)}], after


def named(path, name):
    """A name that ends with a star is that of the one root that begins so, with a plus that of
    several."""
    if name[-1] not in "*+":
        return name
    rows = json.loads(subprocess.run([heapsnap, "roots", path, "--json", "-n", "0"],
                                     stdout=subprocess.PIPE, check=True).stdout)["roots"]
    if name.endswith("+"):
        return ",".join(row["id"] for row in rows if row["name"] == name[:-1])
    return next(row["name"] for row in rows if (row["name"] or "").startswith(name[:-1]))


def without(path, *names):
    return ask(path, "--without", ",".join(names))["without"]


def let_go_of_some(program, path, owner):
    """Several at once, which spares dumps, where none has a reserve, and all of them together are
    to free what each of them does: then one that is wrong is seen as if it was alone."""
    names = [named(path, name) for name in program.owners[owner:owner + MOST_TOGETHER]]
    asked = [without(path, names[0])]
    for n in range(1, len(names)):
        one = without(path, names[n])
        if asked[0]["reserve"] is not None or one["reserve"] is not None:
            break
        freed = sum(found["freed_words"] for found in [*asked, one])
        if without(path, *names[:n + 1])["freed_words"] != freed:
            break
        asked.append(one)
    for n in range(len(asked)):
        program.let_go(owner + n)
    return asked, program.dump()


# HS_ALONE: one after the other, for the table of docs/answers.md.
MOST_TOGETHER = 1 if os.environ.get("HS_ALONE") else 5
wrong = n = n_reserved = n_dumps = 0
print(f"{'program':10} {'owner':44} {'foretold':>9} {'freed':>9}  reserve")
for number, line in enumerate(open(f"{work}/programs")):
    program = Program(number, line.split())
    path = program.dump()
    words = ask(path)["heap"]["words"]
    let_go = let_go_of_place if program.name == "stripped" else let_go_of_some
    owner = 0
    while owner < len(program.owners):
        found, path = let_go(program, path, owner)
        words_before, words = words, ask(path)["heap"]["words"]
        freed, each = words_before - words, [one["freed_words"] for one in found]
        reserve = found[0]["reserve"]
        # What is allowed is a part of the least of them, not of their sum.
        most = max(freed, sum(each)) if len(found) == 1 else min(each)
        is_wrong = abs(sum(each) - freed) * MOST_PARTS > most and reserve is None
        n += len(found)
        n_reserved += reserve is not None
        wrong += is_wrong
        for name, foretold in zip(program.owners[owner:], each[:-1]):
            print(f"{program.name:10} {name[:44]:44} {foretold:9} {'+':>9}")
        rest = freed - sum(each[:-1])
        print(f"{program.name:10} {program.owners[owner + len(each) - 1][:44]:44} {each[-1]:9} "
              f"{rest:9}  {reserve or '-'}{'  WRONG' if is_wrong else ''}")
        owner += len(found)
    n_dumps += program.n_dumps
    program.process.kill()
    program.process.wait()
print(f"{n} owners, {n_reserved} with a reserve, {wrong} wrong without one; {n_dumps} dumps")
if n_reserved * 2 > n:
    raise SystemExit("a reserve that everything has says nothing")
sys.exit(wrong != 0)
PYTHON
