#!/usr/bin/env bash
# Small limits from outside, on addresses and of control groups: exit 6 and a message, never a
# crash and never killed; and who is short of memory loses us before the target.
. "$(dirname "$0")/lib.sh"
command -v cc >/dev/null || skip "no compiler"
cd "$work"

cat >list.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct node { struct node *next; char rest[100]; };
struct node *head;
int main(int argc, char **argv)
{
    for (int i = atoi(argv[1]); argc > 1 && i > 0; i--) {
        struct node *node = malloc(sizeof *node);
        memset(node, i, sizeof *node);
        node->next = head;
        head = node;
    }
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}
C
cc -g -O1 -o list list.c || fail "building"
./list 300000 >ready &
target=$!
started+=("$target")
for _ in $(seq 600); do grep -q ready ready && break; sleep 0.1; done
heapsnap dump "$target" -o heap.snap
[ "$code" -eq 0 ] || skip "nothing can be dumped here: $(cat err)"

# ends_well WHERE COMMAND...: done, or over a limit with a message; by the loader: its own message.
ends_well()
{
    local where=$1
    shift
    case $code in
    0) return ;;
    6) [ -s err ] || fail "$where: $*: exit 6 and not a word" ;;
    127) grep -q "error while loading shared libraries" err || fail "$where: $*: $(cat err)" ;;
    *) fail "$where: $*: exit $code: $(cat err)" ;;
    esac
}
commands=("version" "dump $target -o again.snap" "index heap.snap" "roots heap.snap"
    "paths heap.snap --to root:head" "info heap.snap")

# --- ulimit -v ---
done_at=0
for mb in 10 15 20 25 30 35 40 45 50 60 80 100 150 200; do
    for command in "${commands[@]}"; do
        rm -rf heap.snap.* "$XDG_CACHE_HOME"
        code=0
        # shellcheck disable=SC2086
        (ulimit -v ${mb}000 && exec "$HEAPSNAP" $command) >out 2>err || code=$?
        ends_well "ulimit -v ${mb}000" "$command"
        [ "$code" -ne 0 ] || done_at=$mb
    done
done
[ "$done_at" -ge 150 ] || fail "nothing worked under any limit"
(ulimit -v 20000 && exec "$HEAPSNAP" version) >out 2>err || true
grep -qE "cannot begin: the limits of this process|error while loading" err || fail "$(cat err)"
code=0
(ulimit -d 30000 && exec "$HEAPSNAP" dump "$target" -o again.snap) >out 2>err || code=$?
[ "$code" -eq 6 ] || fail "ulimit -d: exit $code: $(cat err)"
mentions "'ulimit -d' of this process allows no more"

# --- 16M are 16 MB ---
exits 0 info heap.snap --memory 16M
exits 6 info heap.snap --memory 15M
mentions "nothing can be done with less than 16M"

# --- what is short of memory loses us first ---
if has_part watch; then
    "$HEAPSNAP" watch "$target" --every 1h -o series >out 2>err &
    watch=$!
    started+=("$watch")
    for _ in $(seq 600); do [ "$(cat /proc/$watch/oom_score_adj)" = 1000 ] && break; sleep 0.1; done
    [ "$(cat "/proc/$watch/oom_score_adj")" = 1000 ] || fail "watch is not the first to go"
    kill -TERM "$watch"
    wait "$watch" || true
fi

# --- control groups, v2 or v1 ---
group=
for place in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/memory; do
    if [ -w "$place/cgroup.procs" ] && mkdir "$place/heapsnap.$$" 2>/dev/null; then
        group=$place/heapsnap.$$
        for limit in memory.max memory.limit_in_bytes; do
            [ ! -w "$group/$limit" ] || break 2
        done
        rmdir "$group"
        group=
    fi
done
if [ -z "$group" ]; then
    echo "NOT TRIED: control groups (none with a memory limit can be made here)" >&2
    kill -0 "$target" || fail "the target is gone"
    exit 0
fi
trap 'cleanup; sleep 0.2; rmdir "$group" || true' EXIT
done_at=0
for mb in 6 8 12 16 24 32 40 64 128; do
    echo $((mb << 20)) >"$group/$limit"
    for command in "${commands[@]}"; do
        rm -rf heap.snap.* "$XDG_CACHE_HOME"
        code=0
        # shellcheck disable=SC2086,SC3028
        (echo "$BASHPID" >"$group/cgroup.procs" && exec "$HEAPSNAP" $command) >out 2>err ||
            code=$?
        ends_well "a group of $mb MiB" "$command"
        [ "$code" -ne 0 ] || done_at=$mb
        [ "$mb ${command%% *}" != "24 dump" ] || mentions "the control group of this process"
    done
done
[ "$done_at" -ge 128 ] || fail "nothing worked in any group"

# --- one that shares its limit with us, and has little left: nobody is killed for a look ---
echo $((100 << 20)) >"$group/$limit"
(echo "$BASHPID" >"$group/cgroup.procs" && exec ./list 400000 >shared) & # 46 MiB
shared=$!
started+=("$shared")
for _ in $(seq 600); do grep -q ready shared && break; sleep 0.1; done
for mb in 60 64 68 72 80; do
    echo $((mb << 20)) >"$group/$limit"
    for command in "doctor $shared" "dump $shared -o again.snap"; do
        code=0
        # shellcheck disable=SC2086,SC3028
        (echo "$BASHPID" >"$group/cgroup.procs" && exec "$HEAPSNAP" $command) >out 2>err ||
            code=$?
        [ "$code" -le 6 ] || fail "in its group of $mb MiB: $command: exit $code: $(cat err)"
        kill -0 "$shared" || fail "in its group of $mb MiB: $command: the target is gone"
    done
done
kill "$shared"
wait "$shared" 2>/dev/null || true
kill -0 "$target" || fail "the target is gone"
