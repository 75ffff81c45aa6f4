#!/usr/bin/env bash
# What a program has itself it keeps alone, though a library of which nothing is known was given it:
# in a record behind a handle, in a variable of its own, in a key of a thread. A variable that is a
# handle keeps what is behind it, though a call that runs holds another one that leads there. What
# only the library has it keeps. Without debug information of the program nobody can tell, and all
# of them do. Of two handles of one library that lead to the same, a rule says which only finds it.
. "$(dirname "$0")/_native.sh"
need gcc

gcc -O1 -shared -fPIC -o "$work/libstrangers.so" "$fixtures/strangers_library.c" -pthread ||
    fail "building the library"
strip "$work/libstrangers.so"

# check WHAT KEPT: `db` keeps its nodes alone (yes), or not.
check()
{
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "$1: roots"
    python3 - "$work" "$1" "$2" <<'PYTHON' || fail "$1"
import json, sys
work, what, alone = sys.argv[1:]
roots = json.load(open(work + "/roots.json"))
owns = {name: int(words) for word, words, name in
        (line.split() for line in open(work + "/log") if line.startswith("OWNS"))}
keeps, tiers = {}, {}
for root in roots["roots"]:
    name = "library" if (root["module"] or "").startswith("libstrangers") else root["name"]
    keeps[name] = keeps.get(name, 0) + root["retained_words"]
    tiers.setdefault(name, set()).add(root["tier"])
print(f"{what}: {[(name, keeps.get(name)) for name in owns]}, attributed "
      f"{roots['attributed_words']} of {roots['heap']['reachable_words']}")
bad = []
if (keeps.get("db") == owns["db"]) != (alone == "yes"):
    bad.append(f"db keeps {keeps.get('db')} words of {owns['db']}")
if keeps.get("handle") != owns["handle"]:
    bad.append(f"handle keeps {keeps.get('handle')} words of {owns['handle']}")
if keeps.get("library") != owns["library"]:
    bad.append(f"the library keeps {keeps.get('library')} words of {owns['library']}")
if tiers["library"] != ({"firm", "runtime"} if alone == "yes" else {"firm"}):
    bad.append(f"the library's variables are {tiers['library']}")
print("\n".join("FAILED: " + text for text in bad))
sys.exit(bad != [])
PYTHON
}

# streams CLIENTS LOOP: so many words `clients` and `loop` keep alone, of 40 streams of 3 KiB each.
streams()
{
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "roots"
    python3 - "$work" "$@" <<'PYTHON' || fail "streams: $*"
import json, sys
work, of_clients, of_loop = sys.argv[1:]
roots = json.load(open(work + "/roots.json"))["roots"]
keeps = {name: sum(root["retained_words"] for root in roots if root["name"].startswith(name))
         for name in ("clients", "loop")}
print("streams:", keeps)
sys.exit(not (eval(of_clients, {}, {"n": keeps["clients"]}) and
              eval(of_loop, {}, {"n": keeps["loop"]})))
PYTHON
}

for options in "-g -O0" "-g -O2" "-O0"; do
    # shellcheck disable=SC2086
    gcc $options -o "$work/strangers" "$fixtures/strangers.c" -L"$work" -lstrangers \
        -Wl,-rpath,"$work" || fail "building"
    start "$work/strangers"
    rm -f "$work"/heap.snap.idx
    dump
    case $options in
    -g*)
        check "$options" yes
        streams "n == 0" "n < 100"
        printf 'heapsnap-rules 1\ntype "loop" pointers find\n' >"$work/loop.rules"
        rm -f "$work"/heap.snap.idx
        dump --rules "$work/loop.rules"
        streams "n > 40 * 3000 / 8" "0 < n < 100"
        check "$options with a rule" yes
        ;;
    *) check "$options" no ;;
    esac
    leave
done
