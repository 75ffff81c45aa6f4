# Containers, from outside and from inside: mount, pid and user namespaces.
. "$(dirname "$0")/_where.sh"
need chroot

unshare -mpf --mount-proc true 2>/dev/null ||
    { echo "skipped: namespaces cannot be made here"; exit 77; }

# A root of its own: the program and its libraries exist nowhere else under these names.
root=$work/root
build "$root/app"
mkdir -p "$root/proc"
for file in $(ldd "$root/app/where" | grep -o '/[^ ]*' | grep -v where); do
    mkdir -p "$root$(dirname "$file")"
    cp -L "$file" "$root$file"
done
chmod -R a+rX "$root"
mkdir -p "$root/usr/bin"
cp "$(command -v setpriv)" "$root/usr/bin/" # with its libraries
for file in $(ldd "$root/usr/bin/setpriv" | grep -o '/[^ ]*'); do
    mkdir -p "$root$(dirname "$file")"
    [ -e "$root$file" ] || cp -L "$file" "$root$file"
done

# The host's number of what `start unshare ...` started, which says READY with its inner one.
inner_of()
{
    host=$pid
    for _ in 1 2; do
        child=$(pgrep -P "$host" | sed -n 1p || true)
        [ -z "$child" ] || host=$child
    done
    inner=$(sed -n 's/^READY //p' "$work/log")
}

# ---- from outside
start unshare -mpf --kill-child --mount-proc="$root/proc" chroot "$root" /app/where
inner_of
[ "$inner" = 1 ] || fail "it is number $inner inside"
dumps "" "$host" all
notes_nothing_of "from memory"
dumps "$as_tracer" "$host" all
agrees "" "$host"
judged pid_namespace ok "1 below, where its number is 1"
stop_target

# With a user namespace, too: who made it has all capabilities in it, and root anyway.
if $as_target unshare -Ur true 2>/dev/null; then
    start $as_target unshare -Urmpf --kill-child --mount-proc="$root/proc" chroot "$root" /app/where
    inner_of
    dumps "" "$host" all
    dumps "$as_target" "$host" all
    agrees "$as_target" "$host"
    judged capability ok "also in its user namespace, which is yours"
    refused "$as_other" "$host" user "and you are user $TOOL_USER" "as that user or as root"
    stop_target
    # The other way round: root of a namespace is nobody outside of it.
    start $as_target "$root/app/where"
    refused "unshare -Ur" "$pid" capability "in which your capabilities do not count" \
        "from the host"
    leave
else
    echo "left out: user namespaces: users may not make them here"
fi

# A number that only a container knows.
far=$(($(cat /proc/sys/kernel/pid_max) - 2))
while [ -e "/proc/$far" ] && [ "$far" -gt 30000 ]; do far=$((far - 7)); done
cat >"$work/bin/far" <<'END'
#!/bin/sh
echo $(($1 - 1)) >/proc/sys/kernel/ns_last_pid || exit 77
exec 3<&0
"$2" <&3 &
wait
END
chmod 755 "$work/bin/far"
if unshare -mpf --mount-proc "$work/bin/far" "$far" true 2>/dev/null; then
    start unshare -mpf --kill-child --mount-proc "$work/bin/far" "$far" "$root/app/where"
    inner=$(sed -n 's/^READY //p' "$work/log")
    host=$(grep -l "^NSpid:.*[[:space:]]$inner\$" /proc/[0-9]*/status 2>/dev/null |
        head -1 | tr -dc 0-9 || true)
    if [ -e "/proc/$inner" ]; then
        echo "left out: a number inside only: $inner is also one here"
    else
        refused "" "$inner" process "'where' has that number inside a container" \
            "heapsnap dump $host"
        dumps "" "$host" all
    fi
    stop_target
else
    echo "left out: a number inside only: it cannot be chosen here"
fi

# ---- from inside
# inside DUMP-ARGUMENTS...: a heapsnap in the namespaces of $host.
inside()
{
    nsenter -t "$host" -m -p "$@"
}
cat >"$work/bin/init" <<'END'
#!/bin/sh
# Number 1 of a pid namespace, and a sibling of it.
exec 3<&0
"$1" <&3 &
exec "$1"
END
chmod 755 "$work/bin/init"
need nsenter
start unshare -mpf --kill-child --mount-proc "$work/bin/init" "$root/app/where"
for _ in $(seq 600); do
    [ "$(grep -c '^READY' "$work/log")" -lt 2 ] || break
    sleep 0.1
done
sibling=$(sed -n 's/^READY //p' "$work/log" | grep -vx 1 | sed -n 1p)
grep -qx 'READY 1' "$work/log" || fail "no number 1: $(cat "$work/log")"
host=$(pgrep -P "$pid" | sed -n 1p || true)
for inner in 1 "$sibling"; do
    rm -f "$work/out/heap.snap" "$work/out/heap.snap.idx"
    inside "$work/bin/heapsnap" dump "$inner" -o "$work/out/heap.snap" 2>"$work/out/talk" ||
        fail "dump of $inner from inside: $(cat "$work/out/talk")"
    "$HEAPSNAP" roots "$work/out/heap.snap" --json >"$work/roots"
    grep -q '"retained_words": 11000' "$work/roots" || fail "the list is missing: inside, $inner"
    grep -q '"where_local"' "$work/roots" || fail "names are missing: inside, $inner"
    inside "$work/bin/heapsnap" doctor "$inner" --json >"$work/out/stdout" ||
        fail "doctor of $inner from inside: $(cat "$work/out/stdout")"
    judged pid_namespace ok "in the pid namespace of heapsnap"
done
kill -0 "$host" || fail "number 1 did not survive"
# The host's numbers mean nothing inside.
its_root=/proc/$host/root
if [ ! -e "$its_root/proc/$host" ]; then
    code=0
    inside "$work/bin/heapsnap" dump "$host" -o "$work/out/never.snap" 2>"$work/out/talk" || code=$?
    [ "$code" -eq 3 ] || fail "the host's number inside: exit $code"
    grep -q "no such process" "$work/out/talk" || fail "$(cat "$work/out/talk")"
    grep -q "numbers differ" "$work/out/talk" || fail "$(cat "$work/out/talk")"
fi
stop_target

# A /proc that counts otherwise than ptrace would show one process and stop another.
start "$root/app/where"
refused "unshare -pf --kill-child" "$pid" process "/proc belongs to another pid namespace" \
    "mount -t proc"
leave
echo "all namespaces had their answers"
