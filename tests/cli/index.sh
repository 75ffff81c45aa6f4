# The index: beside the snapshot, else in the cache directory, else nowhere; rebuilt when damaged or
# of another snapshot, not otherwise.
. "$(dirname "$0")/lib.sh"

python <<'END'
from snapcli import *
a_snap().write()
random_snap(5, 40).write("other.snap")
END
snap=$work/heap.snap
exits 0 roots "$snap" --json
cp "$work/out" "$work/expected"
[ -f "$snap.idx" ] || fail "no index beside the snapshot"
[ "$(find "$work" -name '.heap.snap*' | wc -l)" -eq 0 ] || fail "a neighbour was left"

same_answer()
{
    exits 0 roots "$snap" --json
    cmp -s "$work/out" "$work/expected" || fail "$1: another answer"
}

# The second run uses it.
stamp=$(stat -c '%i %y' "$snap.idx")
same_answer "second run"
exits 0 index "$snap"
grep -qF "$snap.idx: already there" "$work/out" || fail "index does not see it: $(cat "$work/out")"
[ "$(stat -c '%i %y' "$snap.idx")" = "$stamp" ] || fail "the second run wrote the index again"
exits 0 index "$snap" --rebuild
grep -qF "$snap.idx: computed in " "$work/out" || fail "--rebuild does not: $(cat "$work/out")"
[ "$(stat -c '%i %y' "$snap.idx")" != "$stamp" ] || fail "--rebuild did not write"
cp "$snap.idx" "$work/first.idx"
exits 0 index "$snap" --rebuild
cmp -s "$snap.idx" "$work/first.idx" || fail "two builds give two indexes"

# check verifies it, too; a damaged one that nobody would use is told of.
exits 0 check "$snap"
grep -qxF "$snap.idx: sound" "$work/out" || fail "check says nothing of the index"
printf 'x' | dd of="$snap.idx" bs=1 seek=40 conv=notrunc status=none
exits 0 check "$snap"
says "'$snap.idx' is damaged or of another snapshot: it is not used, and made anew when needed"
! grep -q idx "$work/out" || fail "check finds a damaged index sound"
cp "$work/first.idx" "$snap.idx"

# A new snapshot takes the place of the one that it was of: nobody wonders why.
cp "$snap" "$work/taken.snap"
cp "$snap.idx" "$work/taken.snap.idx"
printf 'x' | dd of="$work/taken.snap.idx" bs=1 seek=40 conv=notrunc status=none
touch -d '2020-01-01' "$work/taken.snap.idx"
exits 0 roots "$work/taken.snap"
! grep -q "not used" "$work/err" || fail "what an older snapshot left is told: $(cat "$work/err")"

# Made by an older version, before there were sets: computed anew, and said so.
printf '\002\000\000\000' | dd of="$snap.idx" bs=1 seek=8 conv=notrunc 2>/dev/null
exits 0 roots "$snap"
says "'$snap.idx' is not used: it is of an older version"
cmp -s "$snap.idx" "$work/first.idx" || fail "the index of an older version was not computed again"
exits 0 roots "$snap"
! grep -q "not used" "$work/err" || fail "an index of this version is said to be older"

# Damaged: never trusted. Every place is tried, with a bit turned, a cut and a tail.
WORK=$work python <<'END'
from snapcli import *

path, index = os.path.join(WORK, "heap.snap"), os.path.join(WORK, "heap.snap.idx")
good = open(index, "rb").read()
expected = run("roots", path, "--json").json()


def answer(data, what, may_be_padding=False):
    with open(index, "wb") as file:
        file.write(data)
    equal(run("roots", path, "--json").json(), expected, f"{what}: another answer")
    run("dominators", path)
    run("types", path)
    found = open(index, "rb").read()
    if may_be_padding and found == data:
        return
    equal(len(found), len(good), f"{what}: not rebuilt")
    check(found == good, f"{what}: not rebuilt")


