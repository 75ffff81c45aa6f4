# Sourced by the tests of native programs: builds a fixture, starts it, dumps it.
. "$SOURCE_DIR/tests/live/_target.sh"
need python3

# dump [OPTIONS...]: into $work/heap.snap; the target must live on.
dump()
{
    "$HEAPSNAP" dump "$pid" -o "$work/heap.snap" "$@" 2>"$work/talk" ||
        { cat "$work/talk"; fail "dump"; }
    kill -0 "$pid" || fail "the target did not survive the dump"
    "$HEAPSNAP" check "$work/heap.snap" >/dev/null || fail "check"
}

# types_are WHAT: as many objects of each type as the program said ("TYPE 3 struct a", "TYPE 3 a or
# b", as compilers call it) or, after TYPE_AT_LEAST, more.
types_are()
{
    "$HEAPSNAP" types "$work/heap.snap" --json -n 0 >"$work/types.json" || fail "types"
    python3 - "$work/log" "$work/types.json" "$1" <<'PYTHON' || fail "types of $1"
import json, sys
wrong, found = 0, {}
for row in json.load(open(sys.argv[2]))["types"]:
    found[row["type"]] = found.get(row["type"], 0) + row["objects"]
for line in open(sys.argv[1]):
    word, *rest = line.split(None, 2)
    if not word.startswith("TYPE"):
        continue
    there, names = int(rest[0]), rest[1].strip().split(" or ")
    n = sum(found.get(name, 0) for name in names)
    if n != there if word == "TYPE" else n < there:
        print(f"{sys.argv[3]}: {n} of {rest[1].strip()}, there are {there}")
        wrong += 1
print(f"{sys.argv[3]}: {', '.join(f'{n} {name}' for name, n in sorted(found.items())[:12])}")
sys.exit(wrong != 0)
PYTHON
}

# owned WHAT [BUT]...: each variable keeps by itself what the program said ("OWNS 1400 queue"), but
# for those that are named.
owned()
{
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "$1: roots"
    python3 - "$work/roots.json" "$work/log" "$@" <<'PYTHON' || fail "$1"
import json, sys
roots, log, what, *but = sys.argv[1:]
keeps = {}
for root in json.load(open(roots))["roots"]:
    name = root["name"].split()[-1].split(".")[0] # and its members
    keeps[name] = keeps.get(name, 0) + root["retained_words"]
said = [line.split() for line in open(log) if line.startswith("OWNS")]
said = [line for line in said if line[2] not in but]
bad = [f"{name} keeps {keeps.get(name, 0)} words, not {words}"
       for _, words, name in said if keeps.get(name, 0) != int(words)]
print(f"{what}: {len(said)} variables")
print("\n".join("FAILED: " + text for text in bad))
sys.exit(bad != [] or not said)
PYTHON
}

# rust_compilers: the paths of those there are, one of each version.
rust_compilers()
{
    local rustc version seen=" "
    for rustc in $(type -a -p rustc); do
        version=$("$rustc" --version) || continue
        [ "${seen/"$version"/}" = "$seen" ] || continue
        seen="$seen $version"
        echo "$rustc"
    done
}
