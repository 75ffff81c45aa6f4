#!/usr/bin/env bash
# heapsnap-static needs nothing but itself: from a root that has no other file, no library and no
# device, it dumps a process outside and answers, with all names, what the other program answers.
source "$(dirname "$0")/lib.sh"
static=$BUILD_DIR/bin/heapsnap-static
[ -x "$static" ] || skip "no heapsnap-static in this build (scripts/static-libs, -DHS_STATIC=ON)"
! readelf -lW "$static" | grep 'INTERP\|DYNAMIC' >/dev/null || fail "it has a loader"

cat >"$work/stock.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
struct item {
    struct item *next;
    long price[5];
};
static struct item *items;
static int serve(struct item *local)
{
    puts("READY");
    fflush(stdout);
    getchar();
    return local->price[0] != 0;
}
int main(void)
{
    for (int i = 0; i < 3000; i++) {
        struct item *one = calloc(1, sizeof *one);
        one->next = items;
        items = one;
    }
    struct item *kept = calloc(1000, sizeof *kept);
    int told = serve(kept);
    free(kept);
    return told;
}
C
"${CC:-cc}" -g -O0 -o "$work/stock" "$work/stock.c" || fail "building"
mkfifo "$work/input"
"$work/stock" <"$work/input" >"$work/log" &
pid=$!
started+=("$pid")
exec 9>"$work/input"
until grep -q READY "$work/log"; do
    kill -0 "$pid" || fail "the program ended"
    sleep 0.05
done

root=$work/root
mkdir -p "$root/proc" "$root/here"
strip -o "$root/heapsnap" "$static"
namespace=(unshare --mount)
[ "$(id -u)" = 0 ] || namespace+=(--map-root-user)
"${namespace[@]}" true 2>/dev/null || skip "no mount namespace for this user"
# alone ARGUMENTS...: the one file in its root.
alone()
{
    # shellcheck disable=SC2016
    "${namespace[@]}" sh -c 'root=$1 && shift && mount --rbind /proc "$root/proc" &&
        exec chroot "$root" /heapsnap "$@"' sh "$root" "$@" >"$work/out" 2>"$work/err" ||
        fail "$* in an empty root: $(cat "$work/err")"
}
alone dump "$pid" -o /here/heap.snap
"$HEAPSNAP" dump "$pid" -o "$work/heap.snap" 2>"$work/err" || fail "dump: $(cat "$work/err")"
exec 9>&-
wait "$pid" || fail "the program did not end well"
! grep -q 'incomplete' "$work/err" || fail "names are missing: $(cat "$work/err")"

for look in "roots -n 0" "types" "leaks" "suspects" "dominators -n 9"; do
    # shellcheck disable=SC2086
    "$HEAPSNAP" $look "$work/heap.snap" >"$work/expected" 2>&1 || fail "$look"
    # shellcheck disable=SC2086
    alone $look /here/heap.snap
    sed "s|$work/heap.snap|/here/heap.snap|g" "$work/expected" | diff - "$work/out" ||
        fail "$look says otherwise"
done
"$HEAPSNAP" roots "$root/here/heap.snap" -n 0 >"$work/out"
grep -q ' kept ' "$work/out" || fail "no variable of a stack: $(cat "$work/out")"
alone report /here/heap.snap -o /here/report.html
grep -q '</html>' "$root/here/report.html" || fail "the report"
code=0
"$static" serve "$root/here/heap.snap" >"$work/out" 2>"$work/err" || code=$?
[ "$code" = 5 ] && mentions 'one file, which loads no libraries' || fail "serve: $code"
[ ! -s "$work/out" ] || fail "serve tells an address at which nobody is"
echo "one file of $(stat -c %s "$root/heapsnap") bytes in an empty root"
