# Who may dump whose process: users, capabilities, files that are not theirs, programs that forbid
# it, filters. What the system allows works; each refusal says what it is.
. "$(dirname "$0")/_where.sh"

build "$work/app"
gcc -O1 -o "$work/bin/where_filter" "$fixtures/where_filter.c"
chmod 755 "$work/bin/where_filter"

# Another user's process, with CAP_SYS_PTRACE alone, and without.
start $as_target "$work/app/where"
dumps "$as_tracer" "$pid" all
notes_nothing_of "from memory"
agrees "$as_tracer" "$pid"
judged user ok "it belongs to user $TARGET_USER and you are user $TOOL_USER"
judged capability ok "CAP_SYS_PTRACE is held"
refused "$as_other" "$pid" user "it belongs to user $TARGET_USER and you are user $TOOL_USER" \
    "as that user or as root"
judged capability warning "not held, and would be needed"
# The same user, and root without the one capability.
dumps "$as_target" "$pid" all
agrees "$as_target" "$pid"
judged capability ok "not held, and not needed"
refused "setpriv --inh-caps=-sys_ptrace --bounding-set=-sys_ptrace" "$pid" capability \
    "this root lacks CAP_SYS_PTRACE" "--cap-add SYS_PTRACE"
# Filters of our own.
if "$work/bin/where_filter" ptrace true; then
    refused "$work/bin/where_filter ptrace" "$pid" seccomp "forbids heapsnap to call ptrace" \
        "seccomp=unconfined"
    dumps "$work/bin/where_filter readv" "$pid" all
    agrees "$work/bin/where_filter readv" "$pid"
    judged seccomp warning "forbids process_vm_readv"
else
    echo "left out: filters of our own: the kernel has none"
fi
leave

# Files that only their owner may read: what is loaded of them is as good, but for local names.
build "$work/app700"
chown -R $TARGET_USER "$work/app700"
chmod 500 "$work/app700/where" "$work/app700/libwhere.so"
start $as_target "$work/app700/where"
dumps "$as_tracer" "$pid" exported
notes "'libwhere.so' is read from memory, without its local names"
notes "'where' is read from memory, without its local names"
agrees "$as_tracer" "$pid"
judged binaries warning "is read from memory"
chmod 700 "$work/app700" # and a directory that nobody else may enter
dumps "$as_tracer" "$pid" exported
dumps "$as_target" "$pid" all
dumps "" "$pid" all
leave

# It forbids to be looked at.
start $as_target "$work/app/where" undumpable
refused "$as_target" "$pid" dumpable "it is not dumpable" "as root"
dumps "" "$pid" all
agrees "" "$pid"
judged dumpable ok "CAP_SYS_PTRACE overrides that"
dumps "$as_tracer" "$pid" all
leave

# Set-user-id: started by one user, runs as another.
build "$work/suid" -DSUID "-Wl,-rpath,$work/suid"
chown $TARGET_USER "$work/suid/where"
chmod 4755 "$work/suid/where"
start $as_other "$work/suid/where"
if [ "$(awk '/^Uid:/ {print $3}' "/proc/$pid/status")" = $TARGET_USER ]; then
    refused "$as_other" "$pid" user \
        "it runs as user $TARGET_USER (set-user-id), started by you, user $TOOL_USER" "as root"
    dumps "" "$pid" all
    dumps "$as_tracer" "$pid" all
else
    echo "left out: set-user-id programs: they are not allowed on this file system"
fi
leave

# A /proc that hides what is not ours.
start $as_target "$work/app/where"
hiding="unshare -m sh -c 'mount -t proc -o hidepid=2 proc /proc && exec \"\$@\"' sh"
if eval "$hiding $as_other sh -c '[ ! -e /proc/$pid ]'" 2>/dev/null; then
    # shellcheck disable=SC2016
    printf '#!/bin/sh\nmount -t proc -o hidepid=2 proc /proc && exec "$@"\n' >"$work/bin/hiding"
    chmod 755 "$work/bin/hiding"
    refused "unshare -m $work/bin/hiding $as_other" "$pid" process \
        "it exists, but /proc does not show it" "hidepid"
else
    echo "left out: hidepid: this kernel hides for all mounts or none"
fi
leave
echo "all users had their answers"
