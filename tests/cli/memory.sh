# --memory, --spill-dir, --threads and -v: what cannot be done is refused before it is begun, both
# engines give the same bytes, a full disk and an interruption leave everything whole.
. "$(dirname "$0")/lib.sh"

# A million blocks: a list over all of them, every third with a pointer anywhere else.
snap=$work/heap.snap
n_blocks=1000000
awk -v n=$n_blocks 'BEGIN {
    OFS = "\t"; n_tree = 8; at = 1
    print "root", 0, 0, 0, "-", 0, "all roots"
    print "root", 0, 1, 0, "-", 0, "globals"
    print "root", 1, 2, 0, "-", 0, "prog"
    print "root", 2, 3, 0, "-", 0, "Main"
    for (i = 0; i < 4; i++)
        print "root", 3, 5, 0, n_tree + int(n / 5 * i), 0, "Main.v" i
    for (i = 0; i < 300; i++)
        print "type", "t" i, 0, 0
    for (i = 0; i < n; i++) {
        print "block", 4096 + 32 * i, 3, i % 7 ? i % 3 : i % 300, 0
        if (i + 1 < n)
            print "edge", n_tree + i + 1, 0, 0
        at = (at * 48271) % 2147483647
        if (i % 3 == 0)
            print "edge", n_tree + at % n, 1, 0
    }
}' | "$MAKE_SNAP" "$snap"
cp "$snap" "$work/as.dumped"

whole()
{
    cmp -s "$snap" "$work/as.dumped" || fail "$1: the snapshot was changed"
}

# What stands beside the snapshot: nothing, or no more than is said.
left()
{
    local found
    found=$(cd "$work" && ls -A |
        { grep -vxE 'heap.snap(.keys|.types)?|as.dumped|out|err|cache|reference|spill' || true; } |
        sort | xargs)
    [ "$found" = "$1" ] || fail "found '$found' in place of '$1'"
}

# ---- sizes, and what is too little: exit 6 with the figures, and nothing is begun

for wrong in 12Q 1.5 -1 '' 0x10 1GG; do
    exits 2 index "$snap" "--memory=$wrong"
    says "--memory: '$wrong' is not a size"
    hints "write digits and k, M, G, T or Ki, Mi, Gi, Ti, for example 512Mi or 1.5GiB"
done
for wrong in 0 257; do
    exits 2 index "$snap" --threads $wrong
    mentions "^heapsnap: --threads: '$wrong' is not from 1 to 256\$"
done
for little in 0 1 1000k 15999999; do
    exits 6 index "$snap" --memory $little
    mentions "^heapsnap: --memory $little is too little: .* less than 16M\$"
    left ''
done
exits 6 index "$snap" --memory 20Mi
mentions 'an index of [0-9]+ nodes needs [0-9.]+ MiB of memory, 20.0 MiB are allowed$'
hints 'allow more with --memory'
exits 6 roots "$snap" --memory 20000kB
mentions 'needs [0-9.]+ MiB of memory'
left ''

# ---- -v says what will be done, and what was

exits 0 index "$snap" -v --memory 1GiB --threads 1
mib='[0-9.]+ MiB'
mentions "^heapsnap: plan: index of 1000008 nodes and [0-9]+ edges, computed in memory: $mib of "\
"memory \(limit 1.0 GiB\), at most 0 B of disk \(temporary files in '$work'\), some $mib for the "\
"index, 1 threads, some [0-9]+ s\$"
mentions '^heapsnap: memory: at most [0-9.]+ MiB were taken of the limit of 1.0 GiB$'
jemalloc='jemalloc at the end: .* allocated, .* active, .* resident, .* mapped'
mentions "^heapsnap: memory: ($jemalloc|built without jemalloc.*)\$"
mentions '^heapsnap: memory: at most [0-9.]+ MiB were resident \(VmHWM\)'
mv "$snap.idx" "$work/reference"
exits 0 index "$snap"
[ ! -s "$work/err" ] || fail "talk without -v: $(cat "$work/err")"
cmp -s "$snap.idx" "$work/reference" || fail "two builds give two indexes"
exits 0 roots "$snap" -v
! grep -q plan "$work/err" || fail "a plan for an index that is there"

# ---- both engines, the same bytes; and every command in little memory

for size in 36Mi 40M; do
    threads=$([ $size = 40M ] && echo 2 || echo 1)
    exits 0 index "$snap" --rebuild -v --memory $size --threads "$threads"
    mentions 'computed by passes over files'
    cmp -s "$snap.idx" "$work/reference" || fail "$size: another index"
done
exits 0 index "$snap" --rebuild --memory 36Mi --progress always
mentions "^heapsnap: [a-z' ]+, pass [0-9]+ of 12, [0-9]+ %\$"
! grep -vE "^heapsnap: [a-z' ]+(, pass [0-9]+ of 12)?(, [0-9]+ %)?\$" "$work/err" ||
    fail "other talk than progress: $(cat "$work/err")"
