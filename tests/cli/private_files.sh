# parts: import export
# Whatever heapsnap writes is for its owner alone, or for whom --mode and --group say; and nothing
# that another user puts in its way is followed, filled, told or believed.
. "$(dirname "$0")/lib.sh"

python <<'END'
from snapcli import *
a_snap().write()
END
snap=$work/heap.snap
pristine=$work/pristine
cp "$snap" "$pristine"

# is FILE MODE
is()
{
    local found
    found=$(stat -c %04a "$1")
    [ "$found" = "$2" ] || fail "$1 has mode $found in place of $2"
}

# The program that is dumped: any will do.
sleep 1000 &
target=$!
started+=("$target")
can_dump=yes
heapsnap dump "$target" -o "$work/tried"
[ "$code" -ne 3 ] || can_dump=no
[ $can_dump = no ] || is "$work/tried" 0600

# What it holds of the target goes into no core of ours: it waits for its reader with all of it.
[ $can_dump = no ] || {
    mkfifo "$work/in"
    : >"$work/ready"
    python3 -c 'kept = [object() for _ in range(200000)]; print("READY", flush=True); input()' \
        <"$work/in" >"$work/ready" &
    big=$!
    started+=("$big")
    exec 9>"$work/in"
    for _ in $(seq 600); do ! grep -q READY "$work/ready" || break; sleep 0.1; done
    grep -q READY "$work/ready" || fail "the process to be dumped does not get ready"
    mkfifo "$work/pipe"
    (ulimit -S -c unlimited && exec "$HEAPSNAP" dump "$big") >"$work/pipe" 2>"$work/talk" &
    dumping=$!
    started+=("$dumping")
    exec 8<"$work/pipe"
    core=
    for _ in $(seq 600); do
        core=$(awk '/^Max core file size/ { print $5 }' "/proc/$dumping/limits" 2>/dev/null || true)
        ! [ "$core" = 1 ] || break
        [ "$core" != 0 ] || break # a hard limit of nothing
        sleep 0.1
    done
    [ "$core" = 1 ] || [ "$core" = 0 ] || fail "its core may be $core bytes"
    cat <&8 >"$work/dumped"
    exec 8<&- 9>&-
    wait "$dumping" || fail "the dump: $(cat "$work/talk")"
    exits 0 check "$work/dumped"
}

# all FILE_MODE DIRECTORY_MODE OPTIONS...: every command that writes, with these.
all()
{
    local file=$1 directory=$2 at=$work/all
    shift 2
    rm -rf "$at" "$work/cache"
    mkdir -m 700 "$at"
    cp "$pristine" "$at/heap.snap"
    exits 0 index "$at/heap.snap" "$@"
    is "$at/heap.snap.idx" "$file"
    rm "$at/heap.snap.idx"
    exits 0 roots "$at/heap.snap" -o "$at/list" "$@" # makes the index on its way
    is "$at/heap.snap.idx" "$file"
    is "$at/list" "$file"
    exits 0 info "$at/heap.snap" --json -o "$at/info" "$@"
    is "$at/info" "$file"
    exits 0 export "$at/heap.snap" --to v8 -o "$at/js" "$@"
    is "$at/js" "$file"
    exits 0 export "$at/heap.snap" --to graph -o "$at/graph" "$@"
    is "$at/graph" "$directory"
    is "$at/graph/nodes.tsv" "$file"
    is "$at/graph/edges.tsv" "$file"
    exits 0 import --from v8 "$at/js" -o "$at/imported" "$@"
    is "$at/imported" "$file"
    [ $can_dump = no ] || {
        exits 0 dump "$target" -o "$at/dumped" "$@"
        is "$at/dumped" "$file"
    }
}
for mask in 000 022 077; do
    umask $mask
    all 0600 0700
    all 0640 0750 --mode 0640
    all 0644 0755 --mode 644
    all 0640 0750 --group "$(id -g)"
    all 0660 0770 --group "$(id -gn)" --mode 0660
done
umask 022

# The cache directory, and an index in it.
mkdir "$work/ro"
cp "$pristine" "$work/ro/heap.snap"
umask 000
if [ "$(id -u)" -ne 0 ]; then
    chmod 555 "$work/ro"
    rm -rf "$work/cache"
    exits 0 index "$work/ro/heap.snap"
    is "$work/cache" 0700
    is "$work/cache/heapsnap" 0700
    is "$(echo "$work"/cache/heapsnap/*.idx)" 0600
fi
umask 022

# What replaces a file has nothing of its mode.
echo old >"$work/list"
chmod 666 "$work/list"
exits 0 roots "$snap" -o "$work/list"
is "$work/list" 0600

# Words that are none.
for mode in 8 64 0888 1777 4755 u=rw -1 07777 ''; do
    exits 2 roots "$snap" -o "$work/list" "--mode=$mode"
    mentions '^heapsnap: --mode: .* is not a mode$'
    mentions '^hint: three octal digits'
done
for group in no-such-group 4294967295 -1 ''; do
    exits 2 roots "$snap" -o "$work/list" "--group=$group"
    mentions '^heapsnap: --group: there is no group'
done

# ---- what others do; it takes root to be two users

