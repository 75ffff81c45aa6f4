#!/usr/bin/env bash
# MiniDebugInfo: a stripped program that has a packed symbol table in .gnu_debugdata, as Fedora's
# have. Its calls have the names of its local functions. What is damaged, or a bomb, adds nothing.
. "$(dirname "$0")/_native.sh"
need gcc objcopy strip nm xz python3
grep -q "^HS_LIB_lzma:FILEPATH=/" "$BUILD_DIR/CMakeCache.txt" ||
    { echo "skipped: built without liblzma"; exit 77; }

cat >"$work/calls.c" <<'EOC'
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static int wait_for_one(long *mine)
{
    long *volatile kept[4] = {mine};
    puts("READY");
    fflush(stdout);
    return getchar() == 'x' && kept[0][1] == 7;
}
int main(void)
{
    return wait_for_one(calloc(3000, sizeof(long)));
}
EOC
gcc -g -O1 -o "$work/whole" "$work/calls.c" || fail "building"
strip -o "$work/bare" "$work/whole"

# pack FILE: the program with this section.
pack()
{
    objcopy --add-section .gnu_debugdata="$1" "$work/bare" "$work/calls" || fail "objcopy"
    chmod +x "$work/calls"
    start "$work/calls"
    rm -f "$work"/heap.snap*
    dump
    leave
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json"
}

# As in Fedora's find-debuginfo: the functions that the dynamic symbols do not have.
nm "$work/whole" --format=posix --defined-only | awk '$2 ~ /[Tt]/ { print $1 }' >"$work/keep"
objcopy --only-keep-debug "$work/whole" "$work/whole.debug"
objcopy -S --remove-section .comment --keep-symbols="$work/keep" "$work/whole.debug" "$work/mini"
xz -k "$work/mini"

head -c 100 /dev/zero >"$work/zeros"
pack "$work/zeros"
! grep -q wait_for_one "$work/roots.json" || fail "a name out of nothing"
pack "$work/mini.xz"
grep -q '"function": "wait_for_one"' "$work/roots.json" || fail "no name from .gnu_debugdata"
echo "calls have the names of local functions"

half=$(($(stat -c %s "$work/mini.xz") / 2))
head -c "$half" "$work/mini.xz" >"$work/cut.xz"
pack "$work/cut.xz"
head -c 100M /dev/zero | xz -1 >"$work/bomb.xz"
pack "$work/bomb.xz"
# One that has itself in it.
objcopy --add-section .gnu_debugdata="$work/mini.xz" "$work/mini" "$work/nested" &&
    xz -k "$work/nested"
pack "$work/nested.xz"
grep -q '"function": "wait_for_one"' "$work/roots.json" || fail "no name from a nested one"
echo "what is cut, nested, or a bomb does no harm"
