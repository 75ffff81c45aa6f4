# parts: export
# export --to parquet: where tables lie, whatever host and service are called; which ones; what is
# refused; the same bytes twice. What is in them is for tests/oracles/fleet.sh to read.
. "$(dirname "$0")/lib.sh"

export SNAP=$work/heap.snap
python <<'END'
from snapcli import *
s = a_snap()
s.facts["taken_ns"] = 1795467552123456789
s.facts["command"] = "/opt/my shop/bin/server --password=secret"
s.write()
s.facts["taken_ns"] = 0
s.facts["command"] = ""
s.write("untold.snap")
END

# tree: what lies below $work/fleet, and that each table is whole.
tree()
{
    (cd "$work/fleet" && find . -type f | LC_ALL=C sort)
    for file in $(find "$work/fleet" -name '*.parquet' | tr ' ' '?'); do
        [ "$(head -c 4 $file)$(tail -c 4 $file)" = PAR1PAR1 ] || fail "$file is not whole"
    done
}
# lies WHERE TABLES: all of them and nothing else.
lies()
{
    for table in $2; do
        echo "./$1/$table.parquet"
    done | LC_ALL=C sort >"$work/expected"
    tree >"$work/found"
    diff "$work/expected" "$work/found" || fail "the layout"
    rm -rf "$work/fleet"
}
all="snapshots keys roots sets types leaks blocks"
when=time=20261123T205912.123456789Z

exits 0 export "$SNAP" --to parquet -o "$work/fleet" --host web-1 --service shop
[ "$(stat -c %a "$work/fleet/host=web-1/service=shop/$when")" = 700 ] || fail "the directory's mode"
[ "$(stat -c %a "$work/fleet/host=web-1/service=shop/$when/roots.parquet")" = 600 ] ||
    fail "the file's mode"
cp -r "$work/fleet" "$work/first"
lies "host=web-1/service=shop/$when" "$all"
exits 0 export "$SNAP" --to parquet -o "$work/fleet" --host web-1 --service shop --threads 1
diff -r "$work/fleet" "$work/first" || fail "two runs differ"
# Into what is there: it is replaced.
exits 0 export "$SNAP" --to parquet -o "$work/fleet" --host web-1 --service shop
diff -r "$work/fleet" "$work/first" || fail "the second time differs"
rm -rf "$work/fleet"

# By default it is this machine, and the program without its directory and arguments.
exits 0 export "$SNAP" --to parquet -o "$work/fleet" --tables roots,types
lies "host=$(uname -n)/service=my/$when" "roots types"
exits 0 export "$work/untold.snap" --to parquet -o "$work/fleet" --host h --tables sets
lies "host=h/service=unknown/time=unknown" sets
grep -rq secret "$work/first" && fail "arguments of the program are told"

# Names lead nowhere.
name()
{
    exits 0 export "$SNAP" --to parquet -o "$work/fleet" --host "$1" --service "$1" --tables roots
    lies "host=$2/service=$2/$when" roots
}
name a/b 'a%2Fb'
name ../../etc '%2E.%2F..%2Fetc'
name .. '%2E.'
name . '%2E'
name host=x 'host%3Dx'
name $'a\nb' 'a%0Ab'
name 'a b%20' 'a%20b%2520'
name 'é' '%C3%A9'
name $'\xff' '%FF'
name NULL '%4EULL'
name null '%6Eull'
name nullable 'nullable'
name __HIVE_DEFAULT_PARTITION__ '%5F_HIVE_DEFAULT_PARTITION__'
name "'; drop table x; --" '%27%3B%20drop%20table%20x%3B%20--'
name "$(printf 'x%.0s' {1..200})" "$(printf 'x%.0s' {1..200})"

refuses()
{
    exits 2 export "$SNAP" --to parquet -o "$work/fleet" "$@"
    [ -z "$(ls -A "$work/fleet" 2>/dev/null)" ] || fail "left: $(find "$work/fleet")"
}
refuses --host ""
says "the host has no name"
hints "--host NAME"
refuses --service "$(printf '/%.0s' {1..100})"
says "the service's name is too long: 100 bytes"
refuses --tables roots,trees
says "'trees' is not a value of --tables"
exits 2 export "$SNAP" --to parquet
says "'export --to parquet' writes several files and needs -o DIR"

# A directory that cannot be made, a damaged snapshot: nothing is there afterwards.
echo x >"$work/file"
exits 5 export "$SNAP" --to parquet -o "$work/file"
rm -rf "$work/fleet"
mkdir "$work/fleet"
python <<'END'
import os
snap = open(os.environ["SNAP"], "rb").read()
for at in range(60, len(snap), 97):
    damaged = bytearray(snap)
    damaged[at] ^= 0x5a
    open(os.environ["WORK"] + f"/damaged.{at}", "wb").write(damaged)
END
for damaged in "$work"/damaged.*; do
    exits 4 export "$damaged" --to parquet -o "$work/fleet"
    [ -z "$(ls -A "$work/fleet")" ] || fail "$damaged left: $(find "$work/fleet")"
done
exits 4 export /dev/null --to parquet -o "$work/fleet"
exit 0
