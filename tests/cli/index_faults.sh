# An index by passes, and an import, that are killed at any moment, meet a full disk, are run twice
# at once or lose their snapshot to another: the right bytes or none, and nothing left behind but
# the part file that the next run goes on with.
. "$(dirname "$0")/lib.sh"

snap=$work/heap.snap
n_blocks=500000
memory=26Mi
n_turns=${HS_LONG:+18}
n_turns=${n_turns:-12}
n_imports=${HS_LONG:+6}
n_imports=${n_imports:-4}
n_races=4
# What is killed leaves no report of a sanitizer; what ends well has one of each kind.
[ -z "${SANITIZED:-}" ] || { n_turns=6 n_imports=2 n_races=2; }

# made SEED FILE
made()
{
    awk -v n=$n_blocks -v at="$1" 'BEGIN {
        OFS = "\t"; n_tree = 5
        print "root", 0, 0, 0, "-", 0, "all roots"
        print "root", 0, 1, 0, "-", 0, "globals"
        print "root", 1, 2, 0, "-", 0, "prog"
        print "root", 2, 3, 0, "-", 0, "Main"
        print "root", 3, 5, 0, n_tree, 0, "Main.v"
        print "type", "t", 0, 0
        for (i = 0; i < n; i++) {
            print "block", 4096 + 32 * i, 3, 0, 0
            if (i + 1 < n)
                print "edge", n_tree + i + 1, 0, 0
            at = (at * 48271) % 2147483647
            if (i % 3 == 0)
                print "edge", n_tree + at % n, 1, 0
        }
    }' | "$MAKE_SNAP" "$2"
}

# Not a function: what is started in the background is what is killed.
by_passes=("$HEAPSNAP" index "$snap" --memory $memory --spill-dir "$work/spill" --threads 1)

# left NAMES: all that stands beside the snapshot.
left()
{
    local found
    found=$(cd "$work" && ls -A | grep -E '^(\.|heap\.snap.|imported)' |
        { grep -vxE 'heap\.snap\.(keys|types)' || true; } | sort | xargs || true)
    [ "$found" = "$1" ] || fail "found '$found' in place of '$1'"
    [ -z "$(ls -A "$work/spill")" ] || fail "left in the spill directory: $(ls -A "$work/spill")"
}

mkdir "$work/spill"
made 1 "$snap"
made 2 "$work/other"
cp "$snap" "$work/first"
for name in first other; do
    exits 0 index "$work/$name"
    mv "$work/$name.idx" "$work/$name.expected"
done
cmp -s "$work/first.expected" "$work/other.expected" && fail "two snapshots with one index"
began=$(date +%s%N)
"${by_passes[@]}" -v 2>"$work/talk" >"$work/out" || fail "by passes: $(cat "$work/talk")"
whole_ms=$((($(date +%s%N) - began) / 1000000 + 1))
grep -q 'computed by passes over files' "$work/talk" || fail "in memory: $(cat "$work/talk")"
cmp -s "$snap.idx" "$work/first.expected" || fail "by passes: another index"

# ---- killed, again and again, before one may end

rm "$snap.idx"
RANDOM=7
killed=0
parts=0
for turn in $(seq $n_turns); do
    [ $((turn % 6)) -ne 1 ] || rm -f "$snap".idx*
    "${by_passes[@]}" >/dev/null 2>"$work/talk" &
    pid=$!
    started+=("$pid")
    sleep "$(awk -v ms=$((RANDOM % whole_ms)) 'BEGIN { printf "%.3f", ms / 1000 }')"
    kill -KILL "$pid" 2>/dev/null || true
    code=0
    wait "$pid" 2>/dev/null || code=$?
    case $code in
    0)
        left heap.snap.idx
        whole_ms=$((whole_ms * 3 / 4 + 1)) # it took longer by chance: the next is killed earlier
        ;;
    137)
        killed=$((killed + 1))
        if [ -e "$snap.idx" ]; then # at the very end
            left heap.snap.idx
        elif [ -e "$snap.idx.part" ]; then
            parts=$((parts + 1))
            left heap.snap.idx.part
        else
            left ''
        fi
        ;;
    *) fail "turn $turn: exit $code: $(cat "$work/talk")" ;;
    esac
    cmp -s "$snap" "$work/first" || fail "turn $turn: the snapshot was changed"
    if [ $((turn % 3)) -eq 0 ]; then # else the next is killed over what this one left
        little=()
        [ $((turn % 2)) -ne 0 ] || little=(--memory $memory --spill-dir "$work/spill")
        exits 0 index "$snap" ${little[@]+"${little[@]}"}
        cmp -s "$snap.idx" "$work/first.expected" || fail "turn $turn: another index afterwards"
        left heap.snap.idx
        rm "$snap.idx"
    elif [ -e "$snap.idx" ]; then
        cmp -s "$snap.idx" "$work/first.expected" || fail "turn $turn: another index"
        rm "$snap.idx"
    fi
done
[ $killed -gt 0 ] || fail "nothing was killed in the middle"

# ---- imports that are killed

