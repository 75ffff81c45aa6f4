# The memory of a dump is foreseen: what a watcher sees of it at the most lies near what was told.
. "$(dirname "$0")/_target.sh"
need gcc python3
[ -z "${SANITIZED:-}" ] || [ "$SANITIZED" = OFF ] ||
    { echo "skipped: sanitizers take memory of their own"; exit 77; }

gcc -g -O1 -o "$work/blocks" "$fixtures/held_blocks.c" || fail "building"
jemalloc=$(jemalloc_library)

# mib NUMBER UNIT
mib()
{
    awk -v n="$1" -v unit="$2" \
        'BEGIN { print unit == "GiB" ? 1024 * n : unit == "KiB" ? n / 1024 : n }'
}

# near NAME PID: a dump of a process that is ready.
near()
{
    local foreseen seen unit
    "$HEAPSNAP" dump "$2" -v -o "$work/heap.snap" 2>"$work/talk" ||
        { cat "$work/talk"; fail "$1: dump"; }
    read -r foreseen unit < <(sed -nE \
        's/.*memory: foreseen about ([0-9.]+) ([KMG]iB) for .*/\1 \2/p' "$work/talk")
    foreseen=$(mib "$foreseen" "$unit")
    read -r seen unit < <(sed -nE 's/.*at most ([0-9.]+) ([KMG]iB) were resident.*/\1 \2/p' \
        "$work/talk")
    seen=$(mib "$seen" "$unit")
    awk -v f="$foreseen" -v s="$seen" 'BEGIN { exit !(f >= 0.8 * s && f <= 1.7 * s) }' ||
        fail "$1: $foreseen MiB were foreseen, $seen MiB were resident"
    echo "$1: $foreseen MiB were foreseen, $seen MiB were resident"
}

# blocks NAME N [PRELOADED]
blocks()
{
    start env LD_PRELOAD="${3:-}" "$work/blocks" "$2"
    near "$1" "$pid"
    stop_target
}

blocks "glibc, 1,000 blocks" 1000
blocks "glibc, 1 million blocks" 1000000
[ -z "$jemalloc" ] || blocks "jemalloc, 1 million blocks" 1000000 "$jemalloc"

# One array is all there is, in no order: its columns are longer than any other's.
gcc -O1 -g -o "$work/one_array" "$fixtures/one_array.c" || fail "building"
start "$work/one_array" 12000000
near "one array" "$pid"
stop_target

cat >"$work/held.py" <<'END'
import sys
held = [{"number": i, "list": [i]} for i in range(200000)]
print("READY", flush=True)
sys.stdin.read()
END
start python3 "$work/held.py"
near python "$pid"
stop_target

if command -v coqtop >/dev/null; then
    mkfifo "$work/said"
    coqtop -q <"$work/said" >"$work/answers" 2>&1 &
    pid=$!
    exec 9>"$work/said"
    echo "Eval compute in 20 + 22." >&9
    for _ in $(seq 600); do
        grep -q "= 42" "$work/answers" && break
        sleep 0.1
    done
    grep -q "= 42" "$work/answers" || fail "coqtop does not answer"
    near coqtop "$pid"
    stop_target
fi
