# index --memory keeps its word at every MiB: what is refused is refused at once, with how much is
# needed; what is begun comes to its end, with the same bytes. HS_LONG=1 for every MiB of all sizes,
# from what is refused to where all is in memory.
. "$(dirname "$0")/lib.sh"

snap=$work/heap.snap

# The MiB that a refusal names.
needed()
{
    sed -nE 's/.*an index of [0-9]+ nodes needs (at least )?([0-9.]+) MiB of memory, .*/\2/p' \
        "$work/err" | awk '{ print int($1) }'
}

refused()
{
    exits 6 index "$snap" -v --memory "$1Mi"
    hints "allow more with --memory"
    mentions '^heapsnap: memory: at most 12.0 MiB were taken'
    # The plan that -v tells asks for as much.
    local asked
    asked=$(sed -nE 's/.* an index of .* needs ((at least )?[0-9.]+ MiB) of .*/\1/p' "$work/err")
    mentions "^heapsnap: plan: index of .*: $asked of memory \\(limit $1.0 MiB\\), "
    [ ! -e "$snap.idx" ] && [ ! -e "$snap.idx.part" ] || fail "$1 MiB: something was begun"
}

# bytes PATTERN: the size that it finds in the talk, in bytes.
bytes()
{
    sed -nE "s/$1/\1/p" "$work/err" | tr -d ' iB' | numfmt --from=iec
}

# Temporary files: never more than was announced, and that at most 1.3 times what there was.
disk_held()
{
    local announced used
    announced=$(bytes '.* at most ([0-9.]+ [KMG]?i?B) of disk \(temporary files .*')
    used=$(bytes '.*: temporary files: at most ([0-9.]+ [KMG]?i?B) at a time')
    awk -v a="$announced" -v u="$used" 'BEGIN { exit !(u <= a && a <= 1.3 * u) }' ||
        fail "$1: $announced bytes of disk were announced, $used taken"
}

# At `limit` MiB: all of it, by passes as long as that is what there is memory for.
done_at()
{
    exits 0 index "$snap" -v --memory "$1Mi"
    cmp -s "$snap.idx" "$work/whole.idx" || fail "$1 MiB: other bytes"
    rm "$snap.idx"
}

# What a watcher sees, mapped files and code included, stays under the limit.
resident_under()
{
    local resident
    [ -z "${SANITIZED:-}" ] || [ "$SANITIZED" = OFF ] || return 0
    resident=$(sed -nE 's/.*: at most ([0-9.]+) MiB were resident.*/\1/p' "$work/err")
    awk -v r="$resident" -v l="$1" 'BEGIN { exit !(r <= l) }' ||
        fail "$2: $resident MiB were resident under a limit of $1 MiB"
    echo "$2: $resident MiB were resident under a limit of $1 MiB"
}