[ "$(id -u)" -eq 0 ] || { echo "the rest is left out: it takes root"; exit 0; }
command -v setpriv >/dev/null || { echo "the rest is left out: no setpriv"; exit 0; }
other=65534
chmod 755 "$work"
as_other()
{
    setpriv --reuid $other --regid $other --clear-groups "$@"
}
as_other test -x "$HEAPSNAP" ||
    { echo "the rest is left out: others may not run heapsnap"; exit 0; }

# A group that one is not in.
mkdir -m 777 "$work/shared"
cp "$pristine" "$work/shared/heap.snap"
chmod 644 "$work/shared/heap.snap"
code=0
as_other "$HEAPSNAP" roots "$work/shared/heap.snap" -o "$work/shared/list" --group 0 \
    >"$work/out" 2>"$work/err" || code=$?
[ $code -eq 5 ] || fail "--group 0 of nobody: exit $code"
mentions "^heapsnap: cannot give '.*' to group 0: Operation not permitted\$"
mentions "^hint: a file can be given to a group that one is in"
[ ! -e "$work/shared/list" ] || fail "a file that could not be given was left"
[ -z "$(find "$work/shared" -name '.*' -type f)" ] || fail "a neighbour was left"
rm -f "$work/shared"/*.idx*

# Links, pipes and files of another in a directory that all may write to.
secret=$work/secret
echo precious >"$secret"
chmod 600 "$secret"
for bits in 777 1777; do
    rm -rf "$work/shared"
    mkdir -m $bits "$work/shared"
    chmod $bits "$work/shared"
    cp "$pristine" "$work/shared/heap.snap"
    as_other ln -s "$secret" "$work/shared/list"
    for command in "roots $snap" "export $snap --to v8"; do
        # shellcheck disable=SC2086
        exits 5 $command -o "$work/shared/list"
        mentions "^heapsnap: cannot write '.*/list': "
    done
    [ "$(cat "$secret")" = precious ] || fail "another's link was followed"
    rm "$work/shared/list"
    as_other mkfifo -m 666 "$work/shared/list"
    timeout 60 "$HEAPSNAP" roots "$snap" -o "$work/shared/list" >"$work/out" 2>"$work/err" &&
        fail "a pipe of another was written to"
    mentions "it is another user's pipe|Permission denied"
    rm "$work/shared/list"
    as_other touch "$work/shared/list"
    as_other chmod 666 "$work/shared/list"
    exits 0 roots "$snap" -o "$work/shared/list"
    [ "$(stat -c '%u %a' "$work/shared/list")" = "0 600" ] || fail "another's file was filled"

    # The same beside the snapshot, where an index goes.
    for name in heap.snap.idx heap.snap.idx.part; do
        at=$work/shared/$name
        for kind in link pipe file directory; do
            rm -rf "$work/shared"/heap.snap.idx* "$work/cache"
            case $kind in
            link) as_other ln -s "$secret" "$at" ;;
            pipe) as_other mkfifo -m 666 "$at" ;;
            file) as_other touch "$at"; as_other chmod 666 "$at" ;;
            directory) as_other mkdir -m 777 "$at" ;;
            esac
            timeout 100 "$HEAPSNAP" roots "$work/shared/heap.snap" >"$work/answer" 2>"$work/err" ||
                fail "$bits $name $kind: exit $?: $(cat "$work/err")"
            cmp -s "$work/answer" <("$HEAPSNAP" roots "$snap") || fail "$bits $name $kind: wrong"
            [ "$(cat "$secret")" = precious ] || fail "$bits $name $kind: a link was followed"
            rm -rf "$at"
        done
    done

    # An index that is sound, of this snapshot, and another user's: it is not believed.
    rm -rf "$work/shared"/heap.snap.idx* "$work/cache"
    chmod 644 "$work/shared/heap.snap"
    (cd / && as_other "$HEAPSNAP" index "$work/shared/heap.snap") >/dev/null || fail "as another"
    [ "$(stat -c %u "$work/shared/heap.snap.idx")" = $other ] || fail "whose index is it?"
    exits 0 index "$work/shared/heap.snap"
    grep -q ': computed in' "$work/out" || fail "another's index was believed: $(cat "$work/out")"
    # ... but its maker's own snapshot comes with it.
    rm -rf "$work/shared"/heap.snap.idx* "$work/cache"
    chown $other "$work/shared/heap.snap"
    (cd / && as_other "$HEAPSNAP" index "$work/shared/heap.snap") >/dev/null || fail "as another"
    exits 0 index "$work/shared/heap.snap"
    grep -q ': already there' "$work/out" || fail "the snapshot's owner is not believed"
done

# A part file that others may write to is of no use, whoever owns it.
rm -rf "$work/shared"
mkdir -m 777 "$work/shared"
cp "$pristine" "$work/shared/heap.snap"
touch "$work/shared/heap.snap.idx.part"
chmod 666 "$work/shared/heap.snap.idx.part"
before=$(stat -c '%i' "$work/shared/heap.snap.idx.part")
exits 0 index "$work/shared/heap.snap"
is "$work/shared/heap.snap.idx" 0600
[ "$(stat -c %i "$work/shared/heap.snap.idx")" != "$before" ] || fail "others have the index open"
cmp -s "$snap" "$pristine" || fail "the snapshot was changed"