rm -f "$snap".idx*
exits 0 export "$snap" --to graph -o "$work/tables"
exits 0 export "$snap" --to v8 -o "$work/js"
rm -f "$snap".idx*
for from in graph v8; do
    source=$([ $from = graph ] && echo "$work/tables" || echo "$work/js")
    began=$(date +%s%N)
    exits 0 import --from $from "$source" -o "$work/imported"
    import_ms=$((($(date +%s%N) - began) / 1000000 + 1))
    mv "$work/imported" "$work/expected.$from"
    ended=0
    for turn in $(seq $n_imports); do
        rm -f "$work/imported"
        "$HEAPSNAP" import --from $from "$source" -o "$work/imported" 2>/dev/null &
        pid=$!
        started+=("$pid")
        sleep "$(awk -v ms=$((RANDOM % (import_ms * 5 / 4))) 'BEGIN { printf "%.3f", ms / 1000 }')"
        kill -KILL "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
        if [ -e "$work/imported" ]; then
            ended=$((ended + 1))
            cmp -s "$work/imported" "$work/expected.$from" || fail "$from: half a snapshot"
        fi
        # An anonymous neighbour may stay where the kernel has no files without names: its name is
        # the snapshot's own, so that it is seen.
        [ "$(ls -A "$work" | grep -c '^\.imported' || true)" -le $((turn)) ] || fail "files: $work"
    done
    rm -f "$work"/.imported* "$work/imported"
    exits 0 import --from $from "$source" -o "$work/imported"
    cmp -s "$work/imported" "$work/expected.$from" || fail "$from: another snapshot"
    echo "import $from: $((n_imports - ended)) of $n_imports killed in the middle"
    rm "$work/imported"
done

# ---- two at once

for turn in $(seq $n_races); do
    rm -f "$snap".idx*
    codes=
    "${by_passes[@]}" >"$work/out.1" 2>"$work/err.1" &
    one=$!
    started+=("$one")
    [ $((turn % 2)) -eq 0 ] || sleep 0.0$turn
    "${by_passes[@]}" >"$work/out.2" 2>"$work/err.2" &
    two=$!
    started+=("$two")
    wait "$one" || codes="first exits $?"
    wait "$two" || codes="$codes second exits $?"
    [ -z "$codes" ] || fail "two at once: $codes: $(cat "$work/err.1" "$work/err.2")"
    cmp -s "$snap.idx" "$work/first.expected" || fail "two at once: another index"
    left heap.snap.idx
done

# ---- another snapshot takes the place of the one that is read

for turn in $(seq $n_races); do
    rm -f "$snap".idx*
    cp "$work/first" "$snap"
    cp "$work/other" "$work/next"
    "${by_passes[@]}" >/dev/null 2>"$work/talk" &
    pid=$!
    started+=("$pid")
    sleep "$(awk -v ms=$((whole_ms * turn / 6)) 'BEGIN { printf "%.3f", ms / 1000 }')"
    mv "$work/next" "$snap"
    code=0
    wait "$pid" || code=$?
    [ $code -eq 0 ] || fail "replaced: exit $code: $(cat "$work/talk")"
    exits 0 index "$snap" # of the first, whichever is there, is never taken for the other's
    cmp -s "$snap.idx" "$work/other.expected" || fail "replaced: an index of what was there before"
    left heap.snap.idx
done
cp "$work/first" "$snap"
rm -f "$snap.idx"

# ---- full disks

# A disk without room for the index: the answer is given all the same, in little memory too, and the
# next place that can be written has it.
[ "$(id -u)" -eq 0 ] || { echo "full disks are left out: mounting needs root"; exit 0; }
tiny=$work/tiny
mkdir "$tiny"
if ! mount -t tmpfs -o size=8m,mode=700 tmpfs "$tiny" 2>/dev/null; then
    echo "full disks are left out: tmpfs cannot be mounted here"
    exit 0
fi
unmount()
{
    umount -l "$tiny" 2>/dev/null || true
    cleanup
}
trap unmount EXIT
exits 0 roots "$snap" -o "$work/roots"
rm -f "$snap.idx"
cp "$snap" "$tiny/heap.snap"
room=$(df --output=avail -k "$tiny" | tail -1)
for keep in 0 100 300; do
    rm -f "$tiny/ballast" "$tiny"/heap.snap.idx*
    dd if=/dev/zero of="$tiny/ballast" bs=1k count=$((room - keep)) status=none 2>/dev/null || true
    rm -rf "$work/cache"
    exits 0 roots "$tiny/heap.snap" --memory $memory --spill-dir "$work/spill" -o "$work/answer"
    cmp -s "$work/answer" "$work/roots" || fail "$keep KiB left: another answer"
    [ "$(ls -A "$tiny" | xargs)" = "ballast heap.snap" ] || fail "$keep KiB left: $(ls -A "$tiny")"
    cmp -s "$tiny/heap.snap" "$work/first" || fail "$keep KiB left: the snapshot was changed"
    cmp -s "$work/cache"/heapsnap/*.idx "$work/first.expected" || fail "$keep KiB left: the cache"
    exits 5 index "$tiny/heap.snap" --rebuild --memory $memory --spill-dir "$tiny"
    mentions 'do not fit in|No space left on device'
    [ "$(ls -A "$tiny" | xargs)" = "ballast heap.snap" ] || fail "$keep KiB left: $(ls -A "$tiny")"
    cmp -s "$tiny/heap.snap" "$work/first" || fail "$keep KiB left: the snapshot was changed"
    for from in graph v8; do
        source=$([ $from = graph ] && echo "$work/tables" || echo "$work/js")
        exits 5 import --from $from "$source" -o "$tiny/imported"
        mentions 'No space left on device'
        [ "$(ls -A "$tiny" | xargs)" = "ballast heap.snap" ] || fail "import: $(ls -A "$tiny")"
    done
done
left ''
echo "killed $killed times, a part file was left $parts times"