left 'heap.snap.idx'
for command in roots types dominators leaks info "paths --to #700000" "object #500000" \
    "object root:Main.v2" "roots --group-by thread" "types --sort words" samples "check"; do
    name=${command%% *}
    rest=${command#"$name"}
    # shellcheck disable=SC2086
    exits 0 "$name" "$snap" $rest --memory 32Mi
    cp "$work/out" "$work/reference.out"
    # shellcheck disable=SC2086
    exits 0 "$name" "$snap" $rest
    cmp -s "$work/out" "$work/reference.out" || fail "$command: another answer in little memory"
    rm "$work/reference.out"
done
exits 0 check "$snap"
grep -qF "$snap.idx: sound" "$work/out" || fail "check says nothing of the index"

# ---- where temporary files go

rm "$snap.idx"
mkdir "$work/spill"
exits 0 index "$snap" -v --memory 34Mi --spill-dir "$work/spill"
mentions "temporary files in '$work/spill'"
[ -z "$(ls -A "$work/spill")" ] || fail "left in the spill directory: $(ls -A "$work/spill")"
exits 5 index "$snap" --rebuild --spill-dir "$work/none"
says "cannot write temporary files to '$work/none': No such file or directory"
exits 5 index "$snap" --rebuild --spill-dir "$snap"
mentions "cannot write temporary files to '$snap'"
cmp -s "$snap.idx" "$work/reference" || fail "the index that was there is gone"
if [ "$(id -u)" -eq 0 ]; then
    mkdir "$work/spill/tiny"
    if mount -t tmpfs -o size=1m tmpfs "$work/spill/tiny" 2>/dev/null; then
        rm "$snap.idx"
        exits 5 index "$snap" --memory 34Mi --spill-dir "$work/spill/tiny" || true
        umount -l "$work/spill/tiny"
        mentions '^heapsnap: cannot compute .*(do not fit in|No space left on device)'
        left ''
        whole 'a full disk'
        exits 0 index "$snap" --memory 34Mi
    fi
    rmdir "$work/spill/tiny" 2>/dev/null || true
fi
cmp -s "$snap.idx" "$work/reference" || fail "another index after a full disk"

# ---- interrupted: exit 130, and the next run goes on

rm "$snap.idx"
was_resumed=no
interrupted=0
for tenth in 3 8 13 18 25 32; do
    rm -f "$snap".idx*
    "$HEAPSNAP" index "$snap" --memory 34Mi --threads 1 >"$work/out" 2>"$work/err" &
    pid=$!
    started+=("$pid")
    sleep "$(printf '%d.%d' $((tenth / 10)) $((tenth % 10)))"
    kill -INT "$pid" 2>/dev/null || true
    code=0
    wait "$pid" || code=$?
    [ $code -ne 0 ] || break # done before it was interrupted
    if [ $code -eq 130 ] && [ ! -s "$work/err" ]; then
        continue # it had not yet begun to listen
    fi
    [ $code -eq 130 ] || fail "interrupted: exit $code: $(cat "$work/err")"
    mentions '^heapsnap: cannot compute the index of .*: interrupted while '
    interrupted=$((interrupted + 1))
    whole "interrupted after $tenth tenths"
    if [ -e "$snap.idx.part" ]; then
        left 'heap.snap.idx.part'
        was_resumed=yes
    else
        left ''
    fi
    exits 0 index "$snap" --memory 34Mi
    cmp -s "$snap.idx" "$work/reference" || fail "resumed after $tenth tenths: another index"
    left 'heap.snap.idx'
done
[ $interrupted -gt 0 ] || fail "nothing was interrupted"
echo "interrupted $interrupted times; a part file was there: $was_resumed"

# A part file that is damaged, or of another snapshot, is not gone on with.
if [ $was_resumed = yes ]; then
    for tenth in 10 18; do
        rm -f "$snap".idx*
        timeout -s INT "$((tenth / 10)).$((tenth % 10))" "$HEAPSNAP" index "$snap" --memory 34Mi \
            --threads 1 >/dev/null 2>&1 || true
        [ -e "$snap.idx.part" ] || continue
        python "$snap.idx.part" $tenth <<'END'
import random, sys
path = sys.argv[1]
random.seed(int(sys.argv[2]))
data = bytearray(open(path, "rb").read())
for _ in range(20):
    data[random.randrange(min(len(data), 1 << 20))] ^= 0x55
open(path, "wb").write(data)
END
        exits 0 index "$snap" --memory 34Mi
        cmp -s "$snap.idx" "$work/reference" || fail "a damaged part was believed"
        left 'heap.snap.idx'
    done
fi
whole 'at the end'