def turned():
    told = [place for place, byte in enumerate(good) if byte != 0] # little of it is padding
    tried = 0
    for place in sorted(set(range(0, len(good), max(1, len(good) // rounds(140)))) |
                        set(told[::max(1, len(told) // rounds(200))])):
        if good[place] == 0 and not any(good[max(0, place - 40):place + 40]):
            continue # most likely the padding between arrays
        data = bytearray(good)
        data[place] ^= 0x10
        answer(bytes(data), f"byte {place} of {len(good)}", may_be_padding=good[place] == 0)
        tried += 1
    check(tried > rounds(200), f"only {tried} places were tried")


def cut():
    for size in {0, 1, 7, 8, 64, 4096, len(good) // 2, len(good) - 1}:
        if size < len(good):
            answer(good[:size], f"cut at {size}")
    answer(good + b"tail", "a tail")
    answer(b"x" * len(good), "garbage")
    answer(b"\0" * len(good), "zeros")


def of_another():
    other = os.path.join(WORK, "other.snap")
    run("index", other)
    answer(open(other + ".idx", "rb").read(), "the index of another snapshot")


main(turned, cut, of_another)
END

# The snapshot changes under its old index.
cp "$work/other.snap" "$work/moved.snap"
cp "$snap.idx" "$work/moved.snap.idx"
exits 0 roots "$work/other.snap" --format tsv
cp "$work/out" "$work/expected.other"
exits 0 roots "$work/moved.snap" --format tsv
cmp -s "$work/out" "$work/expected.other" || fail "the index of another snapshot was believed"

# A directory in place of the index.
rm -f "$snap.idx"
mkdir "$snap.idx"
same_answer "a directory in the index's place"
rmdir "$snap.idx"

# A read-only directory: the cache directory, which is made when missing.
if [ "$(id -u)" -eq 0 ]; then
    command -v setpriv >/dev/null || skip "the rest: no setpriv"
    as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
else
    as=()
fi
chmod 755 "$work"
"${as[@]+"${as[@]}"}" test -x "$HEAPSNAP" || skip "the rest: nobody may not run $HEAPSNAP"
mkdir -m 755 "$work/ro"
cp "$snap" "$work/ro/heap.snap"
chmod 644 "$work/ro/heap.snap"
chmod 555 "$work/ro"
mkdir -m 777 "$work/home" "$work/xdg"
chmod 777 "$work/home" "$work/xdg"
sees()
{
    code=0
    "${as[@]+"${as[@]}"}" env -u XDG_CACHE_HOME -u HOME "$@" >"$work/out" 2>"$work/err" || code=$?
    [ $code -eq 0 ] || fail "$*: exit $code: $(cat "$work/err")"
}
for variables in "XDG_CACHE_HOME=$work/xdg" "HOME=$work/home"; do
    sees env "$variables" "$HEAPSNAP" index "$work/ro/heap.snap"
    grep -q "^$work/\(xdg\|home/.cache\)/heapsnap/.*: computed in" "$work/out" ||
        fail "not in the cache directory: $(cat "$work/out")"
    sees env "$variables" "$HEAPSNAP" index "$work/ro/heap.snap"
    grep -q ': already there' "$work/out" || fail "the cached index is not used: $(cat "$work/out")"
    [ "$(find "$work/xdg" "$work/home" -name '*.??????' -newer "$work/ro/heap.snap" -name '.*.*' \
        -type f | wc -l)" -eq 0 ] || fail "a neighbour was left"
done
[ "$(ls -A "$work/ro")" = heap.snap ] || fail "something was written to the read-only directory"
# Nowhere to keep it: the answer is the same, and index says so.
sees "$HEAPSNAP" roots "$work/ro/heap.snap"
grep -q TOTAL "$work/out" || fail "no answer without a place for the index"
sees "$HEAPSNAP" index "$work/ro/heap.snap"
mentions 'could not be kept'
sees env XDG_CACHE_HOME=relative "$HEAPSNAP" index "$work/ro/heap.snap"
mentions 'could not be kept'