for blocks in 300000 ${HS_LONG:+1000000} 3000000; do
    "$BUILD_DIR/bin/make_heap" $blocks "$snap" >/dev/null
    exits 0 index "$snap" --memory 4GiB
    mv "$snap.idx" "$work/whole.idx"

    # The least that can be, before the graph is looked at; then what it takes.
    refused 17
    least=$(needed)
    [ -n "$least" ] || fail "$blocks blocks at 17 MiB: no figure: $(cat "$work/err")"
    at=$((least > 20 ? 20 : least - 1))
    refused $at
    enough=$(needed)
    [ "$enough" -ge "$least" ] || fail "$blocks blocks: $least MiB, then $enough MiB"
    [ $blocks != 3000000 ] || [ "$enough" -le $((8 * blocks / 1048576 + 12)) ] ||
        fail "$blocks blocks need $enough MiB: more than 8 bytes each and 12 MiB"

    every=1
    last=$((enough + 1000))
    in_memory=0
    if [ -z "${HS_LONG:-}" ]; then
        [ $blocks = 300000 ] && last=$((enough + 8)) || last=$((enough + 3))
        [ $blocks != 3000000 ] || last=$enough
    fi
    for limit in $(seq $((at + 1)) $every $((enough - 1))); do
        refused "$limit"
        [ "$(needed)" -eq "$enough" ] || fail "$limit MiB: needs $(needed), not $enough"
    done
    for limit in $(seq "$enough" $every $last); do
        done_at "$limit"
        if grep -q 'computed in memory' "$work/err"; then
            [ $in_memory -ne 0 ] || echo "$blocks blocks: in memory from $limit MiB"
            in_memory=$((in_memory + 1))
            [ $in_memory -lt 3 ] || break
        fi
        [ "$limit" -eq "$enough" ] || continue
        disk_held "$blocks blocks at $limit MiB"
        resident_under "$limit" "$blocks blocks"
        # The plan is not far above what was taken.
        mentions 'computed by passes'
        taken=$(sed -nE 's/.*: at most ([0-9.]+) MiB were taken.*/\1/p' "$work/err")
        awk -v p="$enough" -v t="$taken" 'BEGIN { exit !(p <= 1.15 * t) }' ||
            fail "$blocks blocks: $enough MiB were asked for, $taken MiB taken"
    done
    [ -z "${HS_LONG:-}" ] || [ $in_memory -eq 3 ] || fail "$blocks blocks: never in memory"
    if [ -z "${SANITIZED:-}" ] || [ "$SANITIZED" = OFF ]; then
        cp "$work/whole.idx" "$snap.idx"
        exits 0 types "$snap" -v --memory 32Mi
        mentions ': at most ([0-9]|[12][0-9]|3[01])(\.[0-9])? MiB were resident'
        rm "$snap.idx"
    fi
    echo "$blocks blocks: $enough MiB are asked for, $taken MiB were taken"

    # What -v counts of temporary files is what the system sees of them: a disk of what was told
    # before is enough, one that has a page of each file less than was taken is not.
    [ $blocks = 300000 ] && [ "$(id -u)" -eq 0 ] || continue
    mkdir -p "$work/spill"
    for part in announced used; do
        exits 0 index "$snap" -v --rebuild --memory "$enough"Mi
        size=$(bytes '.* at most ([0-9.]+ [KMG]?i?B) of disk \(temporary files .*')
        [ $part = announced ] || size=$(($(bytes \
            '.*: temporary files: at most ([0-9.]+ [KMG]?i?B) at a time') * 98 / 100 - 65536))
        mount -t tmpfs -o size="$size" tmpfs "$work/spill" 2>/dev/null || break
        code=$([ $part = announced ] && echo 0 || echo 5)
        "$HEAPSNAP" index "$snap" --rebuild --memory "$enough"Mi --spill-dir "$work/spill" \
            >"$work/out" 2>"$work/err" && found=0 || found=$?
        umount -l "$work/spill"
        [ $found -eq "$code" ] || fail "a disk of $size bytes: exit $found: $(cat "$work/err")"
        echo "a disk of $size bytes ($part): exit $found"
    done
    rm -f "$snap".idx*
done

# Cycles that are entered at several places: known to be most of the graph only after it was sifted,
# and searched from a file then. What is accepted works, also where every root reaches all of it,
# and where thousands reach most of a graph without cycles, each from another place.
for shape in ladder:0 ring:0 random:2000 forward:6000; do
    "$BUILD_DIR/bin/make_cycles" "${shape%:*}" 600000 "${shape#*:}" "$snap"
    exits 0 index "$snap" --memory 4GiB
    mv "$snap.idx" "$work/whole.idx"
    refused 20
    enough=$(needed)
    refused $((enough - 1))
    for limit in "$enough" ${HS_LONG:+$((enough + 2))}; do
        done_at "$limit"
        mentions 'computed by passes'
        [ "${shape%:*}" = forward ] || disk_held "$shape at $limit MiB"
        resident_under "$limit" "$shape"
    done
    echo "$shape: $enough MiB"
done

# In memory, too, what is resident stays under the limit where thousands of roots share most of it.
"$BUILD_DIR/bin/make_cycles" forward 300000 10000 "$snap"
exits 0 index "$snap" -v --memory 48Mi
mentions 'computed in memory'
resident_under 48 'in memory'
mentions 'at most 0 B of disk'
mentions ': temporary files: at most 0 B at a time'
