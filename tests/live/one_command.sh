#!/usr/bin/env bash
# A look takes a process, by number or by name, or a core: it is dumped into a file that is named
# after it, that replaces nothing, and that a process cannot choose the place of.
. "$(dirname "$0")/_native.sh"
need cc gcore

cat >"$work/grower.c" <<'EOC'
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
struct order {
    struct order *next;
    long id[6];
};
static struct order *backlog;
static void grow(int n)
{
    for (int i = 0; i < n; i++) {
        struct order *one = calloc(1, sizeof *one);
        one->next = backlog;
        one->id[0] = i;
        backlog = one;
    }
}
int main(int argc, char **argv)
{
    if (argc > 1)
        prctl(PR_SET_NAME, argv[1]);
    grow(20000);
    puts("READY");
    fflush(stdout);
    while (getchar() != EOF)
        grow(20000);
    return 0;
}
EOC
name=grow$$ # of nobody else's
cc -g -O1 -o "$work/$name" "$work/grower.c" || fail "building"
mkdir "$work/here"
cd "$work/here" || exit 1

# ask EXIT WORDS...: heapsnap, with what it says in $work/said and its talk in $work/talk.
ask()
{
    local code=0 expected=$1
    shift
    "$HEAPSNAP" "$@" >"$work/said" 2>"$work/talk" || code=$?
    [ "$code" = "$expected" ] || { cat "$work/said" "$work/talk"; fail "exit $code of $*"; }
}

start "$work/$name"
ask 0 suspects "$pid"
tr -s ' \n' '  ' <"$work/said" | grep -q ' backlog ([^)]*) alone keeps .* 20000 struct order' ||
    { cat "$work/said"; fail "the first sentence"; }
grep -q "the snapshot is '$name.$pid.snap'" "$work/talk" || { cat "$work/talk"; fail "not told"; }
"$HEAPSNAP" check "$name.$pid.snap" >/dev/null || fail "the file"
before=$(cksum <"$name.$pid.snap")
ask 0 roots "$name" --json
grep -q '"snapshot": "'"$name.$pid.2.snap"'"' "$work/said" ||
    fail "by name: $(head -c 300 "$work/said")"
[ "$(cksum <"$name.$pid.snap")" = "$before" ] || fail "the first snapshot was replaced"
kill -0 "$pid" || fail "the target did not survive"
ask 0 dump "$name" -o "$work/named.snap"
"$HEAPSNAP" check "$work/named.snap" >/dev/null || fail "dump by name"
ask 0 doctor "$name"
echo "by number and by name: dumped, told, nothing replaced"

# Where names are to be had is said of what has none, unless a server was asked.
case " $PARTS " in
*" debuginfod "*)
    fetched="fetched with DEBUGINFOD_URLS"
    tr -s ' \n' '  ' <"$work/talk" | grep -q "$fetched" && fail "it has debug information"
    strip -o "$work/bare$$" "$work/$name"
    "$work/bare$$" <"$work/input" >"$work/log.bare" &
    bare=$!
    until grep -q READY "$work/log.bare"; do sleep 0.05; done
    ask 0 suspects "$bare"
    tr -s ' \n' '  ' <"$work/talk" | grep -q "$fetched" || { cat "$work/talk"; fail "no server"; }
    export DEBUGINFOD_URLS=file:///nonexistent
    ask 0 suspects "$bare"
    export DEBUGINFOD_URLS=
    ! grep -q "are fetched" "$work/talk" || fail "a server was asked"
    kill "$bare"
    wait "$bare" 2>/dev/null || true
    rm -f "bare$$".*
    ;;
esac

cd /sys || exit 1 # where nobody can make a file
ask 5 suspects "$pid"
grep -q '^hint: ask from a directory where you may write' "$work/talk" ||
    { cat "$work/talk"; fail "no hint where to go"; }
cd "$work/here" || exit 1

# A file of that name is what is meant.
cp "$name.$pid.snap" "$name"
ask 0 types "$name" --json
grep -q '"snapshot": "'"$name"'"' "$work/said" || fail "a file comes first"
[ "$(echo ./*.snap | wc -w)" = 2 ] || fail "a dump beside a file of that name"
rm "$name"

# Twice: it grows when it is written to, as soon as the first snapshot is there.
rm -f ./*.snap*
(until [ -e "$name.$pid.snap" ]; do sleep 0.05; done; echo >&9) &
ask 0 suspects "$pid" --again 3s --json
python3 - "$work/said" <<'PYTHON' || fail "--again"
import json, sys
said = json.load(open(sys.argv[1]))
first = said["suspects"][0]
sys.exit(not (first["list"] == "growing" and "backlog" in first["holder"] and
              said["snapshot"].endswith(".2.snap")) and f"not so: {first}")
PYTHON
ask 2 suspects "$name.$pid.snap" --again 1s
grep -q -- "--again: '.*' is no process" "$work/talk" || fail "--again of a file"
echo "--again: what grew leads"

gcore -o "$work/core" "$pid" >"$work/log.gcore" 2>&1 || fail "gcore"
ask 0 types "$work/core.$pid" --json
grep -q '"type": "struct order"' "$work/said" || fail "a core"
[ -s "core.$pid.snap" ] || fail "the snapshot of a core: $(ls)"
for packer in zstd lz4; do
    command -v $packer >/dev/null || continue
    $packer -q -c "$work/core.$pid" >"$work/core.$packer" || fail "$packer"
    ask 0 types "$work/core.$packer" --json
    grep -q '"type": "struct order"' "$work/said" || fail "a core, packed by $packer"
done

mkfifo "$work/second"
"$work/$name" <"$work/second" >"$work/log.second" &
second=$!
exec 8>"$work/second"
until grep -q READY "$work/log.second"; do sleep 0.05; done
for command in suspects "dump -o $work/named.snap" "watch -o $work/series"; do
    # shellcheck disable=SC2086
    ask 2 $command "$name"
    grep -q "$pid $work/$name" "$work/talk" && grep -q "$second $work/$name" "$work/talk" ||
        { cat "$work/talk"; fail "$command: several are listed"; }
done
exec 8>&-
wait "$second"
leave

start "$work/$name" '../x y*'
ask 0 info "$pid"
[ -s "_._x_y_.$pid.snap" ] || fail "a process that calls itself ../x y*: $(ls . ..)"
leave
ask 5 suspects "no$name"
