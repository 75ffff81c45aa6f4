# Every write is checked: a closed or full standard output is exit 5 with a message, and -o leaves a
# whole file or none.
. "$(dirname "$0")/lib.sh"

python <<'END'
from snapcli import *
a_snap().write()
END
snap=$work/heap.snap
cp "$snap" "$work/pristine"

commands=(
    "roots $snap" "roots $snap --json" "roots $snap --format ndjson" "roots $snap --format tsv"
    "info $snap" "info $snap --json" "types $snap" "types $snap --json"
    "dominators $snap" "dominators $snap --json" "samples $snap" "samples $snap --json"
    "paths $snap --to 1234" "paths $snap --to 1234 --json"
    "object $snap 1234" "object $snap 1234 --json"
    "index $snap" "index $snap --rebuild" "check $snap"
    "help" "help roots" "help man:roots" "version" "--version" "-h" "roots -h" "roots --help"
    "completion bash" "completion zsh" "completion fish"
)
for command in "${commands[@]}"; do
    code=0
    # shellcheck disable=SC2086
    "$HEAPSNAP" $command >/dev/full 2>"$work/err" || code=$?
    [ $code -eq 5 ] || fail "$command >/dev/full: exit $code: $(cat "$work/err")"
    says "cannot write 'standard output': No space left on device"
    code=0
    "$HEAPSNAP" $command >&- 2>"$work/err" || code=$?
    [ $code -eq 5 ] || fail "$command >&-: exit $code: $(cat "$work/err")"
    says "cannot write 'standard output': Bad file descriptor"
    # Nobody can be told, and nothing may be written where the talk would have gone.
    code=0
    "$HEAPSNAP" $command >&- 2>&- <&- || code=$?
    [ $code -eq 5 ] || fail "$command with everything closed: exit $code"
done
cmp -s "$snap" "$work/pristine" || fail "the snapshot was written to"
rm -f "$snap.idx"
code=0
"$HEAPSNAP" index "$snap" --progress always 2>&- >"$work/out" || code=$?
[ $code -eq 0 ] || fail "index 2>&-: exit $code"
exits 0 index "$snap"
grep -q 'already there' "$work/out" || fail "the index was damaged by talk: $(cat "$work/out")"

# A reader that goes away is a failed write, not a silent death.
code=0
{ "$HEAPSNAP" completion bash 2>"$work/err" || echo $? >"$work/code"; } | true
[ ! -e "$work/code" ] || [ "$(cat "$work/code")" -eq 5 ] ||
    fail "a broken pipe: exit $(cat "$work/code")"

# -o: whole or not at all.
mkdir "$work/d"
echo old >"$work/d/list"
exits 0 roots "$snap" -o "$work/d/list"
grep -q TOTAL "$work/d/list" || fail "-o did not write"
[ "$(ls -A "$work/d")" = list ] || fail "a neighbour was left: $(ls -A "$work/d")"
echo old >"$work/d/list"
exits 4 roots "$SOURCE_DIR/README.md" -o "$work/d/list"
[ "$(cat "$work/d/list")" = old ] || fail "a failed command replaced the file"
exits 2 paths "$snap" --to 999999 -o "$work/d/list"
[ "$(cat "$work/d/list")" = old ] || fail "a failed command replaced the file"
[ "$(ls -A "$work/d")" = list ] || fail "a neighbour was left: $(ls -A "$work/d")"
exits 5 roots "$snap" -o "$work/no/such/directory/list"
mentions "^heapsnap: cannot create '$work/no/such/directory/list': No such file or directory\$"
exits 5 roots "$snap" -o "$work/d"
mentions "^heapsnap: cannot write '$work/d': it is a directory\$"
exits 5 roots "$snap" -o /dev/full
mentions "^heapsnap: cannot write '/dev/full': No space left on device\$"
ln -s list "$work/d/link"
exits 0 roots "$snap" -o "$work/d/link"
[ -L "$work/d/link" ] || fail "a link was replaced"
grep -q TOTAL "$work/d/list" || fail "the file behind the link was not written"
exits 3 dump 2147483647 -o "$work/d/heap.snap"
[ ! -e "$work/d/heap.snap" ] || fail "a failed dump left a file"

# A directory that may not be written.
if [ "$(id -u)" -eq 0 ]; then
    command -v setpriv >/dev/null || skip "the rest: no setpriv"
    as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
else
    as=()
fi
chmod 755 "$work"
chmod 555 "$work/d"
if ! "${as[@]+"${as[@]}"}" test -x "$HEAPSNAP"; then
    skip "the rest: nobody may not run $HEAPSNAP"
fi
code=0
"${as[@]+"${as[@]}"}" "$HEAPSNAP" roots "$snap" -o "$work/d/other" >"$work/out" 2>"$work/err" ||
    code=$?
[ $code -eq 5 ] || fail "-o in a read-only directory: exit $code"
says "cannot create '$work/d/other': Permission denied"
