# parts: ocaml python import sql export record watch push report serve browse
# The man pages in docs/man are those that the option table makes, and are valid.
. "$(dirname "$0")/lib.sh"

# page NAME FILE: generated equals committed.
page()
{
    exits 0 help "man:$1"
    cmp -s "$work/out" "$SOURCE_DIR/docs/man/$2" ||
        fail "docs/man/$2 is not what the option table says: run scripts/man
$(diff -u "$SOURCE_DIR/docs/man/$2" "$work/out" | sed -n 1,20p)"
    for section in NAME SYNOPSIS; do
        grep -qx ".SH $section" "$work/out" || fail "$2: no section $section"
    done
    if command -v groff >/dev/null; then
        groff -man -ww -Tutf8 -z "$work/out" 2>"$work/err" || fail "groff: $(cat "$work/err")"
        [ ! -s "$work/err" ] || fail "groff: $(cat "$work/err")"
    fi
}
n=1
page heapsnap heapsnap.1
while read -r command; do
    page "$command" "heapsnap-$command.1"
    grep -q "heapsnap\\\\-$command" "$SOURCE_DIR/docs/man/heapsnap.1" ||
        fail "heapsnap.1 does not name $command"
    n=$((n + 1))
done < <("$HEAPSNAP" --help | sed -n 's/^  \([a-z]\+\) .*/\1/p' | grep -v '^heapsnap$')
[ "$(find "$SOURCE_DIR/docs/man" -name '*.1' | wc -l)" -eq $n ] || fail "docs/man has stray pages"
